"""Whether a classifier gets worse over time: errors and probabilities in consecutive windows of messages."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs
from priory.lab.measures import confusion
from priory.lab.measures.interval import Interval, share
from priory.lab.predictions import Predictions

N_WINDOWS: Final = 20
_FEWEST: Final = 50  # examples in a window; a share of fewer says little


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Consecutive examples: the decisions about them, and the mean probability of each class.

    If the classifier is calibrated, the mean probability of a class is near its share.
    """

    begin: int
    end: int
    counts: NDArray[np.int64]  #: [true, said], the last column is "unsure"
    mean_probability: NDArray[np.float64]  #: [class]

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
            "share": [int(of) / (self.end - self.begin) for of in self.counts.sum(axis=1)],
            "mean_probability": self.mean_probability.tolist(),
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
    parts = [(begin, end, predictions.take(slice(begin, end))) for begin, end in pairwise(at)]
    return [
        Window(begin, end, confusion(part, costs).counts, part.probabilities.mean(axis=0)) for begin, end, part in parts
    ]
