"""Draws an inbox to try Priory on: invented mail with known labels, from a generative model and a seed.

Every message is drawn as naive Bayes assumes: first the label, then each part given the label. `phrases` has the tables
of words and `people` the senders; `inbox` draws the messages, and `letter` writes them as RFC 5322.
"""

from priory.demo.inbox import Drawn, draw

__all__ = ["Drawn", "draw"]
