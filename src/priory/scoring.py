"""From features and counts to a calibrated score for every label.

With two labels there is one score, and the other label has its negative. With more, each label is scored against the
rest; the rests overlap, so the probabilities are brought to a sum of one, and what that does to a label's log-odds is
a term of its own, `others`.
"""

import math
from array import array
from collections.abc import Sequence
from operator import neg
from typing import Final, NamedTuple, Self

from priory.bayes import Calibration, Counts, PresenceBayes, calibrate
from priory.bayes.correction import correction
from priory.bayes.counts import NO_SCORE, HeldOut, contrasts, predictions, stored
from priory.features import Features
from priory.journal import is_person
from priory.personal import PERSONAL, key_of
from priory.table import is_known, total
from priory.verdict import probability

#: Log-odds that a line of not long ago must give a label so that the newest, too, gives it those, 3.4, at which nothing
#: is corrected; docs/decisions/journal.md has the measurement.
CERTAIN: Final = 6.0


class Score(NamedTuple):
    """A label's log-odds as a sum: prior, one term per feature, and what the other labels take or leave."""

    prior: float
    log_odds: float
    of_contrast: "array[float]"  #: the terms of the contrast in which the label is found,
    sign: int = 1  #: and on which side: 1 if the contrast is about it, else -1
    others: float = 0.0
    you: float = 0.0  #: what of the log-odds is the evidence of the one for whom the message is

    @classmethod
    def of(cls, prior: float, terms: "array[float]", you: float = 0.0) -> Self:
        """Add up prior and terms."""
        return cls(prior, prior + total(terms), terms, you=you)

    def of_the_other(self) -> Self:
        """Return the score of the other of two labels."""
        return type(self)(-self.prior, 0.0 - self.log_odds, self.of_contrast, -self.sign, you=0.0 - self.you)

    def with_others(self, others: float) -> Self:
        """Return the score with what the other labels take or leave."""
        return self._replace(log_odds=self.log_odds + others, others=others)

    @property
    def terms(self) -> "array[float]":
        """What each feature adds."""
        return self.of_contrast if self.sign > 0 else array("d", map(neg, self.of_contrast))


def calibrations(counts: Counts, by_people: Sequence[int] | None = None) -> list[Calibration]:
    """Return the line of every contrast, from how earlier scores turned out and how many messages people have taught.

    Without the latter, people have taught all that was counted.
    """
    totals: Sequence[int] = counts.totals.tolist() if by_people is None else by_people
    return [
        calibrate(counts.outcomes(i), math.log((totals[label] + 1) / (sum(totals) - totals[label] + 1)))
        for i, label in enumerate(contrasts(counts.n_labels))
    ]


def plain_scores(features: Features, counts: Counts, model: PresenceBayes) -> list[float]:
    """Return the score of each contrast before calibration, as far as anything is known of its label."""
    return [
        total(model.terms(features.buckets, features.offsets, counts, contrast))
        if is_known(counts.totals, contrast)
        else NO_SCORE
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


def certainty(predicted: HeldOut, label: int, n_labels: int, lines: Sequence[Calibration]) -> float | None:
    """Return the probability that these lines give a label by what was predicted of a message before it was learned.

    None if that was predicted when there were other labels.

    >>> round(certainty(stored([(-1.5, 0)]), label=0, n_labels=2, lines=[Calibration(2.0, 0.0)]), 4)
    0.9526
    """
    plain = [score for score, _ in predictions(predicted)]
    if len(plain) != len(lines):
        return None
    if n_labels == 2:
        return probability(towards(plain, label, n_labels, lines)[0])
    return _shares([line.log_odds(score) for score, line in zip(plain, lines, strict=True)])[label]


def scores(
    features: Features, counts: Counts, model: PresenceBayes, lines: Sequence[Calibration], user: str = ""
) -> list[Score]:
    """Return the calibrated score of every label, in their order, as the one sees it for whom the message is."""
    own = []
    for label, line in zip(contrasts(counts.n_labels), lines, strict=True):
        terms = _terms(features, counts, model, label, line.slope)
        own.append(Score.of(line.intercept, terms, _add_own(terms, features, counts, label, user)))
    if counts.n_labels == 2:
        return [own[0].of_the_other(), own[0]]
    return _summing_to_one(own)


def _terms(features: Features, counts: Counts, model: PresenceBayes, label: int, slope: float) -> "array[float]":
    """What each feature adds: nothing for a label that was never learned."""
    if counts.totals[label] == 0:
        return _zeros(features)
    return model.terms(features.buckets, features.offsets, counts, label, slope)


def _add_own(terms: "array[float]", features: Features, counts: Counts, label: int, user: str) -> float:
    """Add to the terms what a user's own evidence says, and return the sum of that."""
    if not is_person(user) or counts.totals[label] == 0:
        return 0.0
    return PERSONAL.add_terms(terms, counts.personal, features.buckets, features.offsets, key_of(user), label)


def _zeros(features: Features) -> "array[float]":
    return array("d", bytes(8 * len(features)))


def no_evidence(features: Features, prior: float) -> Score:
    """Return a score to which no feature adds anything."""
    return Score.of(prior, _zeros(features))


def _summing_to_one(own: list[Score]) -> list[Score]:
    shares = _shares([score.log_odds for score in own])
    return [score.with_others(_log_odds(share) - score.log_odds) for score, share in zip(own, shares, strict=True)]


def _shares(log_odds: Sequence[float]) -> list[float]:
    """The probabilities of labels that were scored each against the rest, brought to a sum of one."""
    claimed = [max(probability(each), 1e-12) for each in log_odds]
    return [p / sum(claimed) for p in claimed]


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-12), 1 - 1e-12)
    return math.log(p / (1 - p))
