"""The filter judged on each message as if that one had never been learned, exactly and in one pass.

Any other classifier is fitted anew for each message. The filter forgets: take the message out of the counts, and its
near-copies with it, score it, put all back. What is left out is left out wholly, what it contributed to calibration
and its own corrections included; the predictions that others got when they were learned stay as they were.
"""

import time
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes.counts import HeldOut
from priory.features import Features, unpacked
from priory.filter import Filter
from priory.journal import Lesson
from priory.lab.error import LabError
from priory.lab.filter_classifier import rows_of, taught
from priory.lab.mail import Mail
from priory.lab.predictions import Predictions
from priory.lab.probabilities import from_log_odds
from priory.lab.run import Run
from priory.options import Options
from priory.scoring import calibrations, scores


def leave_one_out(mail: Mail, options: Options, groups: NDArray[np.int64] | None = None) -> Run:
    """Teach a filter all of the mail, and judge each message by the filter without it, and without its group.

    >>> from priory.corpus import Labelled
    >>> from priory.demo import draw
    >>> from priory.lab.example import examples
    >>> inbox = (Labelled(drawn.raw, drawn.label, str(i)) for i, drawn in enumerate(draw(60, seed=3)))
    >>> options = Options()
    >>> run = leave_one_out(Mail.of(examples(inbox, options.spec)), options)
    >>> len(run.predictions), bool(run.predictions.errors.mean() < 0.3)
    (60, True)
    """
    of_each = np.arange(len(mail)) if groups is None else groups
    _require_others(mail, options.labels, of_each)
    start = time.perf_counter()
    with taught(rows_of(mail.X, mail.columns, mail.bits), mail.labels, options) as filter_:
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
            raise LabError(f"there is no {label} among {len(mail):,} messages: to judge takes messages of every label")
        if n_apart < 2:
            raise LabError(
                f"all messages of {label} are left out at once, for no two of them differ: more of it is needed"
            )


def _left_out(filter_: Filter, options: Options, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    counts = filter_.counts.copy()
    lessons = sorted(filter_.journal.lessons(), key=lambda lesson: lesson.digest)  # the digest is the row's number
    logs = np.empty((len(lessons), len(options.labels)))
    by_group = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.unique(groups, return_counts=True)[1])[:-1])
    for members in by_group:
        taken = [_Taken.of(lessons[i], filter_.journal.bits, options.labels) for i in members]
        for each in taken:
            counts.subtract(each.features.buckets, each.label, each.held_out)
        lines = calibrations(counts)
        for i, each in zip(members, taken, strict=True):
            said = scores(each.features, counts, options.model, lines)
            logs[i] = from_log_odds([score.log_odds for score in said])
        for each in taken:
            counts.add(each.features.buckets, each.label, each.held_out)
    return logs


class _Taken(NamedTuple):
    """What one lesson has added to the counts."""

    features: Features
    label: int
    held_out: HeldOut | None

    @classmethod
    def of(cls, lesson: Lesson, bits: int, labels: tuple[str, ...]) -> Self:
        return cls(unpacked(lesson.features, bits), labels.index(lesson.label), lesson.held_out)
