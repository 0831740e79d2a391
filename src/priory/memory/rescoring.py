"""Gives scores to lessons from a time when there was nothing to compare with.

People teach a folder of ham, then a folder of spam. So that calibration sees both, some lessons of a label that lacks
scores are forgotten and learned again, which scores them as if they were new. They correct nothing: when the second
folder begins all of it surprises, and what all mail has in common would end up as evidence for it.
"""

from typing import Final

from priory.bayes import PresenceBayes
from priory.bayes.counts import NO_PREDICTION, PREDICTION_BYTES, HeldOut, predictions, stored
from priory.bayes.line import n_outcomes
from priory.features import unpacked
from priory.journal import Lesson
from priory.memory.memory import Memory
from priory.scoring import plain_scores
from priory.table import LEAST_KNOWN, are_comparable, is_known

SCORED: Final = 200  #: lessons of each label that calibration should at least have seen scored


class Rescoring:
    """Scores lessons of a memory afterwards."""

    def __init__(self, memory: Memory, model: PresenceBayes) -> None:
        self._memory = memory
        self._journal = memory.journal
        self._view = memory.view
        self._labels = memory.labels
        self._model = model

    def score_unscored(self) -> None:
        """Give scores to lessons of labels that lack them, once there is something to compare with."""
        counts, totals = self._view.counts, self._view.by_people
        if sorted(totals)[-2] < LEAST_KNOWN or not are_comparable(counts.totals, without=1):
            return
        size = PREDICTION_BYTES * len(counts.held_out)
        n_unknown = LEAST_KNOWN if len(self._labels) > 2 else 0
        for label, n, scored in zip(self._labels, totals, counts.n_scored(), strict=True):
            wanted = min(n - n_unknown, SCORED)
            if 2 * scored < wanted:
                for lesson in self._journal.unscored(label, wanted - scored, size):
                    self._learn_again(lesson)
        if len(self._labels) > 2:
            self._score_about_new()

    def _score_about_new(self) -> None:
        """Give scores about a label that has become known to lessons of the others, which were scored before it was.

        Where a few dozen of these are all that lack them, the next ones will do.
        """
        counts, totals = self._view.counts, self._view.by_people
        for i in range(len(self._labels)):
            n_rest, _ = n_outcomes(counts.outcomes(i))
            if is_known(counts.totals, i) and 2 * n_rest < min(sum(totals) - totals[i], SCORED) - SCORED // 2:
                for label in self._labels[:i] + self._labels[i + 1 :]:
                    for lesson in self._journal.predicted_with(label, SCORED, PREDICTION_BYTES * i, NO_PREDICTION):
                        self._learn_again(lesson)

    def _learn_again(self, lesson: Lesson) -> None:
        """Score a lesson, which stays what it was, confirmed if it was."""
        is_confirmed = self._journal.is_confirmed(lesson.digest, lesson.user)
        if self._memory.take_back(lesson.digest, lesson.user):
            features, scored = unpacked(lesson.features, self._journal.bits), None
            if are_comparable(self._view.counts.totals):
                plain = plain_scores(features, self._view.counts, self._model)
                scored = stored(zip(plain, _corrections(lesson.held_out, len(plain)), strict=True))
            self._journal.learn(lesson._replace(held_out=scored))
            self._view.add(features.buckets, lesson.label, scored)
            self._view.add_personal(lesson.user, lesson.label, scored, features.buckets, features.offsets)
            if is_confirmed:
                self._journal.confirm(lesson.digest, lesson.user, lesson.label)


def _corrections(predicted: HeldOut | None, n: int) -> list[int]:
    """How a lesson has corrected, if it was scored among the same labels."""
    found = [correction for _, correction in predictions(predicted or b"")]
    return found if len(found) == n else [0] * n
