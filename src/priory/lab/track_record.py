"""The track record of a filter: its predictions for its lessons, each made before the lesson was learned.

Such predictions are as valid as any test, because none has seen its own message. They are stored with the lessons, so
nothing has to be learned again for them (Dawid 1984 calls this prequential).

A. Dawid: Present position and potential developments: the prequential approach. Journal of the Royal Statistical
Society A 147, 1984, 278-292.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

from priory.filter.filter import Filter
from priory.filter.predictions import LessonPredictions
from priory.lab.measures import Reliability, brier, calibration_error, log_loss, reliability
from priory.lab.measures.drift import Window, drift
from priory.lab.measures.interval import Interval, share
from priory.lab.predictions import Predictions

_N_BINS: Final = 10


_FEWEST: Final = 25  # lessons in the first stretch


@dataclass(frozen=True, slots=True, eq=False)
class LabelCalibration:
    """The calibration of one label's probabilities."""

    label: str
    error: float  #: the expected calibration error
    bins: Reliability

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        columns = (self.bins.mean_probability, self.bins.share, self.bins.low, self.bins.high, self.bins.n)
        names = ("mean_probability", "share", "low", "high", "n")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "label": self.label,
            "error": self.error,
            "bins": [dict(zip(names, row, strict=True)) for row in rows],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """A window of lessons, the times at which its first and last were learned, and its log loss."""

    window: Window
    since: float | None  #: None if that lesson was forgotten in the meantime
    until: float | None
    loss: Interval

    @property
    def unsure(self) -> float:
        """The share of lessons that would have been *unsure*."""
        return int(self.window.counts[:, -1].sum()) / (self.window.end - self.window.begin)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the times."""
        return self.window.as_dict() | {"unsure": self.unsure, "log_loss": self.loss.as_dict()}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive lessons, and the share of them for which another label was more probable."""

    begin: int
    end: int
    wrong: Interval

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"begin": self.begin, "end": self.end, "wrong": self.wrong.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class TrackRecord:
    """The figures of a filter on its own lessons; empty for a filter without predictions."""

    labels: tuple[str, ...]
    n: int  #: number of predicted lessons
    loss: Interval | None
    brier: Interval | None
    calibrations: Sequence[LabelCalibration]
    periods: Sequence[Period]
    stretches: Sequence[Stretch]

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Judge a filter by the predictions for its lessons."""
        lessons = filter_.lessons.predicted()
        seen = predictions_of(lessons, filter_.options.labels)
        if not len(seen):
            return cls(seen.classes, 0, None, None, (), (), ())
        windows = drift(seen, filter_.options.costs)
        ends = [number for window in windows for number in (window.begin, window.end - 1)]
        times = filter_.journal.queries.times_of(lessons.changes[ends].tolist())
        return cls(
            seen.classes,
            len(seen),
            log_loss(seen),
            brier(seen),
            [calibration_of(seen, code) for code in range(seen.n_classes)],
            [
                Period(window, since, until, log_loss(seen.take(slice(window.begin, window.end))))
                for window, since, until in zip(windows, times[::2], times[1::2], strict=True)
            ],
            by_doubling(seen),
        )

    @property
    def about(self) -> Sequence[LabelCalibration]:
        """The calibrations to show: with two labels only the second, because the first mirrors it."""
        return self.calibrations[1:] if len(self.labels) == 2 else self.calibrations


def predictions_of(lessons: LessonPredictions, labels: Sequence[str]) -> Predictions:
    """Return the predictions for a filter's lessons, in the order in which they were learned."""
    return Predictions(tuple(labels), lessons.labels, lessons.log_probabilities, ("",) * len(lessons.labels))


def calibration_of(seen: Predictions, code: int) -> LabelCalibration:
    """Return the calibration of one label."""
    error = calibration_error(seen, code, _N_BINS, n_resamples=0).estimate
    return LabelCalibration(seen.classes[code], error, reliability(seen, code, _N_BINS))


def by_doubling(predictions: Predictions) -> list[Stretch]:
    """Return the errors in stretches, each as long as all before it: the effect of each doubling of the lessons.

    The remaining lessons form the last stretch if they are at least half of its length; otherwise they extend the
    previous stretch.

    >>> wrong_at_first = [[0.1, 0.9]] * 50 + [[0.9, 0.1]] * 90
    >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 140, wrong_at_first)
    >>> [(stretch.begin, stretch.end, stretch.wrong.estimate) for stretch in by_doubling(seen)]
    [(0, 25, 1.0), (25, 50, 1.0), (50, 140, 0.0)]
    """
    n = len(predictions)
    edges = [0]
    while edges[-1] < n:
        end = 2 * edges[-1] or _FEWEST
        edges.append(n if end + end // 2 > n else end)
    errors = predictions.errors
    return [Stretch(begin, end, share(int(errors[begin:end].sum()), end - begin)) for begin, end in pairwise(edges)]
