"""What the page computes in the browser is what Python computes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from invented_runs import THREE, THREE_COSTS, drawn
from opened_page import Opened

from priory.decision import Costs
from priory.lab.measures import confusion, cost_curve, cost_per_example, rates
from priory.lab.measures.drift import drift
from priory.lab.predictions import Predictions
from priory.lab.report import Report
from priory.lab.run import Run

Open = Callable[..., Opened]
PRICES = [(100, 10, 4), (1, 1, 0.3), (1, 1, 1), (3, 1, None), (0, 10, 4), (10, 0, 1), (5, 5, 0), (8000, 0.1, 0.05)]
ABOUT_COSTS = """([costs, n, about]) => page.runs.map((run) => {
    const said = operating.saidBy(run, costs, n);
    const counts = operating.confusionOf(run, said, n);
    return { counts, rates: operating.rates(counts, about), cost: operating.costPerMessage(counts, costs),
             sorted: n === 2 ? operating.confusionAt(run, operating.thresholds(costs)) : counts,
             drift: operating.drift(run, said, about, n) };
})"""


def plain_costs(costs: Costs) -> dict[str, Any]:
    return {"matrix": costs.matrix, "unsure": costs.unsure if math.isfinite(costs.unsure) else None}


def agrees(found: dict[str, Any], said: Predictions, costs: Costs, about: int) -> None:
    table = confusion(said, costs)
    assert found["counts"] == found["sorted"] == table.counts.tolist()
    expected = rates(table, about)
    names = {"falsePositiveRate": "false_positive_rate", "falseNegativeRate": "false_negative_rate"}
    for name, value in found["rates"].items():
        assert value == pytest.approx(getattr(expected, names.get(name, name)).estimate, abs=1e-15, nan_ok=True), name
    assert found["cost"] == pytest.approx(cost_per_example(said, costs).estimate, rel=1e-12)
    for window, here in zip(drift(said, costs), found["drift"], strict=True):
        assert (here["begin"], here["end"], here["counts"]) == (window.begin, window.end, window.counts.tolist())
        assert here["meanProbability"] == pytest.approx(window.mean_probability[about], rel=1e-12)
        assert here["share"] == window.counts[about].sum() / (window.end - window.begin)


def test_two_classes_at_many_costs(two: Opened, two_models: Report) -> None:
    for lost, missed, unsure in PRICES:
        costs = Costs(matrix=((0, missed), (lost, 0)), unsure=math.inf if unsure is None else unsure)
        found = two.run(ABOUT_COSTS, [plain_costs(costs), 2, 1])
        for judged, of_run in zip(two_models.runs, found, strict=True):
            agrees(of_run, judged.run.predictions, costs, 1)


def test_three_classes_at_many_costs(three: Opened, three_classes: Report) -> None:
    said = three_classes.runs[0].run.predictions
    for matrix, unsure in [
        (THREE_COSTS.matrix, 3),
        (THREE_COSTS.matrix, math.inf),
        (((0, 1, 1), (1, 0, 1), (1, 1, 0)), 0.4),
    ]:
        costs = Costs(THREE, matrix, unsure)
        for about in range(3):
            (found,) = three.run(ABOUT_COSTS, [plain_costs(costs), 3, about])
            agrees(found, said, costs, about)


def test_thresholds_that_a_reader_sets(two: Opened, two_models: Report) -> None:
    said = two_models.runs[0].run.predictions
    script = "(sure) => operating.confusionAt(page.runs[0], { sure, unsure: sure })"
    for p in (0.001, 0.1, 0.5, 0.9, 0.999):
        costs = Costs(matrix=((0, 1 - p), (p, 0)), unsure=math.inf)  # spam is the cheapest exactly above p
        assert two.run(script, math.log(p / (1 - p))) == confusion(said, costs).counts.tolist()


def test_the_cost_curve(two: Opened, two_models: Report) -> None:
    said = two_models.runs[0].run.predictions
    script = """([costs]) => { const { thresholds, costs: of, cheapest } = operating.costCurve(page.runs[0], costs);
        return [Array.from(thresholds, operating.probability), Array.from(of), cheapest]; }"""
    for costs in (Costs(), Costs(matrix=((0, 1), (1, 0))), Costs(matrix=((0, 50), (1, 0)))):
        thresholds, of, cheapest = two.run(script, [plain_costs(costs)])
        curve = cost_curve(said, costs)
        at = np.searchsorted(curve.thresholds, np.array(thresholds) + 1e-13, side="right") - 1
        assert of == pytest.approx(curve.cost_per_example[at].tolist(), rel=1e-12)
        assert cheapest["cost"] == pytest.approx(curve.cheapest_cost, rel=1e-12)
        assert 1 / (1 + math.exp(-cheapest["threshold"])) == pytest.approx(curve.cheapest, rel=1e-9)


def test_messages_on_the_threshold_and_messages_that_are_certain(opened: Open) -> None:
    probabilities = [0.0, 0.2, 0.4, 0.5, 0.5, 0.6, 0.8, 1.0] * 10
    said = Predictions.of(["ham", "spam"], ["ham", "spam"] * 40, [[1 - p, p] for p in probabilities])
    here = opened(Report.of([Run("RandomForest", said, "one look")], Costs(), title="Ties"))
    for prices in ((1, 1, None), (1, 1, 0.25), (0, 1, None), (1, 1, 0)):
        lost, missed, unsure = prices
        costs = Costs(matrix=((0, missed), (lost, 0)), unsure=math.inf if unsure is None else unsure)
        (found,) = here.run(ABOUT_COSTS, [plain_costs(costs), 2, 1])
        assert found["counts"] == found["sorted"] == confusion(said, costs).counts.tolist(), prices


def test_the_operating_point_at_first_is_that_of_the_figures(two: Opened, two_models: Report) -> None:
    assert two.counts() == two_models.runs[0].summary.confusion.counts.tolist()
    found = rates(two_models.runs[0].summary.confusion)
    (x,), (y,) = two.points("precision-recall")[0]
    assert (x, y) == pytest.approx((found.recall.estimate, found.precision.estimate), abs=1e-15)
    (_, (y,)) = two.points("roc")[0]
    assert y == pytest.approx(found.recall.estimate, abs=1e-15)
    assert drawn(1).truth.tolist() == two_models.runs[0].run.predictions.truth.tolist()
