"""A drawn inbox to try Priory on: invented mail with known labels, from a generative model and a seed.

Every message is made the way naive Bayes imagines it: draw the label, then each part given the label. The words stand
as tables in `phrases`, the people in `people`; `inbox` draws, `compose` writes RFC 5322.
"""

from .inbox import Drawn, draw

__all__ = ["Drawn", "draw"]
