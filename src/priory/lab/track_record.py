"""How good a filter was on its own mail: what was predicted of each lesson before it was learned, and what it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from priory.filter import Filter
from priory.lab.interval import Interval
from priory.lab.measures import Reliability, brier, calibration_error, log_loss, reliability
from priory.lab.predictions import Predictions
from priory.lab.prequential import Stretch, by_doubling, predictions_of
from priory.lab.report.drift import Window, drift

_N_BINS: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Whether the probabilities of a label mean what they say."""

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
    """What happened in a window of the lessons, when these were learned, and how surprising they were."""

    window: Window
    since: float | None  #: None if that lesson was forgotten just now
    until: float | None
    loss: Interval

    @property
    def unsure(self) -> float:
        """The share of which nothing would have been said."""
        return int(self.window.counts[:, -1].sum()) / (self.window.end - self.window.begin)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the times."""
        return self.window.as_dict() | {"unsure": self.unsure, "log_loss": self.loss.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class TrackRecord:
    """All that is known of how good a filter is; of a filter without predictions, nothing is."""

    labels: tuple[str, ...]
    n: int  #: lessons that were predicted
    loss: Interval | None
    brier: Interval | None
    calibrations: Sequence[Calibration]
    periods: Sequence[Period]
    stretches: Sequence[Stretch]

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Judge a filter by what was predicted of its lessons."""
        lessons = filter_.lessons.predicted()
        seen = predictions_of(lessons, filter_.options.labels)
        if not len(seen):
            return cls(seen.classes, 0, None, None, (), (), ())
        windows = drift(seen, filter_.options.costs)
        ends = [number for each in windows for number in (each.begin, each.end - 1)]
        times = filter_.journal.listing.times_of(lessons.changes[ends].tolist())
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
    def about(self) -> Sequence[Calibration]:
        """The calibrations that say something new: with two labels, that of the first is the mirror of the second."""
        return self.calibrations[1:] if len(self.labels) == 2 else self.calibrations


def calibration_of(seen: Predictions, code: int) -> Calibration:
    """Return whether the probabilities of a label mean what they say."""
    error = calibration_error(seen, code, _N_BINS, n_resamples=0).estimate
    return Calibration(seen.classes[code], error, reliability(seen, code, _N_BINS))
