"""From the scores of a message to a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from priory.decision import UNSURE, cheapest, thresholds
from priory.features import Features
from priory.filter.counts import JournalCounts
from priory.filter.options import Options
from priory.filter.prepare import Prepared
from priory.filter.scoring import CalibrationCache, Score, no_evidence, probabilities_if_familiar, scores
from priory.filter.sync import Sync
from priory.filter.verdict import AWAY, PROMISED, UNFAMILIAR, Claim, Verdict, probability

if TYPE_CHECKING:
    from priory.filter.rule_matching import RuleBook
    from priory.filter.rule_places import IgnoredShare


class Judge:
    """Judges messages by a filter's counts and options."""

    def __init__(self, counts: JournalCounts, sync: Sync, calibration: CalibrationCache, options: Options) -> None:
        self._counts = counts
        self._sync = sync
        self._calibration = calibration
        self._options = options
        self._model = options.model
        self._thresholds = thresholds(options.costs)  # by cost alone
        self._book: RuleBook | None = None

    @property
    def thresholds(self) -> Mapping[str, float]:
        """With two labels, the probability of the second from which on each answer is given."""
        limits, thresholds = self._calibration.limits(), self._thresholds
        if not limits or not thresholds:
            return thresholds
        second = self._options.labels[1]
        ((label, limit),) = limits.items()
        if label == 0:  # unwanted below a probability of the second
            return {UNSURE: min(probability(-limit), *thresholds.values()), second: thresholds[second]}
        if probability(limit) <= thresholds[second]:
            return thresholds
        return {UNSURE: min(thresholds.values()), second: probability(limit)}

    def said_from(self, unwanted: tuple[int, ...]) -> Mapping[int, float]:
        """Return the log-odds from which each unwanted label is said; empty if several labels decide together."""
        limits = self._calibration.limits()
        if not self._thresholds:
            return limits
        (label,) = unwanted
        least = self._thresholds[self._options.labels[1]] if label else 1 - min(self._thresholds.values())
        return {label: max(_log_odds(least), limits.get(label, -math.inf))}

    def judge(self, message: Prepared, user: str) -> Verdict:
        """Return the verdict about a message by the present counts and rules, including the user's own evidence."""
        missing = self._missing_labels()
        if not self._counts.rules.rules:
            return self._verdict(message, self._scores(message.features, missing, user), self._reason(missing), user)
        return self._judge_by_rules(message, missing, user)

    def _judge_by_rules(self, message: Prepared, missing: list[str], user: str) -> Verdict:
        """Return the verdict with the rules that a message matches; they can decide before anything is learned."""
        if self._book is None or self._book.revision != self._counts.rules.revision:
            self._book = self._new_book()
        matches = self._book.match(message, user)
        ignored: Sequence[IgnoredShare] = ()
        if matches.ignored and not missing:
            from priory.filter.rule_places import ignored_shares  # noqa: PLC0415 - a quick start without such rules

            ignored = ignored_shares(message.features, matches.ignored)
        scores, reason = self._scores(message.features, missing, user, ignored), self._reason(missing)
        if matches.decisive:
            from priory.filter.rule_terms import with_rules  # noqa: PLC0415 - likewise

            scores = with_rules(scores, matches.decisive, self._options.labels, self._unwanted)
            reason = "" if any(score.ruled for score in scores) else reason
        return self._verdict(message, scores, reason, user)

    def _new_book(self) -> "RuleBook":
        from priory.filter.rule_matching import RuleBook  # noqa: PLC0415 - a quick start without rules

        return RuleBook(self._counts.rules, replace(self._options.spec, bits=self._counts.journal.bits))

    @property
    def _unwanted(self) -> tuple[str, ...]:
        from priory.filter.spamassassin import unwanted_labels  # noqa: PLC0415 - a quick start without rules

        return unwanted_labels(self._options.labels, self._options.unwanted)

    def _missing_labels(self) -> list[str]:
        """Return the labels without lessons if fewer than two labels have any: then there is nothing to compare."""
        totals: list[int] = self._counts.counts.totals.tolist()
        if len(totals) - totals.count(0) >= 2:
            return []
        return [label for label, n in zip(self._options.labels, totals, strict=True) if n == 0]

    def _scores(
        self, features: Features, missing: list[str], user: str, ignored: "Sequence[IgnoredShare]" = ()
    ) -> list[Score]:
        if missing:
            n = len(self._options.labels)
            return [no_evidence(features, math.log(1 / (n - 1)))] * n
        return scores(features, self._counts.counts, self._model, self._calibration.newest(), user, ignored)

    def _reason(self, missing: list[str]) -> str:
        """Return why nothing can be said about a message; empty if something can."""
        if not missing:
            return ""
        if self._sync.trouble is not None:
            return AWAY
        return f"no {' and no '.join(missing)} has been learned yet"

    def _verdict(self, message: Prepared, scores: list[Score], reason: str, user: str) -> Verdict:
        """Return the verdict of these scores; *unsure* if there is a reason why nothing can be said."""
        labels, features = self._options.labels, message.features
        probabilities = [probability(score.log_odds) for score in scores]
        expected = self._options.costs.expected(probabilities)
        label = UNSURE if reason else cheapest(expected)
        if self._breaks_promise(label, scores):
            label, reason = UNSURE, PROMISED
        return Verdict(
            label=label,
            about=labels[1] if len(labels) == 2 else labels[probabilities.index(max(probabilities))],
            claims={
                label: Claim(label, score, features, self._counts) for label, score in zip(labels, scores, strict=True)
            },
            thresholds=self.thresholds,
            expected_costs=expected,
            digest=message.digest.hex(),
            reason=UNFAMILIAR if label == UNSURE and reason != PROMISED and self._would_be_sure(scores) else reason,
            user=user,
            unwanted=self._options.unwanted,
        )

    def _breaks_promise(self, label: str, scores: list[Score]) -> bool:
        """Tell whether the promise about lost ham forbids this label; only unwanted labels have limits.

        The promise is about what the filter says by itself, so it does not forbid what a person's rules say.
        """
        limits = self._calibration.limits()
        if not limits or label == UNSURE:
            return False
        i = self._options.labels.index(label)
        ruled = scores[i].ruled
        return i in limits and ruled <= 0 and scores[i].agreed + ruled < limits[i]

    def _would_be_sure(self, scores: list[Score]) -> bool:
        """Tell whether these scores would get a label without the term of familiarity."""
        if not any(score.familiarity for score in scores) or any(score.ruled for score in scores):
            return False
        return cheapest(self._options.costs.expected(probabilities_if_familiar(scores))) != UNSURE


def _log_odds(p: float) -> float:
    """Return the log-odds of a probability, which may be 0 or 1."""
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)
