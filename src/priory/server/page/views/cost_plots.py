"""The plots of the view *Costs*: the position of costs on the ROC, precision-recall and cost curves of two labels."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from priory.decision import UNSURE, thresholds
from priory.html.builder import Html, element
from priory.html.numbers import number, percent
from priory.lab.cost_trial import CostTrialResult
from priory.lab.measures import Curve, Rates
from priory.lab.measures.ranking import Floats
from priory.server.page.axes import Axis, linear, logarithmic
from priory.server.page.plots import Dot, Dots, Line, Plot, PlotMark, PlotTable, ReferenceLine

_PROBABILITIES: Final = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)  # of ticks
_LEAST, _MOST_DECADES = 1e-200, 6  # of the axis of costs
_N_ROWS: Final = 12  # of the table beside a curve


def cost_plots(result: CostTrialResult) -> Html:
    """Return the plots; none with more than two labels, for which there are no such curves."""
    if result.ground.roc is None or result.ground.precision_recall is None:
        return element("div", id="curves")
    return element(
        "div",
        _roc(result, result.ground.roc).draw(),
        _precision_recall(result, result.ground.precision_recall).draw(),
        _cost(result).draw(),
        id="curves",
        class_="grid",
    )


def _roc(result: CostTrialResult, curve: Curve) -> Plot:
    first, second = result.then.costs.labels
    n_first = int(result.then.confusion.n_by_class[0])
    least = 10.0 ** math.floor(math.log10(1 / n_first)) if n_first > 1 else 0.1
    reached = float(curve.y[np.flatnonzero(curve.x <= least)[-1]])
    points = [(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True)]
    return Plot(
        "roc",
        "ROC curve",
        f"Up and to the left is better: more {second} found, less {first} lost.",
        logarithmic(f"{first} lost", least, 1, percent),
        linear(f"{second} found", _begin(reached), 1, percent),
        [Line("all thresholds", "first", points), *_points(result, lambda rates: (_fpr(rates), _recall(rates)))],
        _table((f"{first} lost", f"{second} found"), curve.x, curve.y),
    )


def _precision_recall(result: CostTrialResult, curve: Curve) -> Plot:
    _, second = result.then.costs.labels
    points = [(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True)]
    return Plot(
        "precision-recall",
        "Precision and recall",
        f"The share of {second} that is found, and the share of {second} among what is called {second}.",
        linear("recall", _begin(float(curve.x[curve.y >= 1].max())), 1, percent),
        linear("precision", float(curve.y.min()), 1, percent),
        [Line("all thresholds", "first", points), *_points(result, lambda rates: (_recall(rates), _precision(rates)))],
        _table(("recall", "precision"), curve.x, curve.y),
    )


def _cost(result: CostTrialResult) -> Plot:
    then = result.then
    curve = then.curve
    assert curve is not None
    second = then.costs.labels[1]
    at = thresholds(then.costs)
    costs = curve.cost_per_example
    points = [(_log_odds(float(p)), float(cost)) for p, cost in zip(curve.thresholds, costs, strict=True)]
    dearest = max(float(costs.max()), then.cost.estimate, _LEAST)
    cheapest = min(float(cost) for cost in (*costs, then.cost.estimate, dearest) if cost > 0)
    marks: list[PlotMark] = [
        Line(f"one threshold, no {UNSURE}", "first", points, steps=True),
        Dots("threshold of these costs", "first", [Dot(_log_odds(curve.implied), curve.implied_cost)]),
        *(
            ReferenceLine(f"{verdict} from here", "first" if verdict == second else "second", _log_odds(p))
            for verdict, p in at.items()
            if p < 1
        ),
        Dots(f"with {UNSURE}", "chosen", [Dot(_log_odds(at[second]), then.cost.estimate)]),
    ]
    return Plot(
        "cost",
        "Cost",
        "The average cost of a message; lower is better.",
        Axis(
            f"probability from which it is called {second}",
            _log_odds(_PROBABILITIES[0]),
            _log_odds(_PROBABILITIES[-1]),
            tuple((_log_odds(p), number(p)) for p in _PROBABILITIES),
        ),
        logarithmic("cost", max(cheapest, dearest / 10**_MOST_DECADES), dearest, lambda cost: f"{cost:g}"),
        marks,
        PlotTable(
            ("threshold", "cost"),
            [
                *((number(round(p, 6)), f"{cost:.4g}") for p, cost in _sample(curve.thresholds, costs)),
                (f"these: {number(round(at[second], 6))}", f"{then.cost.estimate:.4g}"),
            ],
        ),
        wide=True,
    )


def _points(result: CostTrialResult, point: Callable[[Rates], tuple[float, float]]) -> Sequence[PlotMark]:
    second = result.then.costs.labels[1]
    then, now = result.then.places, result.now.places
    return (
        Dots("now", "other", [_dot(point(now[second]), "now")]),
        Dots(f"{second} or {UNSURE}", "second", [_dot(point(then[UNSURE]), f"{second} or {UNSURE}")]),
        Dots(f"called {second}", "chosen", [_dot(point(then[second]), f"called {second}")]),
    )


def _dot(point: tuple[float, float], name: str) -> Dot:
    x, y = (0.0 if math.isnan(value) else value for value in point)
    return Dot(x, y, tooltip=f"{name}: {percent(round(x, 5))}, {percent(round(y, 5))}")


def _begin(reached: float) -> float:
    """Return where an axis of shares begins: at a half if the curve is above it anyway."""
    return 0.5 if reached > 0.6 else 0.0


def _fpr(rates: Rates) -> float:
    return rates.false_positive_rate.estimate


def _recall(rates: Rates) -> float:
    return rates.recall.estimate


def _precision(rates: Rates) -> float:
    """Return the precision; 1 if nothing gets the second label, by the convention of the curve."""
    precision = rates.precision.estimate
    return 1.0 if math.isnan(precision) else precision


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def _sample(x: Floats, y: Floats) -> list[tuple[float, float]]:
    keep = np.unique(np.linspace(0, len(x) - 1, _N_ROWS).round().astype(int))
    return [(float(x[i]), float(y[i])) for i in keep]


def _table(columns: tuple[str, str], x: Floats, y: Floats) -> PlotTable:
    return PlotTable(columns, [(percent(round(one, 5)), percent(round(other, 5))) for one, other in _sample(x, y)])
