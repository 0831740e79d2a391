r"""Calibration: from a score to log-odds that match the observed frequencies.

Every message is scored just before it is learned: a prediction on mail that the counts did not contain yet. The
outcomes of those predictions, counted in bins of the score $s$, are all that the calibration needs. It is the line

$$ \log\frac{p}{1-p} = a s + b $$

that is most probable given those outcomes (Platt 1999) and a prior, which holds until there are some. With a line, a
calibrated score is still a sum: the terms times $a$, plus $b$.

The outcomes are labels that people gave, and people are wrong. If $e_1$ of the messages that are not spam are taught as
spam, and $e_0$ of the spam is not, a message is taught as spam with the probability

$$ q = e_1 + (1 - e_0 - e_1)\, p $$

The line and both rates are fitted together (Copas 1988). Mistakes that become rare as the filter becomes sure are its
own; those that remain where it is surest are wrong labels. What the filter says is $p$, the probability of the truth.

Labels show only $1 - e_0 - e_1$ of any difference in $p$. Few messages that look like spam and are not cannot be told
from wrong labels then, and the line is too steep for them. So log-odds above 0 are multiplied by this factor, relative
to its value for the least rates: the filter is less sure that mail is spam where it can trust labels less.

A rate is at least `FEWEST_WRONG`, so that a few wrong labels far out do not tilt the line: on real mail, that took
1-ROCA from 0.0156 % to 0.0142 % (docs/decisions/model.md). It is higher only where the outcomes show it: its prior is
worth 101 labels, one of them wrong (docs/decisions/wrong-labels.md).

J. Copas: Binary regression models for contaminated data. Journal of the Royal Statistical Society B 50, 1988, 225-265.
"""

import math
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from priory.bayes.calibration_line import most_probable_line, n_outcomes
from priory.bayes.counts import bin_centres

if TYPE_CHECKING:
    from typing_extensions import Buffer

SLOPE: Final = 2.0  #: before anything was scored
PRECISION: Final = array("d", [4.0, 1.0])  #: of the prior, for slope and intercept
FEWEST_WRONG: Final = 0.01 / 1.02  #: the least rate of wrong labels
MOST_WRONG: Final = 0.45  #: the largest; at 0.5 in both directions labels would say nothing
LABELS: Final = array("d", [1.0, 100.0])  #: wrong and right ones that the prior of a rate is worth
_CENTRES: Final = bin_centres()


class PresumedOutcomes(NamedTuple):
    """Outcomes of messages about which nobody said anything: `silence` estimates them."""

    numbers: "array[float]"  #: [bin, 0 or 1], not whole numbers
    n_rest: float  #: the sum of all outcomes 0
    n_own: float  #: and of all outcomes 1

    @classmethod
    def of(cls, numbers: "array[float]") -> Self:
        """Add up the numbers."""
        return cls(numbers, sum(numbers[::2]), sum(numbers[1::2]))

    @property
    def table(self) -> "memoryview[float]":
        """The numbers in two dimensions."""
        return memoryview(self.numbers).cast("B").cast("d", (len(self.numbers) // 2, 2))


class Calibration(NamedTuple):
    """The line from scores to log-odds, and the rates of wrong labels that were fitted with it."""

    slope: float
    intercept: float
    false_positives: float = FEWEST_WRONG  #: the share of messages of other labels that are taught as the label
    false_negatives: float = FEWEST_WRONG  #: the share of messages of the label that are taught as another
    certainty: float = 1.0  #: a factor for log-odds above 0, below 1 where few messages of other labels are known

    @property
    def caution(self) -> float:
        """The factor for log-odds above 0: 1 if no wrong labels were noticed, and enough of other labels is known.

        >>> round(Calibration(2.0, 0.0, false_positives=0.1, false_negatives=0.1).caution, 3)
        0.816
        """
        unnoticed = 2 * FEWEST_WRONG
        return self.certainty * (1 - (self.false_positives + self.false_negatives - unnoticed) / (1 - unnoticed))

    def log_odds(self, score: float) -> float:
        """Return the log-odds of a score.

        >>> line = Calibration(2.0, 1.0, false_positives=0.1, false_negatives=0.1)
        >>> [round(line.log_odds(score), 3) for score in (-3.0, -0.5, 3.0)]
        [-5.0, 0.0, 5.712]
        """
        log_odds = self.slope * score + self.intercept
        return log_odds * self.caution if log_odds > 0 else log_odds

    def score(self, log_odds: float) -> float:
        """Return the score that has these log-odds.

        >>> line = Calibration(2.0, 1.0, false_positives=0.1, false_negatives=0.1)
        >>> [round(line.score(line.log_odds(score)), 3) for score in (-3.0, -0.5, 3.0)]
        [-3.0, -0.5, 3.0]
        """
        plain = log_odds / self.caution if log_odds > 0 else log_odds
        return (plain - self.intercept) / self.slope

    def cautious(self) -> "Calibration":
        """Return the line for scores whose log-odds are above 0."""
        return self._replace(slope=self.slope * self.caution, intercept=self.intercept * self.caution)

    def n_wrong(self, n_rest: int, n_own: int) -> float:
        """Return the expected number of wrong labels among those taught as another label, and as the label.

        A rate that is the least means that no wrong labels were noticed.

        >>> round(Calibration(2.0, 0.0, false_positives=0.1, false_negatives=0.2).n_wrong(n_rest=5500, n_own=4500))
        1500
        """
        span = 1 - self.false_positives - self.false_negatives
        truly_own = min(max((n_own - self.false_positives * (n_rest + n_own)) / span, 0), n_rest + n_own)
        positives, negatives = (
            rate if rate > FEWEST_WRONG else 0.0 for rate in (self.false_positives, self.false_negatives)
        )
        return positives * (n_rest + n_own - truly_own) + negatives * truly_own


def calibrate(
    outcomes: "Buffer",
    prior_log_odds: float,
    most_wrong: float = MOST_WRONG,
    presumed: "PresumedOutcomes | None" = None,
) -> Calibration:
    """Return the most probable line and rates of wrong labels for outcomes[bin, 0 or 1] and presumed outcomes.

    Outcomes of one label alone do not tell where to draw the line between two, so then the prior holds. Messages
    learned while the other label was missing have no score: learning a whole folder of ham before any spam leaves
    scores mostly of one label. So the line is fitted with the odds of the scored messages as its prior, and then
    shifted by the difference to the odds of all messages.

    >>> from priory.bayes import Counts
    >>> calibrate(Counts.empty(bits=4, n_labels=2).outcomes(0), prior_log_odds=0.0).slope
    2.0
    """
    n_rest, n_own = map(float, n_outcomes(outcomes))
    if presumed is not None:
        n_rest, n_own = n_rest + presumed.n_rest, n_own + presumed.n_own
    if n_rest == 0 or n_own == 0:
        return Calibration(SLOPE, prior_log_odds)
    scored_log_odds = math.log((n_own + 1) / (n_rest + 1))
    prior = array("d", [SLOPE, scored_log_odds])
    slope, intercept, *rates = most_probable_line(
        _CENTRES, outcomes, prior, PRECISION, LABELS, FEWEST_WRONG, most_wrong, presumed and presumed.table
    )
    return Calibration(max(slope, SLOPE / 10), intercept - scored_log_odds + prior_log_odds, *rates)
