"""From features and counts to a calibrated score for every label.

With two labels there is one score, and the other label has its negative. With more, each label is scored against the
rest. These rests overlap, so the probabilities are scaled to a sum of one; what that changes in the log-odds of a label
is a term of its own, `others`. Log-odds of mail unlike anything that was taught are shrunk by a term `familiarity`.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from operator import neg
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from priory.bayes import Calibration, Counts, PresenceBayes, calibrate
from priory.bayes.calibration import FEWEST_WRONG, MOST_WRONG, PresumedOutcomes
from priory.bayes.calibration_line import n_outcomes
from priory.bayes.counts import NO_SCORE, HeldOut, contrasts, pack_predictions, unpack_predictions
from priory.bayes.presence import correction
from priory.features import Features
from priory.filter.familiarity import (
    FAMILIAR,
    Trust,
    certainty_after,
    trust,
    trusted_log_odds,
    trusted_prior,
)
from priory.filter.personal import PERSONAL, user_key
from priory.filter.verdict import Place, probability
from priory.journal import is_person
from priory.native.table import is_known, total

if TYPE_CHECKING:
    from priory.bayes.silence import SilenceEstimate
    from priory.filter.counts import JournalCounts
    from priory.filter.promise import Promise
    from priory.filter.rule_places import IgnoredShare

#: If a recent calibration gives a label these log-odds, the newest gives it at least 3.4, above which a lesson corrects
#: nothing; docs/decisions/journal.md has the measurement.
CERTAIN: Final = 6.0


class RuleTerm(NamedTuple):
    """A person's rule, and what it adds to the log-odds."""

    name: str
    term: float
    places: tuple[Place, ...] = ()  #: those that it ignores


class Score(NamedTuple):
    """The log-odds of a label as a sum.

    It has the prior, a term per feature, what rules ignore, the familiarity, the share of other labels, and the rules
    for and against labels, in this order.
    """

    prior: float
    log_odds: float
    of_contrast: "array[float]"  #: the terms of the contrast that scores the label,
    sign: int = 1  #: and the label's side of it: 1 if the contrast is about this label, else -1
    others: float = 0.0
    you: float = 0.0  #: the part of the log-odds that comes from the user's own evidence
    familiarity: float = 0.0  #: the term of a message unlike anything that was taught, towards 0
    ignored: tuple[RuleTerm, ...] = ()  #: takes the share of ignored places out of the sum
    rules: tuple[RuleTerm, ...] = ()  #: for and against labels

    @classmethod
    def of(cls, prior: float, terms: "array[float]", you: float = 0.0) -> Self:
        """Add up prior and terms."""
        return cls(prior, prior + total(terms), terms, you=you)

    def of_the_other(self) -> Self:
        """Return the score of the other of two labels."""
        return type(self)(
            -self.prior,
            0.0 - self.log_odds,
            self.of_contrast,
            -self.sign,
            you=0.0 - self.you,
            familiarity=0.0 - self.familiarity,
            ignored=self.ignored and tuple(RuleTerm(rule, 0.0 - term, places) for rule, term, places in self.ignored),
        )

    def with_ignored(self, ignored: tuple[RuleTerm, ...]) -> Self:
        """Return the score with the share of ignored places taken out."""
        return self._replace(log_odds=self.log_odds + _sum(ignored), ignored=ignored)

    def with_trust(self, trust: Trust, you_ignored: float = 0.0) -> Self:
        """Return the score with the term of familiarity added; a trust of 1 adds nothing.

        `you_ignored` is the part of the user's own evidence that lies at ignored places.
        """
        factor = trust.below if self.log_odds < 0 else trust.above
        if factor == 1:
            return self
        familiarity = trusted_log_odds(self.log_odds, self.you - you_ignored, factor) - self.log_odds
        return self._replace(log_odds=self.log_odds + familiarity, familiarity=familiarity)

    def with_rules(self, rules: tuple[RuleTerm, ...], log_odds: float | None = None) -> Self:
        """Return the score with the terms of rules added; if the log-odds are given, `others` has the difference."""
        ruled = self.log_odds + _sum(rules)
        log_odds = ruled if log_odds is None else log_odds
        return self._replace(log_odds=log_odds, others=self.others + (log_odds - ruled), rules=rules)

    @property
    def ruled(self) -> float:
        """The sum of the rules for and against labels."""
        return _sum(self.rules)

    @property
    def agreed(self) -> float:
        """The log-odds before scaling, or those that the calibration line gives if they are lower.

        Neither has the rules for and against labels.
        """
        return min(self.log_odds - self.others - self.ruled, self.of_line)

    def with_others(self, others: float) -> Self:
        """Return the score with the term of the other labels added."""
        return self._replace(log_odds=self.log_odds + others, others=others)

    @property
    def of_line(self) -> float:
        """The log-odds that the calibration line gives, without the user's own evidence, rules and later terms."""
        return self.log_odds - self.familiarity - self.others - self.you - _sum(self.ignored) - self.ruled

    @property
    def terms(self) -> "array[float]":
        """The term of each feature."""
        return self.of_contrast if self.sign > 0 else array("d", map(neg, self.of_contrast))


