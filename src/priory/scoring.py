"""From features and counts to a calibrated score for every label.

With two labels there is one score, and the other label has its negative. With more, each label is scored against the
rest; the rests overlap, so the probabilities are brought to a sum of one, and what that does to a label's log-odds is
a term of its own, `others`.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Calibration, Counts, PresenceBayes, calibrate
from priory.bayes.correction import correction
from priory.bayes.counts import HeldOut, contrasts, stored
from priory.features import Features
from priory.kernels import total
from priory.verdict import probability

#: Log-odds that a line of not long ago must give a label so that the newest, too, gives it those, 3.4, at which nothing
#: is corrected; docs/decisions/journal.md has the measurement.
CERTAIN: Final = 6.0


class Score(NamedTuple):
    """A label's log-odds as a sum: prior, one term per feature, and what the other labels take or leave."""

    prior: float
    terms: NDArray[np.float64]
    log_odds: float
    others: float = 0.0

    @classmethod
    def of(cls, prior: float, terms: NDArray[np.float64]) -> Self:
        """Add up prior and terms."""
        return cls(prior, terms, prior + total(terms))

    def of_the_other(self) -> Self:
        """Return the score of the other of two labels."""
        return type(self)(-self.prior, -self.terms, 0.0 - self.log_odds)

    def with_others(self, others: float) -> Self:
        """Return the score with what the other labels take or leave."""
        return type(self)(self.prior, self.terms, self.log_odds + others, others)


def calibrations(counts: Counts) -> list[Calibration]:
    """Return the line of every contrast, from how earlier scores turned out."""
    totals, n = counts.totals, counts.totals.sum()
    return [
        calibrate(counts.held_out[i], math.log((totals[label] + 1) / (n - totals[label] + 1)))
        for i, label in enumerate(contrasts(counts.n_labels))
    ]


def are_comparable(totals: NDArray[np.int64], without: int = 0) -> NDArray[np.bool_]:
    """Tell of totals [..., label] whether every label has at least a tenth of any other, also with so many taken away.

    Who learns a folder of ham and then begins with the spam would otherwise count how badly a handful of spam predicts.
    """
    least = totals.min(axis=-1) - without
    return np.asarray((least > 0) & (10 * least >= totals.max(axis=-1)))


def plain_scores(features: Features, counts: Counts, model: PresenceBayes) -> list[float]:
    """Return the score of each contrast before calibration."""
    return [
        total(model.terms(features.buckets, features.offsets, counts, contrast))
        for contrast in contrasts(counts.n_labels)
    ]


def towards(plain: Sequence[float], label: int, n_labels: int, lines: Sequence[Calibration]) -> list[float]:
    """Return for each contrast the log-odds of the side on which the label is."""
    return [
        line.log_odds(score) if contrast == label else -line.log_odds(score)
        for contrast, score, line in zip(contrasts(n_labels), plain, lines, strict=True)
    ]


def held_out(plain: Sequence[float], label: int, n_labels: int, log_odds: Sequence[float]) -> HeldOut:
    """Return what was predicted of a message that is learned under a label, and how that corrects."""
    signs = (1 if contrast == label else -1 for contrast in contrasts(n_labels))
    corrections = (sign * correction(probability(each)) for sign, each in zip(signs, log_odds, strict=True))
    return stored(zip(plain, corrections, strict=True))


def scores(features: Features, counts: Counts, model: PresenceBayes, lines: Sequence[Calibration]) -> list[Score]:
    """Return the calibrated score of every label, in their order."""
    own = [
        _score(features, counts, model, label, line)
        for label, line in zip(contrasts(counts.n_labels), lines, strict=True)
    ]
    if counts.n_labels == 2:
        return [own[0].of_the_other(), own[0]]
    return _summing_to_one(own)


def _score(features: Features, counts: Counts, model: PresenceBayes, label: int, line: Calibration) -> Score:
    """A label that was never learned has its prior and no evidence."""
    if counts.totals[label] == 0:
        return Score.of(line.intercept, np.zeros(len(features)))
    terms = model.terms(features.buckets, features.offsets, counts, label)
    return Score.of(line.intercept, line.slope * terms)


def _summing_to_one(own: list[Score]) -> list[Score]:
    claimed = [max(probability(score.log_odds), 1e-12) for score in own]
    shares = [p / sum(claimed) for p in claimed]
    return [score.with_others(_log_odds(share) - score.log_odds) for score, share in zip(own, shares, strict=True)]


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-12), 1 - 1e-12)
    return math.log(p / (1 - p))
