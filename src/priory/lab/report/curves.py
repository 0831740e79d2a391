"""The curves of one run, with as many points as a plot can show."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs
from priory.lab.interval import Interval
from priory.lab.measures import (
    CostCurve,
    Curve,
    Reliability,
    auc,
    calibration_error,
    cost_curve,
    precision_recall,
    reliability,
    roc,
)
from priory.lab.predictions import Predictions

PIXELS: Final = 800  # of the longer side of a plot


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """How well one class is told from the rest, and how well its probabilities are calibrated."""

    auc: Interval
    roc: Curve
    precision_recall: Curve
    reliability: Reliability
    calibration_error: Interval

    @classmethod
    def of(cls, predictions: Predictions, about: int) -> Self:
        """Compute the curves of a class."""
        return cls(
            auc(predictions, about),
            thinned(roc(predictions, about)),
            thinned(precision_recall(predictions, about), n_decades=0),
            reliability(predictions, about),
            calibration_error(predictions, about),
        )


def thinned(curve: Curve, n_decades: int = 6, pixels: int = PIXELS) -> Curve:
    """Leave out the points of a curve that no eye could tell from their neighbours.

    With decades, that is so on a logarithmic axis of this length, too.

    >>> many = np.linspace(0, 1, 100_000)
    >>> len(thinned(Curve(many, many, many)).x) < 5_000
    True
    """
    keep = _visible(curve.x, curve.y, n_decades, pixels)
    return Curve(curve.x[keep], curve.y[keep], curve.thresholds[keep])


def thinned_costs(predictions: Predictions, costs: Costs) -> CostCurve:
    """Return the cost curve without the points that no eye could tell from their neighbours."""
    return thinned_curve(cost_curve(predictions, costs))


def thinned_curve(found: CostCurve, pixels: int = PIXELS) -> CostCurve:
    """Leave out the points of a cost curve that no eye could tell from their neighbours."""
    keep = _visible(found.thresholds, found.cost_per_example / (found.cost_per_example.max() or 1), 0, pixels)
    return replace(found, thresholds=found.thresholds[keep], cost_per_example=found.cost_per_example[keep])


def _visible(x: NDArray[np.float64], y: NDArray[np.float64], n_decades: int, pixels: int) -> NDArray[np.intp]:
    """Return the points, of shares, before and after each step to another pixel."""
    sides = [x, y] if n_decades == 0 else [x, y, np.log10(np.maximum(x, 10.0**-n_decades)) / n_decades]
    cells = np.rint(np.column_stack(sides) * pixels)
    steps = np.flatnonzero((np.diff(cells, axis=0) != 0).any(axis=1))
    return np.unique(np.concatenate([[0], steps, steps + 1, [len(x) - 1]])).astype(np.intp)
