"""Whether a classifier gets worse over time: errors and probabilities in consecutive windows of messages."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs
from priory.lab.measures import calibration_error, confusion
from priory.lab.measures.costs import prices_of
from priory.lab.measures.interval import Interval, share
from priory.lab.predictions import Predictions

N_WINDOWS: Final = 20
_FEWEST: Final = 50  # examples in a window; a share of fewer says little


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Consecutive examples: the decisions about them, what these cost, and how well the probabilities fit.

    If the classifier is calibrated, the mean probability of a class is near its share.
    """

    begin: int
    end: int
    counts: NDArray[np.int64]  #: [true, said], the last column is "unsure"
    mean_probability: NDArray[np.float64]  #: [class]
    cost: float  #: per example
    calibration_error: float

    @property
    def shares(self) -> list[float]:
        """The share of each class."""
        return [int(of) / (self.end - self.begin) for of in self.counts.sum(axis=1)]

    @property
    def wrong(self) -> Interval:
        """The share of wrong decisions; *unsure* is not wrong."""
        n = self.end - self.begin
        return share(n - int(self.counts.diagonal().sum()) - int(self.counts[:, -1].sum()), n)

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "begin": self.begin,
            "end": self.end,
            "counts": self.counts.tolist(),
            "wrong": self.wrong.as_dict(),
            "share": self.shares,
            "mean_probability": self.mean_probability.tolist(),
            "cost": self.cost,
            "calibration_error": self.calibration_error,
        }


def edges(n_examples: int, n_windows: int = N_WINDOWS) -> list[int]:
    """Return the beginnings of the windows, and the end of the last one.

    >>> edges(200)
    [0, 50, 100, 150, 200]
    """
    n = max(1, min(n_windows, n_examples // _FEWEST))
    return [n_examples * i // n for i in range(n + 1)]


def drift(predictions: Predictions, costs: Costs, n_windows: int = N_WINDOWS) -> list[Window]:
    """Return windows over the examples in their order.

    >>> early, late = [[0.99, 0.01]] * 50, [[0.01, 0.99]] * 50       # ham, later called spam
    >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 100, early + late)
    >>> [window.counts[0].tolist() for window in drift(seen, Costs())]
    [[50, 0, 0], [0, 50, 0]]
    """
    at = edges(len(predictions), n_windows)
    return [_window(begin, end, predictions.take(slice(begin, end)), costs) for begin, end in pairwise(at)]


def _window(begin: int, end: int, part: Predictions, costs: Costs) -> Window:
    counts = confusion(part, costs).counts
    occurs = counts.any(axis=0)  # a decision that never occurs may have an infinite cost
    cost = float((counts[:, occurs] * prices_of(costs).T[:, occurs]).sum()) / (end - begin)
    error = calibration_error(part, 1 if part.n_classes == 2 else None, n_resamples=0).estimate
    return Window(begin, end, counts, part.probabilities.mean(axis=0), cost, error)
