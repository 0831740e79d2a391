r"""The cost of mistakes per message, and how it depends on the threshold.

A decision for $j$ while $i$ is true costs $c_{ji}$: with $n_{ij}$ such examples of $n$, the cost per example is
$\frac1n \sum_{ij} n_{ij} c_{ji}$. With two classes and one threshold $t$, the decision is for the second if $p > t$. At
$t = 1$ every example of the second class is missed; at $t = 0$ every example of the first is lost. If the probabilities
are right, the cheapest threshold is the threshold that the costs imply.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs, thresholds
from priory.lab.measures.confusion_matrix import Confusion, confusion, require_costs
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import Interval, interval_of_draws
from priory.lab.measures.ranking import PIXELS, Floats, visible_points
from priory.lab.predictions import Predictions, require_both, require_two_classes

_N_DRAWS = 4000


def prices_of(costs: Costs) -> Floats:
    """Return the costs of decisions [said, true], with *unsure* as the last row.

    >>> prices_of(Costs()).tolist()
    [[0.0, 10.0], [100.0, 0.0], [4.0, 4.0]]
    """
    return np.vstack([costs.matrix, np.full(len(costs.labels), costs.unsure)]).astype(np.float64)


def cost_per_example(predictions: Predictions, costs: Costs, seed: int = 0) -> Interval:
    r"""Return the average cost of the cheapest decisions, given the true classes.

    A bootstrap never draws a mistake that was not seen, and the most expensive mistakes are the rarest: with no ham
    lost in 100, three in 100 may still be lost. So for each true class the shares of the decisions are drawn from a
    Dirichlet distribution with half an example added to each (Jeffreys' prior); decisions that never occur are left
    out. With groups of near-copies, the counts of each class are divided by the design effect of its costs.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> print(cost_per_example(seen, Costs()))
    1.5000 (1.2618 to 22.1484)
    """
    return cost_of(confusion(predictions, costs), costs, seed)


def cost_of(table: Confusion, costs: Costs, seed: int = 0) -> Interval:
    """Return the average cost from a confusion matrix."""
    n_examples = int(table.counts.sum())
    prices = prices_of(costs).T
    occurs = table.counts.any(axis=0)
    random = np.random.default_rng(seed)
    drawn = sum(
        n * (random.dirichlet(counts[occurs] / effect + 0.5, _N_DRAWS) @ price[occurs])
        for n, counts, price, effect in zip(
            table.n_by_class, table.counts, prices, _design_effects(table, prices), strict=True
        )
    )
    total = float(
        (table.counts[:, occurs] * prices[:, occurs]).sum()
    )  # a decision that never occurs may have an infinite cost
    return interval_of_draws(total / n_examples, np.asarray(drawn) / n_examples)


def _design_effects(table: Confusion, prices: Floats) -> list[float]:
    """Return the design effect of the costs of each class."""
    if table.cells is None or table.groups is None:
        return [1.0] * len(table.classes)
    truth, paid = table.cells // len(table.said), prices.ravel()[table.cells]
    return [design_effect(paid[truth == code], table.groups[truth == code]) for code in range(len(table.classes))]


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """The cost per example for every threshold on the probability of the second class.

    `cost_per_example[i]` holds from `thresholds[i]` to just below `thresholds[i + 1]`, without *unsure*. `implied` is
    the threshold that follows from the costs alone. `cheapest` has the lowest cost on these examples: the middle of the
    widest such range.
    """

    thresholds: Floats
    cost_per_example: Floats
    cheapest: float
    cheapest_cost: float
    implied: float
    implied_cost: float
    warning: str

    def at(self, threshold: float) -> float:
        """Return the cost per example at a threshold from 0 to 1."""
        return float(self.cost_per_example[np.searchsorted(self.thresholds, threshold, side="right") - 1])


def cost_curve(predictions: Predictions, costs: Costs) -> CostCurve:
    """Return the cost of every threshold, and the cheapest one.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> curve = cost_curve(seen, Costs())
    >>> round(curve.implied, 4), curve.implied_cost, round(curve.cheapest, 4), curve.cheapest_cost
    (0.9091, 2.5, 0.7, 1.25)
    >>> curve.warning
    'chosen on these 8 examples, so its cost is too good to be true: judge it on others'
    """
    below = CountsBelow.of(predictions)
    require_costs(predictions, costs)
    return price_thresholds(below, costs)


@dataclass(frozen=True, slots=True, eq=False)
class CountsBelow:
    """The number of examples of two classes at or below each threshold, which does not depend on costs."""

    thresholds: Floats
    n: tuple[NDArray[np.intp], NDArray[np.intp]]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """Count the examples."""
        require_two_classes(predictions, "a cost curve")
        require_both(predictions, 1)
        p, positive = predictions.probabilities[:, 1], predictions.truth == 1
        edges = np.unique(np.concatenate([[0.0, 1.0], p]))
        first, second = (np.searchsorted(np.sort(p[of]), edges, side="right") for of in (~positive, positive))
        return cls(edges, (first, second), predictions.classes)


def price_thresholds(below: CountsBelow, costs: Costs) -> CostCurve:
    """Return the cost of every threshold, given the counts below it."""
    (right, missed), (lost, caught) = costs.matrix
    edges, n = below.thresholds, int(below.n[0][-1] + below.n[1][-1])
    curve = (_class_cost(below.n[0], right, lost) + _class_cost(below.n[1], missed, caught)) / n
    cheapest = _middle_of_widest(edges, np.isclose(curve, curve.min(), rtol=1e-12, atol=0))
    implied = float(thresholds(replace(costs, unsure=math.inf))[below.classes[1]])
    unpriced = CostCurve(edges, curve, cheapest, float(curve.min()), implied, math.nan, _warning(n))
    return replace(unpriced, implied_cost=unpriced.at(implied))


def _class_cost(n_below: NDArray[np.intp], price_below: float, price_beyond: float) -> Floats:
    """Return the cost of all examples of one class, for each number of them below the threshold."""
    return np.asarray(n_below * price_below + (n_below[-1] - n_below) * price_beyond)


def _middle_of_widest(edges: Floats, cheap: NDArray[np.bool_]) -> float:
    """Return the middle of the widest range of thresholds in which all are cheap; the last edge ends there."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], cheap, [False]])))
    starts, ends = changes[::2], np.minimum(changes[1::2], len(edges) - 1)
    widest = np.argmax(edges[ends] - edges[starts])
    return float((edges[starts[widest]] + edges[ends[widest]]) / 2)


def _warning(n: int) -> str:
    return f"chosen on these {n} examples, so its cost is too good to be true: judge it on others"


def thin_costs(predictions: Predictions, costs: Costs) -> CostCurve:
    """Return the cost curve without points that a plot cannot distinguish from their neighbours."""
    return thin_cost_curve(cost_curve(predictions, costs))


def thin_cost_curve(curve: CostCurve, pixels: int = PIXELS) -> CostCurve:
    """Remove the points of a cost curve that a plot cannot distinguish from their neighbours."""
    keep = visible_points(curve.thresholds, curve.cost_per_example / (curve.cost_per_example.max() or 1), 0, pixels)
    return replace(curve, thresholds=curve.thresholds[keep], cost_per_example=curve.cost_per_example[keep])
