"""A verdict in the terms of SpamAssassin, for all that was made for it.

SpamAssassin gives points and calls spam what has 5.0 or more. Priory's points are its log-odds, shifted so that 5.0 is
where it says spam:

    points = 5 + log-odds − ln(t / (1 − t))

with t the probability from which on the costs say spam (0.96 unless they are set otherwise, so 5.0 points are log-odds
of 3.18). A point more multiplies the odds by e, wherever it comes from; points are a sum, as the log-odds are. The last
digit is rounded so that 5.0 and more is spam, and nothing else; *unsure* is not. With more than two labels what is said
depends on all probabilities, not only on that of spam: t is then 1/2, and points stop short of 5.0, or at it. While too
little has been learned, a message has 0.0 points.
"""

import math
from collections.abc import Iterable
from typing import Final

from priory.verdict import Verdict
from priory.wire.spamd import Rating

THRESHOLD: Final = 5.0


def spam_label(labels: Iterable[str]) -> str:
    """Return the label that is spam: the one of that name, or else the second.

    >>> spam_label(["ham", "news", "spam"]), spam_label(["good", "junk"])
    ('spam', 'junk')
    """
    known = list(labels)
    return "spam" if "spam" in known else known[1]


def ham_label(labels: Iterable[str]) -> str:
    """Return the label that is ham: the first that is not spam.

    >>> ham_label(["spam", "ham"])
    'ham'
    """
    known = list(labels)
    return next(label for label in known if label != spam_label(known))


def rating_of(verdict: Verdict) -> Rating:
    """Return a verdict in points."""
    spam = spam_label(verdict.claims)
    is_spam = verdict.label == spam
    if verdict.reason:
        return Rating(is_spam, 0.0, THRESHOLD)
    t = min(max(verdict.thresholds.get(spam, 0.5), 1e-9), 1 - 1e-9)
    points = round(THRESHOLD + verdict.claims[spam].log_odds - math.log(t / (1 - t)), 1)
    return Rating(is_spam, max(points, THRESHOLD) if is_spam else min(points, THRESHOLD - 0.1), THRESHOLD)