def _sum(rules: Sequence[RuleTerm]) -> float:
    return math.fsum(rule.term for rule in rules)


def calibrations(
    counts: Counts,
    by_people: Sequence[int] | None = None,
    most_wrong: float = MOST_WRONG,
    silence: "Sequence[SilenceEstimate]" = (),
) -> list[Calibration]:
    """Return the calibration of every contrast, from the outcomes of earlier scores and the lessons of people.

    `by_people` is the number of lessons of each label that people taught; the default is all that were counted.
    `silence` is what the messages say about which people said nothing, for each contrast, if that was estimated.
    """
    return [
        calibration(counts, i, by_people, most_wrong, silence[i].outcomes if silence else None)
        for i in range(len(contrasts(counts.n_labels)))
    ]


def calibration(
    counts: Counts,
    contrast: int,
    by_people: Sequence[int] | None = None,
    most_wrong: float = MOST_WRONG,
    presumed: PresumedOutcomes | None = None,
) -> Calibration:
    """Return the calibration of one contrast."""
    totals: Sequence[int] = counts.totals.tolist() if by_people is None else by_people
    label = contrasts(counts.n_labels)[contrast]
    return calibrate(counts.outcomes(contrast), _prior(totals, label, presumed), most_wrong, presumed)


def _prior(totals: Sequence[int], label: int, presumed: PresumedOutcomes | None) -> float:
    """Return the log-odds of a label by the numbers of lessons and of messages about which nobody said anything.

    Of more than two labels, one that is rare among these is taken to be rare.
    """
    own, rest = float(totals[label]), float(sum(totals) - totals[label])
    if presumed is not None:
        own, rest = own + presumed.n_own, rest + presumed.n_rest
    log_odds = math.log((own + 1) / (rest + 1))
    return trusted_prior(log_odds, min(own, rest)) if len(totals) == 2 else log_odds


class CalibrationCache:
    """The calibrations of a filter's counts, computed only when they are needed, because that takes long.

    Verdicts doubt as many labels as look wrong. Corrections always doubt only `FEWEST_WRONG`: where many labels are
    wrong, their line is flatter, and lessons correct each other in small steps (docs/decisions/wrong-labels.md).
    """

    def __init__(
        self, counts: "JournalCounts", most_wrong: float = MOST_WRONG, promise: "Promise | None" = None
    ) -> None:
        self._counts = counts
        self._most_wrong = most_wrong
        self._promise = promise
        self._limits: Mapping[int, float] = {}
        self.last = [Calibration(0.0, 0.0)] * len(contrasts(len(counts.labels)))  #: those computed last
        self._generation = -1  # of the counts that they were computed from
        self._n_outcomes = 0  # in those counts

    def newest(self) -> list[Calibration]:
        """Return the calibrations of the present counts."""
        if self._generation != self._counts.generation:
            self.compute()
        return self.last

    def limits(self) -> Mapping[int, float]:
        """Return the log-odds from which the promise allows each unwanted label; empty without a promise."""
        if self._promise is not None:
            self.newest()
        return self._limits

    def compute(self) -> None:
        """Compute the calibrations of the present counts, and the limits of the promise."""
        counts = self._counts.counts
        self.last = calibrations(counts, self._counts.by_people, self._most_wrong, self._counts.silence)
        if counts.n_labels == 2 and self._most_wrong > FEWEST_WRONG:  # not for corrections
            self.last = [self.last[0]._replace(certainty=certainty_after(int(counts.totals[0])))]
        if self._promise is not None:
            self._limits = self._promise.limits(self._promise.outcomes(counts, self.last, self._counts.silence))
        self._generation = self._counts.generation
        self._n_outcomes = sum(n_outcomes(counts.outcomes(0)))

    @property
    def recent_for(self) -> int:
        """How many more changes the last calibrations stay recent: 1 % of their outcomes; negative if too old."""
        return self._n_outcomes // 100 - (self._counts.generation - self._generation)


def plain_scores(features: Features, counts: Counts, model: PresenceBayes) -> list[float]:
    """Return the score of each contrast before calibration; NO_SCORE where its label is not known yet."""
    return [
        total(model.terms(features, counts, contrast)) if is_known(counts.totals, contrast) else NO_SCORE
        for contrast in contrasts(counts.n_labels)
    ]


def log_odds_towards(plain: Sequence[float], label: int, n_labels: int, lines: Sequence[Calibration]) -> list[float]:
    """Return for each contrast the log-odds of the label's side."""
    return [
        line.log_odds(score) if contrast == label else -line.log_odds(score)
        for contrast, score, line in zip(contrasts(n_labels), plain, lines, strict=True)
    ]


def held_out(plain: Sequence[float], label: int, n_labels: int, log_odds: Sequence[float]) -> HeldOut:
    """Return what is stored with a lesson: the prediction before it was learned, and its corrections."""
    signs = (1 if contrast == label else -1 for contrast in contrasts(n_labels))
    corrections = (sign * correction(probability(towards)) for sign, towards in zip(signs, log_odds, strict=True))
    return pack_predictions(zip(plain, corrections, strict=True))


