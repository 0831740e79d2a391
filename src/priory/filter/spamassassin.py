"""A verdict on SpamAssassin's scale, for programs made for SpamAssassin.

SpamAssassin gives points and calls a message spam that has 5.0 or more. Priory's points are its log-odds, shifted so
that its own threshold lies at 5.0:

    points = 5 + log-odds − ln(t / (1 − t))

where t is the probability above which the costs say spam (0.96 by default, so 5.0 points are log-odds of 3.18). One
more point multiplies the odds by e, wherever it comes from; points are a sum, as the log-odds are. The last digit is
rounded so that 5.0 or more always means spam, and *unsure* never reaches 5.0. With more than two labels, several may be
unwanted, such as spam and phishing: all of these are spam here, and the log-odds are about their union. The verdict
then depends on all probabilities, so t is 1/2, and points are clipped at 5.0. While too little has been learned, a
message has 0.0 points.
"""

import math
from collections.abc import Sequence
from typing import Final

from priory.filter.verdict import Verdict
from priory.wire.spamd import Rating

THRESHOLD: Final = 5.0


def spam_label(labels: Sequence[str], unwanted: Sequence[str] = ()) -> str:
    """Return the label that means spam: *spam* itself, or else the first unwanted label, or else the second label.

    >>> spam_label(["ham", "news", "spam"]), spam_label(["good", "junk"]), spam_label(["good", "news", "bad"], ["bad"])
    ('spam', 'junk', 'bad')
    """
    return "spam" if "spam" in labels else unwanted[0] if unwanted else labels[1]


def ham_label(labels: Sequence[str], unwanted: Sequence[str] = ()) -> str:
    """Return the label that means ham: the first that is not unwanted.

    >>> ham_label(["spam", "ham"]), ham_label(["phishing", "spam", "ham"], ["spam", "phishing"])
    ('ham', 'ham')
    """
    unwanted = unwanted_labels(labels, unwanted)
    return next(label for label in labels if label not in unwanted)


def unwanted_labels(labels: Sequence[str], named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the labels that two-class clients see as spam: labels named as unwanted, or else the label spam.

    >>> unwanted_labels(["ham", "spam", "phishing"], ["spam", "phishing"]), unwanted_labels(["ham", "spam", "news"])
    (('spam', 'phishing'), ('spam',))
    """
    return tuple(named) or (spam_label(labels),)


def is_unwanted(verdict: Verdict) -> bool:
    """Tell whether the label of a verdict is an unwanted one."""
    return verdict.label in unwanted_labels([*verdict.claims], verdict.unwanted)


def unwanted_log_odds(verdict: Verdict) -> float:
    """Return the log-odds that a message has any of the unwanted labels."""
    unwanted = unwanted_labels([*verdict.claims], verdict.unwanted)
    if len(unwanted) == 1:
        return verdict.claims[unwanted[0]].log_odds
    for_, against = (
        math.fsum(claim.probability for label, claim in verdict.claims.items() if (label in unwanted) is side)
        for side in (True, False)
    )
    return math.log(max(for_, 1e-12) / max(against, 1e-12))


def rating_of(verdict: Verdict) -> Rating:
    """Return a verdict on SpamAssassin's scale."""
    is_spam = is_unwanted(verdict)
    if verdict.is_untaught:
        return Rating(is_spam, 0.0, THRESHOLD)
    threshold = verdict.thresholds.get(spam_label([*verdict.claims], verdict.unwanted), 0.5)
    t = min(max(threshold, 1e-9), 1 - 1e-9)
    points = round(THRESHOLD + unwanted_log_odds(verdict) - math.log(t / (1 - t)), 1)
    return Rating(is_spam, max(points, THRESHOLD) if is_spam else min(points, THRESHOLD - 0.1), THRESHOLD)
