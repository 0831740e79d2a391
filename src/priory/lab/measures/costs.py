r"""What mistakes cost: the price of an average message, and how it moves with the threshold.

An error is weighed by its cost $c_{ji}$, of saying $j$ while $i$ is true: with $n_{ij}$ such examples of $n$, the cost
per example is $\frac1n \sum_{ij} n_{ij} c_{ji}$. With two classes and one threshold $t$, the second is said when
$p > t$. At $t = 1$ nothing is said to be of the second class, and each example of it is missed; at $t = 0$ all of the
first are lost. If the probabilities are right, the cheapest threshold is that which the costs imply.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs, thresholds
from priory.lab.design_effect import design_effect
from priory.lab.interval import Interval, middle_of
from priory.lab.measures.decisions import Confusion, confusion, require_costs
from priory.lab.measures.placements import Floats
from priory.lab.measures.presence import require_both, require_two_classes
from priory.lab.predictions import Predictions

_N_DRAWS = 4000


def prices_of(costs: Costs) -> Floats:
    """Return what each thing that can be said costs by what is true: [said, true], *unsure* last.

    >>> prices_of(Costs()).tolist()
    [[0.0, 10.0], [100.0, 0.0], [4.0, 4.0]]
    """
    return np.vstack([costs.matrix, np.full(len(costs.labels), costs.unsure)]).astype(np.float64)


def cost_per_example(predictions: Predictions, costs: Costs, seed: int = 0) -> Interval:
    r"""Return what the cheapest decisions cost on average, by what then was true.

    A bootstrap never draws a mistake that was not seen, and the dearest are the rarest: with no ham lost in 100, three
    in 100 may still be lost. So for each true class the shares of what is said are drawn as if half an example more
    had been seen of each (from a Dirichlet distribution, Jeffreys' choice); what is said of no class is left out. In
    groups of near-copies, the counts of each class are divided by the design effect of what its examples cost.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> print(cost_per_example(seen, Costs()))
    1.5000 (1.2618 to 22.1484)
    """
    return cost_of(confusion(predictions, costs), costs, seed)


def cost_of(table: Confusion, costs: Costs, seed: int = 0) -> Interval:
    """Return the same where it is counted what was said."""
    n_examples = int(table.counts.sum())
    prices = prices_of(costs).T
    said = table.counts.any(axis=0)
    random = np.random.default_rng(seed)
    drawn = sum(
        n * (random.dirichlet(counts[said] / effect + 0.5, _N_DRAWS) @ price[said])
        for n, counts, price, effect in zip(
            table.n_by_class, table.counts, prices, _design_effects(table, prices), strict=True
        )
    )
    total = float((table.counts[:, said] * prices[:, said]).sum())  # what is never said may cost infinitely much
    return middle_of(total / n_examples, np.asarray(drawn) / n_examples)


def _design_effects(table: Confusion, prices: Floats) -> list[float]:
    """Return the design effect of what the examples of each class cost."""
    if table.cells is None or table.groups is None:
        return [1.0] * len(table.classes)
    truth, paid = table.cells // len(table.said), prices.ravel()[table.cells]
    return [design_effect(paid[truth == code], table.groups[truth == code]) for code in range(len(table.classes))]


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """The cost per example for every threshold on the probability of the second class.

    `cost_per_example[i]` holds from `thresholds[i]` up to below `thresholds[i + 1]`. There is no *unsure* here: every
    example is on one side of the threshold. `implied` is the threshold that follows from the costs alone, `cheapest`
    the one that cost least on these very examples: the middle of the widest range that did.
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
    """Return the cost of every threshold, with the cheapest one marked.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> curve = cost_curve(seen, Costs())
    >>> round(curve.implied, 4), curve.implied_cost, round(curve.cheapest, 4), curve.cheapest_cost
    (0.9091, 2.5, 0.7, 1.25)
    >>> curve.warning
    'chosen on these 8 examples, so its cost is too good to be true: judge it on others'
    """
    below = Below.of(predictions)
    require_costs(predictions, costs)
    return priced(below, costs)


@dataclass(frozen=True, slots=True, eq=False)
class Below:
    """How many examples of each of two classes every threshold has below it, or at it: what all cost curves share."""

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


def priced(below: Below, costs: Costs) -> CostCurve:
    """Return the cost of every threshold where it is known what is below it."""
    (right, missed), (lost, caught) = costs.matrix
    edges, n = below.thresholds, int(below.n[0][-1] + below.n[1][-1])
    curve = (_priced(below.n[0], right, lost) + _priced(below.n[1], missed, caught)) / n
    cheapest = _middle_of_widest(edges, np.isclose(curve, curve.min(), rtol=1e-12, atol=0))
    implied = float(thresholds(replace(costs, unsure=math.inf))[below.classes[1]])
    found = CostCurve(edges, curve, cheapest, float(curve.min()), implied, math.nan, _warning(n))
    return replace(found, implied_cost=found.at(implied))


def _priced(n_below: NDArray[np.intp], price_below: float, price_beyond: float) -> Floats:
    """What all examples of one class cost, when so many are not beyond the threshold."""
    return np.asarray(n_below * price_below + (n_below[-1] - n_below) * price_beyond)


def _middle_of_widest(edges: Floats, cheap: NDArray[np.bool_]) -> float:
    """Return the middle of the widest range of thresholds in which all are cheap; the last edge ends there."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], cheap, [False]])))
    starts, ends = changes[::2], np.minimum(changes[1::2], len(edges) - 1)
    widest = np.argmax(edges[ends] - edges[starts])
    return float((edges[starts[widest]] + edges[ends[widest]]) / 2)


def _warning(n: int) -> str:
    return f"chosen on these {n} examples, so its cost is too good to be true: judge it on others"
