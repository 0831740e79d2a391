r"""How far evidence is trusted: about mail unlike anything that was taught, and about the mix of labels in few lessons.

Features of headers that were only ever seen in ham say *ham*, even in mail that has nothing else in common with the
lessons. So the filter looks at the share of header features that fewer than two lessons had,

$$ u = \frac{\text{header features in fewer than two lessons}}{\text{header features} + 10} $$

The 10 keeps messages with few headers from being judged by them. The more lessons there are, the fewer header features
are new. For $n$ lessons the largest share that is usual is

$$ U = \max(3.4\, n^{-1/4},\; 0.4) $$

With two labels, 1.2 U is usual where the log-odds are for the second label: spam varies more than ham. The log-odds are
multiplied by a trust of 1 as long as $u \le U - 0.04$. From there to $U$ the trust falls to 1/32, and little is left of
any log-odds. The difference that this makes is a term of its own, `familiarity`. Everything depends on the message and
the counts only. docs/decisions/familiarity.md has the measurements.
"""

import math
from functools import lru_cache
from typing import Final, NamedTuple

from priory.bayes import Counts
from priory.features import KINDS, Features
from priory.native.table import n_repeated

FEW_HEADERS: Final = 10
SCALE: Final = 3.4
LEAST_USUAL: Final = 0.4  #: reached with 5,221 lessons
SECOND_LABEL: Final = 1.2
WIDTH: Final = 0.04
LEAST_TRUST: Final = 1 / 32
FEW_LESSONS: Final = 9.0
ENOUGH_LESSONS: Final = 10  #: of one label, from which on the other is called without this doubt
LEAST_CERTAINTY: Final = 0.85
_HEADER: Final = KINDS.index("header")


class Trust(NamedTuple):
    """The factors for log-odds below and above 0: 1 for familiar mail, down to LEAST_TRUST."""

    below: float = 1.0
    above: float = 1.0


FAMILIAR: Final = Trust()


def trust(features: Features, counts: Counts) -> Trust:
    """Return how far the log-odds of a message are trusted."""
    usual = usual_share(sum(counts.totals))
    if usual - WIDTH >= 1:
        return FAMILIAR
    new = new_share(features, counts)
    if new <= usual - WIDTH:
        return FAMILIAR
    second = SECOND_LABEL if len(counts.totals) == 2 else 1.0
    return Trust(trust_of_share(new, usual), trust_of_share(new, second * usual))


def new_share(features: Features, counts: Counts) -> float:
    """Return the damped share of the header features of a message that fewer than two lessons had."""
    offsets = features.offsets
    start, end = offsets[_HEADER], offsets[_HEADER + 1]
    repeated = n_repeated(
        counts.rows, counts.names, len(counts.totals), features.buckets, start, end, _HEADER, features.named
    )
    return (end - start - repeated) / (end - start + FEW_HEADERS)


@lru_cache(maxsize=8)
def usual_share(n_lessons: int) -> float:
    """Return the largest usual share of new header features after this many lessons; above 1 if any share is usual.

    >>> [round(usual_share(n), 2) for n in (0, 16, 1_000, 10_000, 10_000_000)]
    [3.4, 1.7, 0.6, 0.4, 0.4]
    """
    return max(SCALE / math.sqrt(math.sqrt(max(n_lessons, 1))), LEAST_USUAL)


def trust_of_share(new: float, usual: float) -> float:
    """Return the factor for the log-odds of a message with this share of new header features.

    >>> [round(trust_of_share(new, usual=0.5), 2) for new in (0.1, 0.46, 0.48, 0.5, 0.9)]
    [1.0, 1.0, 0.5, 0.03, 0.03]
    """
    return min(max((usual - new) / WIDTH, LEAST_TRUST), 1.0)


def trusted_log_odds(log_odds: float, you: float, trust: float) -> float:
    """Return log-odds multiplied by a factor, but no nearer to 0 than the user's own evidence on the same side.

    The user's own lessons may be about mail that nobody else was taught.

    >>> trusted_log_odds(-8.0, 0.0, 0.125), trusted_log_odds(-8.0, -3.0, 0.125), trusted_log_odds(-8.0, 3.0, 0.125)
    (-1.0, -3.0, -1.0)
    """
    if log_odds < 0:
        return -trusted_log_odds(-log_odds, -you, trust)
    return max(trust * log_odds, min(you, log_odds))


def trusted_prior(log_odds: float, rarer: float) -> float:
    """Return the prior log-odds of two labels, less far from 0 if there are few lessons of the rarer label.

    The first ten lessons of a mailbox say little about its mix of labels, and with one or two lessons of a label most
    of its mail looks new.

    >>> [round(trusted_prior(2.0, rarer), 2) for rarer in (0, 1, 3, 30)]
    [0.0, 0.2, 1.0, 1.98]
    """
    return log_odds * rarer**2 / (rarer**2 + FEW_LESSONS)


def certainty_after(n_others: int) -> float:
    """Return the factor for log-odds of a label if the other label has this many lessons.

    A handful of ham cannot tell how different ham is from spam.

    >>> [round(certainty_after(n), 3) for n in (0, 4, 10, 1_000)]
    [0.85, 0.91, 1.0, 1.0]
    """
    return min(LEAST_CERTAINTY + (1 - LEAST_CERTAINTY) * n_others / ENOUGH_LESSONS, 1.0)
