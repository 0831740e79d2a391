"""Scoring lessons later that could not be scored when they were learned.

People teach a folder of ham, then a folder of spam. For calibration to see both, some lessons of a label that lacks
scores are forgotten and learned again, which scores them as if they were new. They leave no corrections: at the start
of the second folder every message is a surprise, so features that all mail has would become evidence for its label.
"""

from typing import Final

from priory.bayes import PresenceBayes
from priory.bayes.calibration_line import n_outcomes
from priory.bayes.counts import NO_PREDICTION, PREDICTION_BYTES, HeldOut, pack_predictions, unpack_predictions
from priory.features import unpack_features
from priory.filter.counts import JournalCounts
from priory.filter.scoring import plain_scores
from priory.journal import Lesson
from priory.native.table import LEAST_KNOWN, are_comparable, is_known

SCORED: Final = 200  #: lessons of each label that calibration should see scored


class Rescorer:
    """Scores lessons that have no scores."""

    def __init__(self, counts: JournalCounts, model: PresenceBayes) -> None:
        self._counts = counts
        self._journal = counts.journal
        self._labels = counts.labels
        self._model = model

    def score_unscored(self) -> None:
        """Score lessons of labels that lack scores, once there are two labels to compare."""
        counts, totals = self._counts.counts, self._counts.by_people
        if sorted(totals)[-2] < LEAST_KNOWN or not are_comparable(counts.totals, without=1):
            return
        size = PREDICTION_BYTES * len(counts.held_out)
        n_unknown = LEAST_KNOWN if len(self._labels) > 2 else 0
        for label, n, scored in zip(self._labels, totals, counts.n_scored(), strict=True):
            wanted = min(n - n_unknown, SCORED)
            if 2 * scored < wanted:
                for lesson in self._journal.unscored_lessons(label, wanted - scored, size):
                    self._learn_again(lesson)
        if len(self._labels) > 2:
            self._score_about_new_labels()

    def _score_about_new_labels(self) -> None:
        """Score lessons of the other labels about a label that has become known since they were scored.

        If only a few dozen lack such scores, nothing is done: the next lessons will have them.
        """
        counts, totals = self._counts.counts, self._counts.by_people
        for i in range(len(self._labels)):
            n_rest, _ = n_outcomes(counts.outcomes(i))
            if is_known(counts.totals, i) and 2 * n_rest < min(sum(totals) - totals[i], SCORED) - SCORED // 2:
                for label in self._labels[:i] + self._labels[i + 1 :]:
                    for lesson in self._journal.lessons_with_prediction(
                        label, SCORED, PREDICTION_BYTES * i, NO_PREDICTION
                    ):
                        self._learn_again(lesson)

    def _learn_again(self, lesson: Lesson) -> None:
        """Forget a lesson and learn it again with its scores; all notes about it stay."""
        is_confirmed = self._journal.is_confirmed(lesson.digest, lesson.user)
        judgement = self._journal.silence.judgement(lesson.digest, lesson.user)
        if self._counts.forget(lesson.digest, lesson.user):
            features, scored = unpack_features(lesson.features, self._journal.bits), None
            if are_comparable(self._counts.counts.totals):
                plain = plain_scores(features, self._counts.counts, self._model)
                scored = pack_predictions(zip(plain, _corrections(lesson.held_out, len(plain)), strict=True))
            self._journal.learn(lesson._replace(held_out=scored))
            self._counts.add(features, lesson.label, scored)
            self._counts.add_personal(lesson.user, lesson.label, scored, features)
            if is_confirmed:
                self._journal.confirm(lesson.digest, lesson.user, lesson.label)
            if judgement:
                self._journal.write_lessons()
                self._journal.silence.judge(lesson.digest, lesson.user, *judgement)


def _corrections(predicted: HeldOut | None, n: int) -> list[int]:
    """Return the corrections of a lesson, or zeros if it was scored with other labels."""
    corrections = [correction for _, correction in unpack_predictions(predicted or b"")]
    return corrections if len(corrections) == n else [0] * n
