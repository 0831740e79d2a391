"""All figures of a run."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from invented import normal_world, some_predictions, unhurried, with_log_odds, with_probabilities

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.measures import (
    auc,
    brier,
    calibration_error,
    confusion,
    cost_per_example,
    lam,
    log_loss,
    macro_auc,
    missed_at,
    one_minus_roca,
    rates,
    said,
    summary,
)
from priory.lab.predictions import Predictions

OF_TWO = [
    "1-ROCA%",
    "h=0.1%",
    "h=0.5%",
    "lam%",
    "ham lost %",
    "spam missed %",
    "unsure %",
    "cost per message",
    "accuracy %",
    "AUC",
    "ECE%",
    "Brier",
    "log loss",
    "precision %",
    "recall %",
    "Jaccard %",
]


def test_of_two_classes_every_figure_is_there_in_its_order():
    seen = normal_world(np.random.default_rng(0), 300, 200, 3)
    found, shares = summary(seen, Costs()), rates(confusion(seen, Costs()))
    assert list(found.figures) == OF_TWO
    assert list(found.figures.values()) == [
        one_minus_roca(seen),
        missed_at(seen).times(100),
        missed_at(seen, lost=0.005).times(100),
        lam(seen).times(100),
        shares.false_positive_rate.times(100),
        shares.false_negative_rate.times(100),
        shares.unsure.times(100),
        cost_per_example(seen, Costs()),
        rates(confusion(seen)).accuracy.times(100),
        auc(seen),
        calibration_error(seen).times(100),
        brier(seen),
        log_loss(seen),
        shares.precision.times(100),
        shares.recall.times(100),
        shares.jaccard.times(100),
    ]
    assert found.n_by_class == {"ham": 300, "spam": 200}
    assert found.confusion.said == ("ham", "spam", "unsure")


def test_what_is_said_by_costs_is_counted_by_what_is_true():
    seen = normal_world(np.random.default_rng(1), 3000, 5000, 4)
    words = np.array(["ham", "spam", "unsure"])[said(seen, Costs())]
    figures = summary(seen, Costs()).figures
    assert figures["ham lost %"].estimate == pytest.approx(100 * np.mean(words[seen.truth == 0] == "spam"))
    assert figures["spam missed %"].estimate == pytest.approx(100 * np.mean(words[seen.truth == 1] == "ham"))
    assert figures["unsure %"].estimate == pytest.approx(100 * np.mean(words == "unsure"))


@settings(unhurried, max_examples=20)
@given(some_predictions(3))
def test_of_more_classes_those_figures_are_there_that_make_sense(seen):
    costs = Costs(seen.classes, ((0, 1, 2), (3, 0, 4), (5, 6, 0)), unsure=1.5)
    figures = summary(seen, costs).figures
    assert list(figures) == ["unsure %", "cost per message", "accuracy %", "AUC", "ECE%", "Brier", "log loss"]
    assert figures["AUC"] == macro_auc(seen)
    assert figures["ECE%"] == calibration_error(seen, about=None).times(100)
    assert figures["accuracy %"].estimate == pytest.approx(100 * (1 - seen.errors.mean()))


def test_without_costs_there_is_no_cost_and_nobody_is_unsure():
    figures = summary(with_probabilities([0.1, 0.2], [0.9, 0.4])).figures
    assert list(figures) == [name for name in OF_TWO if name not in ("unsure %", "cost per message")]


@settings(unhurried, max_examples=20)
@given(some_predictions(2))
def test_every_figure_is_within_its_interval_also_for_certain_examples(seen):
    costs = Costs(seen.classes)
    for name, each in summary(seen, costs).figures.items():
        if not np.isnan(each.estimate):
            assert each.low <= each.estimate <= each.high, name


def test_the_same_seed_gives_the_same_summary_and_json_can_hold_it():
    seen = with_log_odds([-np.inf, -1, 0, 2, np.inf, np.inf], [0, 0, 0, 1, 1, 1])
    plain = summary(seen, Costs(), seed=3).as_dict()
    assert plain == summary(seen, Costs(), seed=3).as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["n_by_class"] == {"ham": 3, "spam": 3}


def test_one_class_alone_and_nothing_at_all_are_refused():
    with pytest.raises(LabError, match="no spam among 120 examples"):
        summary(with_probabilities([0.1] * 120, []), Costs())
    with pytest.raises(LabError, match="no c among 4 examples"):
        summary(Predictions.of("abc", "abab", np.full((4, 3), 1 / 3)))
    with pytest.raises(LabError, match="there are no examples to judge"):
        summary(with_probabilities([0.1], []).take([]), Costs())
