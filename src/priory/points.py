"""A verdict in the terms of SpamAssassin, for all that was made for it.

SpamAssassin gives points and calls spam what has 5.0 or more. Priory's points are its log-odds, shifted so that 5.0 is
where it says spam:

    points = 5 + log-odds − ln(t / (1 − t))

with t the probability from which on the costs say spam (0.96 unless they are set otherwise, so 5.0 points are log-odds
of 3.18). A point more multiplies the odds by e, wherever it comes from; points are a sum, as the log-odds are. The last
digit is rounded so that 5.0 and more is spam, and nothing else; *unsure* is not. With more than two labels several may
be unwanted, as spam and phishing are: then all of these are spam here, and the log-odds are those of any of them. What
is said depends on all probabilities: t is then 1/2, and points stop short of 5.0, or at it. While too little has been
learned, a message has 0.0 points.
"""

import math
from collections.abc import Sequence
from typing import Final

from priory.verdict import Verdict
from priory.wire.spamd import Rating

THRESHOLD: Final = 5.0


def spam_label(labels: Sequence[str], unwanted: Sequence[str] = ()) -> str:
    """Return the label that is spam: the one of that name, or else the first that is named as unwanted, or the second.

    >>> spam_label(["ham", "news", "spam"]), spam_label(["good", "junk"]), spam_label(["good", "news", "bad"], ["bad"])
    ('spam', 'junk', 'bad')
    """
    return "spam" if "spam" in labels else unwanted[0] if unwanted else labels[1]


def ham_label(labels: Sequence[str], unwanted: Sequence[str] = ()) -> str:
    """Return the label that is ham: the first that is wanted.

    >>> ham_label(["spam", "ham"]), ham_label(["phishing", "spam", "ham"], ["spam", "phishing"])
    ('ham', 'ham')
    """
    unwanted = unwanted_labels(labels, unwanted)
    return next(label for label in labels if label not in unwanted)


def unwanted_labels(labels: Sequence[str], named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the labels whose mail is spam to who knows only ham and spam: those that are named, or else one.

    >>> unwanted_labels(["ham", "spam", "phishing"], ["spam", "phishing"]), unwanted_labels(["ham", "spam", "news"])
    (('spam', 'phishing'), ('spam',))
    """
    return tuple(named) or (spam_label(labels),)


def is_unwanted(verdict: Verdict) -> bool:
    """Tell whether what is said of a message is that nobody wants it."""
    return verdict.label in unwanted_labels([*verdict.claims], verdict.unwanted)


def unwanted_log_odds(verdict: Verdict) -> float:
    """Return the log-odds that a message is of any label that is unwanted."""
    unwanted = unwanted_labels([*verdict.claims], verdict.unwanted)
    if len(unwanted) == 1:
        return verdict.claims[unwanted[0]].log_odds
    for_, against = (
        math.fsum(claim.probability for label, claim in verdict.claims.items() if (label in unwanted) is side)
        for side in (True, False)
    )
    return math.log(max(for_, 1e-12) / max(against, 1e-12))


def rating_of(verdict: Verdict) -> Rating:
    """Return a verdict in points."""
    is_spam = is_unwanted(verdict)
    if verdict.reason:
        return Rating(is_spam, 0.0, THRESHOLD)
    threshold = verdict.thresholds.get(spam_label([*verdict.claims], verdict.unwanted), 0.5)
    t = min(max(threshold, 1e-9), 1 - 1e-9)
    points = round(THRESHOLD + unwanted_log_odds(verdict) - math.log(t / (1 - t)), 1)
    return Rating(is_spam, max(points, THRESHOLD) if is_spam else min(points, THRESHOLD - 0.1), THRESHOLD)
