"""Leave-one-out for the filter: judge each message as if it had never been learned, exactly and in one pass.

Other classifiers are fitted again for each message. The filter can forget: the message and its near-copies are
subtracted from the counts, the message is scored, and all are added again. Their contribution to calibration is left
out, too; the predictions that other messages got when they were learned stay as they were.
"""

import time
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes.counts import HeldOut
from priory.features import Features, unpack_features
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.scoring import calibrations, scores
from priory.journal import Lesson
from priory.lab.error import LabError
from priory.lab.mail import Mail
from priory.lab.models.filter_classifier import rows_of, taught_filter
from priory.lab.predictions import Predictions, from_log_odds
from priory.lab.run import Run


def leave_one_out(mail: Mail, options: Options, groups: NDArray[np.int64] | None = None) -> Run:
    """Teach a filter all of the mail, and judge each message by the filter without its group.

    >>> from priory.corpus import Labelled
    >>> from priory.demo import draw
    >>> from priory.lab.examples import examples
    >>> inbox = (Labelled(drawn.raw, drawn.label, str(i)) for i, drawn in enumerate(draw(60, seed=3)))
    >>> options = Options()
    >>> run = leave_one_out(Mail.of(examples(inbox, options.spec)), options)
    >>> len(run.predictions), bool(run.predictions.errors.mean() < 0.3)
    (60, True)
    """
    of_each = np.arange(len(mail)) if groups is None else groups
    _require_others(mail, options.labels, of_each)
    start = time.perf_counter()
    with taught_filter(rows_of(mail.X, mail.columns, mail.bits), mail.labels, options) as filter_:
        learned = time.perf_counter()
        logs = _left_out(filter_, options, of_each)
    truth = np.array([options.labels.index(label) for label in mail.labels], np.int64)
    copies = "" if groups is None else " and is no near-copy"
    return Run(
        model="filter",
        predictions=Predictions(options.labels, truth, logs, mail.names, groups),
        protocol=f"leave-one-out: each message judged by the filter that learned all that is another{copies}",
        seconds_learning=learned - start,
        seconds_predicting=time.perf_counter() - learned,
    )


def _require_others(mail: Mail, labels: tuple[str, ...], groups: NDArray[np.int64]) -> None:
    for label in labels:
        n_apart = len(np.unique(groups[mail.y == label]))
        if n_apart == 0:
            raise LabError(
                f"there is no {label} among {len(mail):,} messages: an evaluation needs messages of every label"
            )
        if n_apart < 2:
            raise LabError(f"all messages of {label} are near-copies and would be left out together: add other {label}")


def _left_out(filter_: Filter, options: Options, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = filter_.counts.copy()
    lessons = sorted(filter_.journal.lessons(), key=lambda lesson: lesson.digest)  # the digest is the number of the row
    logs = np.empty((len(lessons), len(options.labels)))
    by_group = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.unique(groups, return_counts=True)[1])[:-1])
    for members in by_group:
        taken = [_LessonCounts.of(lessons[i], filter_.journal.bits, options.labels) for i in members]
        for lesson in taken:
            counts.subtract(lesson.features, lesson.label, lesson.held_out)
        lines = calibrations(counts)
        for i, lesson in zip(members, taken, strict=True):
            label_scores = scores(lesson.features, counts, options.model, lines)
            logs[i] = from_log_odds([score.log_odds for score in label_scores])
        for lesson in taken:
            counts.add(lesson.features, lesson.label, lesson.held_out)
    return logs


class _LessonCounts(NamedTuple):
    """What one lesson adds to the counts."""

    features: Features
    label: int
    held_out: HeldOut | None

    @classmethod
    def of(cls, lesson: Lesson, bits: int, labels: tuple[str, ...]) -> Self:
        return cls(unpack_features(lesson.features, bits), labels.index(lesson.label), lesson.held_out)
