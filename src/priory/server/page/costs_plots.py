"""The plots of the view *Costs*: where some costs stand on the ROC, precision-recall and cost curves of two labels."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from priory.decision import UNSURE, thresholds
from priory.lab.cost_trial import Tried
from priory.lab.measures import Curve, Rates
from priory.lab.measures.placements import Floats
from priory.markup import Html, element
from priory.server.page.axis import Axis, linear, logarithmic, number, percent
from priory.server.page.marks import Dot, Dots, Line, Mark, Rule
from priory.server.page.plot import Plot, Table

_PROBABILITIES: Final = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)  # of ticks
_LEAST, _MOST_DECADES = 1e-200, 6  # of the axis of costs
_N_ROWS: Final = 12  # of the table beside a curve


def plots(tried: Tried) -> Html:
    """Return the plots; none with more than two labels, where no curve has all that can be said."""
    if tried.ground.roc is None or tried.ground.precision_recall is None:
        return element("div", id="curves")
    return element(
        "div",
        _roc(tried, tried.ground.roc).drawn(),
        _precision_recall(tried, tried.ground.precision_recall).drawn(),
        _cost(tried).drawn(),
        id="curves",
        class_="grid",
    )


def _roc(tried: Tried, curve: Curve) -> Plot:
    first, second = tried.then.costs.labels
    n_first = int(tried.then.confusion.n_by_class[0])
    least = 10.0 ** math.floor(math.log10(1 / n_first)) if n_first > 1 else 0.1
    reached = float(curve.y[np.flatnonzero(curve.x <= least)[-1]])
    points = [(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True)]
    return Plot(
        "roc",
        "ROC curve",
        f"Up and to the left is better: more {second} found, less {first} lost.",
        logarithmic(f"{first} lost", least, 1, percent),
        linear(f"{second} found", _begin(reached), 1, percent),
        [Line("all thresholds", "first", points), *_places(tried, lambda rates: (_fpr(rates), _recall(rates)))],
        _table((f"{first} lost", f"{second} found"), curve.x, curve.y),
    )


def _precision_recall(tried: Tried, curve: Curve) -> Plot:
    _, second = tried.then.costs.labels
    points = [(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True)]
    return Plot(
        "precision-recall",
        "Precision and recall",
        f"How much of the {second} is found, and how much of what is called {second} is.",
        linear("recall", _begin(float(curve.x[curve.y >= 1].max())), 1, percent),
        linear("precision", float(curve.y.min()), 1, percent),
        [Line("all thresholds", "first", points), *_places(tried, lambda rates: (_recall(rates), _precision(rates)))],
        _table(("recall", "precision"), curve.x, curve.y),
    )


def _cost(tried: Tried) -> Plot:
    then = tried.then
    curve = then.curve
    assert curve is not None
    second = then.costs.labels[1]
    at = thresholds(then.costs)
    costs = curve.cost_per_example
    points = [(_log_odds(float(p)), float(cost)) for p, cost in zip(curve.thresholds, costs, strict=True)]
    dearest = max(float(costs.max()), then.cost.estimate, _LEAST)
    cheapest = min(float(each) for each in (*costs, then.cost.estimate, dearest) if each > 0)
    marks: list[Mark] = [
        Line(f"one threshold, no {UNSURE}", "first", points, steps=True),
        Dots("where these costs put it", "first", [Dot(_log_odds(curve.implied), curve.implied_cost)]),
        *(
            Rule(f"{said} from here", "first" if said == second else "second", _log_odds(p))
            for said, p in at.items()
            if p < 1
        ),
        Dots(f"with {UNSURE}", "chosen", [Dot(_log_odds(at[second]), then.cost.estimate)]),
    ]
    return Plot(
        "cost",
        "Cost",
        "What a message costs on average by these prices; lower is better.",
        Axis(
            f"probability of {second} from which it is said",
            _log_odds(_PROBABILITIES[0]),
            _log_odds(_PROBABILITIES[-1]),
            tuple((_log_odds(p), number(p)) for p in _PROBABILITIES),
        ),
        logarithmic("cost", max(cheapest, dearest / 10**_MOST_DECADES), dearest, lambda cost: f"{cost:g}"),
        marks,
        Table(
            ("threshold", "cost"),
            [
                *((number(round(p, 6)), f"{cost:.4g}") for p, cost in _some(curve.thresholds, costs)),
                (f"these: {number(round(at[second], 6))}", f"{then.cost.estimate:.4g}"),
            ],
        ),
        wide=True,
    )


def _places(tried: Tried, place: Callable[[Rates], tuple[float, float]]) -> Sequence[Mark]:
    second = tried.then.costs.labels[1]
    then, now = tried.then.places, tried.now.places
    return (
        Dots("now", "other", [_dot(place(now[second]), "now")]),
        Dots(f"{second} or {UNSURE}", "second", [_dot(place(then[UNSURE]), f"{second} or {UNSURE}")]),
        Dots(f"called {second}", "chosen", [_dot(place(then[second]), f"called {second}")]),
    )


def _dot(place: tuple[float, float], said: str) -> Dot:
    x, y = (0.0 if math.isnan(each) else each for each in place)
    return Dot(x, y, said=f"{said}: {percent(round(x, 5))}, {percent(round(y, 5))}")


def _begin(reached: float) -> float:
    """Where an axis of shares begins, so that what is below a share that is easily reached takes no room."""
    return 0.5 if reached > 0.6 else 0.0


def _fpr(rates: Rates) -> float:
    return rates.false_positive_rate.estimate


def _recall(rates: Rates) -> float:
    return rates.recall.estimate


def _precision(rates: Rates) -> float:
    """Where nothing is said to be of the class, 1, by the convention of the curve."""
    found = rates.precision.estimate
    return 1.0 if math.isnan(found) else found


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def _some(x: Floats, y: Floats) -> list[tuple[float, float]]:
    keep = np.unique(np.linspace(0, len(x) - 1, _N_ROWS).round().astype(int))
    return [(float(x[i]), float(y[i])) for i in keep]


def _table(columns: tuple[str, str], x: Floats, y: Floats) -> Table:
    return Table(columns, [(percent(round(one, 5)), percent(round(other, 5))) for one, other in _some(x, y)])