def certainty(predicted: HeldOut, label: int, n_labels: int, lines: Sequence[Calibration]) -> float | None:
    """Return the probability of a label by the prediction stored with a lesson, under these calibrations.

    None if the prediction was made with another number of labels.

    >>> round(certainty(pack_predictions([(-1.5, 0)]), label=0, n_labels=2, lines=[Calibration(2.0, 0.0)]), 4)
    0.9526
    """
    plain = [score for score, _ in unpack_predictions(predicted)]
    if len(plain) != len(lines):
        return None
    if n_labels == 2:
        return probability(log_odds_towards(plain, label, n_labels, lines)[0])
    return _shares([line.log_odds(score) for score, line in zip(plain, lines, strict=True)])[label]


def scores(  # noqa: PLR0913, PLR0917 - all that a score depends on
    features: Features,
    counts: Counts,
    model: PresenceBayes,
    lines: Sequence[Calibration],
    user: str = "",
    ignored: "Sequence[IgnoredShare]" = (),
) -> list[Score]:
    """Return the calibrated score of every label, in their order, including the user's own evidence.

    `ignored` are the shares that rules take out of the sum.
    """
    own = []
    trusted = trust(features, counts)
    for label, line in zip(contrasts(counts.n_labels), lines, strict=True):
        prior, terms = _prior_and_terms(features, counts, model, label, line, ignored)
        you_ignored = -_ignored(terms, ignored) if ignored else 0.0
        you = _add_personal(terms, features, counts, label, user)
        score = Score.of(prior, terms, you)
        if ignored:
            score = score.with_ignored(
                tuple(RuleTerm(share.rule.name, -share.of(terms), share.places) for share in ignored)
            )
            you_ignored += _ignored(terms, ignored)
        own.append(score if trusted is FAMILIAR else score.with_trust(trusted, you_ignored))
    if counts.n_labels == 2:
        return [own[0].of_the_other(), own[0]]
    return _scaled_to_one(own)


def _ignored(terms: Sequence[float], ignored: "Sequence[IgnoredShare]") -> float:
    return math.fsum(share.of(terms) for share in ignored)


def _prior_and_terms(  # noqa: PLR0913, PLR0917 - likewise
    features: Features,
    counts: Counts,
    model: PresenceBayes,
    label: int,
    line: Calibration,
    ignored: "Sequence[IgnoredShare]",
) -> "tuple[float, array[float]]":
    """Return the prior and the term of each feature, by the part of the line that holds for the sum that is left."""
    terms = _terms(features, counts, model, label, line.slope)
    if line.caution == 1 or line.intercept + total(terms) - (_ignored(terms, ignored) if ignored else 0.0) <= 0:
        return line.intercept, terms
    cautious = line.cautious()
    return cautious.intercept, _terms(features, counts, model, label, cautious.slope)


def _terms(features: Features, counts: Counts, model: PresenceBayes, label: int, slope: float) -> "array[float]":
    """Return the term of each feature; zero for a label that was never learned."""
    if counts.totals[label] == 0:
        return _zeros(features)
    return model.terms(features, counts, label, slope)


def _add_personal(terms: "array[float]", features: Features, counts: Counts, label: int, user: str) -> float:
    """Add a user's own evidence to the terms; return its sum."""
    if not is_person(user) or counts.totals[label] == 0:
        return 0.0
    return PERSONAL.add_terms(
        terms, counts.personal, features.buckets, features.offsets, user_key(user), label,
        features.extra_bits(counts.shape.bits),
    )  # fmt: skip


def _zeros(features: Features) -> "array[float]":
    return array("d", bytes(8 * len(features)))


def no_evidence(features: Features, prior: float) -> Score:
    """Return a score to which no feature adds anything."""
    return Score.of(prior, _zeros(features))


def probabilities_if_familiar(scores: Sequence[Score]) -> list[float]:
    """Return the probability of every label without the term of familiarity, and without rules for and against it."""
    log_odds = [score.log_odds - score.others - score.familiarity - score.ruled for score in scores]
    return [probability(value) for value in log_odds] if len(scores) == 2 else _shares(log_odds)


def _scaled_to_one(own: list[Score]) -> list[Score]:
    shares = _shares([score.log_odds for score in own])
    return [score.with_others(log_odds_of(share) - score.log_odds) for score, share in zip(own, shares, strict=True)]


def _shares(log_odds: Sequence[float]) -> list[float]:
    """Scale the probabilities of labels that were each scored against the rest to a sum of one."""
    claimed = [max(probability(value), 1e-12) for value in log_odds]
    return [p / sum(claimed) for p in claimed]


def log_odds_of(p: float) -> float:
    """Return the log-odds of a probability, which is taken to be neither 0 nor 1."""
    p = min(max(p, 1e-12), 1 - 1e-12)
    return math.log(p / (1 - p))
