"""Two runs over the same examples."""

import json
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import HAM_OR_SPAM, some_predictions, unhurried, with_log_odds, with_probabilities
from sklearn.metrics import roc_auc_score

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.measures import (
    auc,
    bootstrap_difference,
    brier,
    calibration_error,
    delong,
    disagreements,
    mcnemar,
    said,
)
from priory.lab.predictions import Predictions


def spoiled(seen: Predictions, random: np.random.Generator, spread: float) -> Predictions:
    return with_log_odds(seen.log_odds() + random.normal(scale=spread, size=len(seen)), seen.truth)


def two_runs(random: np.random.Generator, n: int, spreads: tuple[float, float]) -> tuple[Predictions, Predictions]:
    truth = np.arange(n) % 2
    shared = with_log_odds(random.normal(np.where(truth, 1.5, -1.5), 1), truth)
    return spoiled(shared, random, spreads[0]), spoiled(shared, random, spreads[1])


def test_mcnemar_is_a_coin_for_each_example_that_just_one_gets_wrong():
    ham = ["ham"] * 12
    right, wrong = [0.9, 0.1], [0.1, 0.9]
    one = Predictions.of(HAM_OR_SPAM, ham, [wrong] * 1 + [right] * 9 + [wrong] * 2)
    two = Predictions.of(HAM_OR_SPAM, ham, [right] * 1 + [wrong] * 7 + [right] * 2 + [wrong] * 2)
    comparison = mcnemar(one, two)
    assert (comparison.one, comparison.two) == (float(Fraction(3, 12)), float(Fraction(9, 12)))
    assert comparison.difference.estimate == float(Fraction(1 - 7, 12))
    assert comparison.p_value == pytest.approx(float(2 * Fraction(1 + 8, 2**8)))


def test_bonett_and_price_add_one_example_to_either_side():
    ham = ["ham"] * 100
    one = Predictions.of(HAM_OR_SPAM, ham, [[0.1, 0.9]] * 9 + [[0.9, 0.1]] * 91)
    two = Predictions.of(HAM_OR_SPAM, ham, [[0.9, 0.1]] * 98 + [[0.1, 0.9]] * 2)
    b, c = 10 / 102, 3 / 102
    margin = 1.959963984540054 * np.sqrt((b + c - (b - c) ** 2) / 102)
    difference = mcnemar(one, two).difference
    assert [difference.low, difference.high] == pytest.approx([b - c - margin, b - c + margin])


def test_with_costs_what_is_unsure_is_an_error():
    one, two = with_probabilities([0.5], [0.99]), with_probabilities([0.1], [0.99])
    assert mcnemar(one, two).one == 0
    assert mcnemar(one, two, Costs()).one == 0.5


@unhurried
@given(st.data())
def test_swapping_the_runs_turns_the_sign(data: st.DataObject):
    one = data.draw(some_predictions(2))
    two = Predictions(one.classes, one.truth, np.roll(one.log_probabilities, 1, axis=0), one.names)
    for test in (mcnemar, delong):
        there, back = test(one, two), test(two, one)
        assert there.difference.estimate == pytest.approx(-back.difference.estimate, abs=1e-12)
        assert there.p_value == pytest.approx(back.p_value, nan_ok=True)
        if not np.isnan(there.p_value):
            assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-12)


@unhurried
@given(st.data())
def test_delong_is_the_covariance_of_placements(data: st.DataObject):
    one = data.draw(some_predictions(2))
    two = Predictions(one.classes, one.truth, np.roll(one.log_probabilities, 1, axis=0), one.names)
    positive, kernels = one.truth == 1, []
    for run in (one, two):
        x, y = run.log_odds()[positive][:, None], run.log_odds()[~positive][None, :]
        kernels.append((x > y) + 0.5 * (x == y))
    covariance = sum(np.cov([k.mean(axis) for k in kernels]) / kernels[0].shape[1 - axis] for axis in (0, 1))
    spread = np.sqrt(max(np.array([1, -1]) @ covariance @ np.array([1, -1]), 0))
    comparison = delong(one, two)
    assert comparison.difference.estimate == pytest.approx(kernels[0].mean() - kernels[1].mean(), abs=1e-12)
    if spread > 1e-6:
        assert comparison.difference.high - comparison.difference.estimate == pytest.approx(1.959963984540054 * spread)


def test_from_one_spam_nobody_knows_how_two_runs_differ():
    comparison = delong(with_probabilities([0.1, 0.2, 0.6], [0.5]), with_probabilities([0.1, 0.2, 0.3], [0.5]))
    assert comparison.difference.estimate == pytest.approx(-1 / 3)
    assert np.isnan([comparison.difference.low, comparison.difference.high, comparison.p_value]).all()


def test_the_same_run_twice_does_not_differ():
    seen = with_probabilities([0.1, 0.4, 0.6], [0.5, 0.8, 0.9])
    for comparison in (mcnemar(seen, seen), delong(seen, seen), bootstrap_difference(auc, seen, seen)):
        assert comparison.difference.estimate == 0
        assert comparison.p_value == 1
    assert disagreements(seen, seen) == []


def test_between_perfect_and_constant_delong_knows_nothing():
    comparison = delong(with_probabilities([0.1] * 3, [0.9] * 3), with_probabilities([0.5] * 3, [0.5] * 3))
    assert comparison.difference.estimate == 0.5
    assert np.isnan([comparison.difference.low, comparison.p_value]).all()
    assert comparison.as_dict()["p_value"] is None
    assert json.loads(json.dumps(comparison.as_dict()))["difference"] == {"estimate": 0.5, "low": None, "high": None}


@pytest.mark.slow
@pytest.mark.parametrize("test", [mcnemar, delong, partial(bootstrap_difference, brier, n_resamples=99)])
def test_equals_are_called_different_as_rarely_as_the_level_says(test):
    random = np.random.default_rng(6)
    p_values = np.array([test(*two_runs(random, 100, (1, 1))).p_value for _ in range(100)])
    assert np.mean(p_values < 0.05) <= 0.1
    assert np.mean(p_values < 0.5) > 0.25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "figure"), [(mcnemar, lambda p: p.errors.mean()), (delong, lambda p: auc(p).estimate)]
)
def test_the_interval_of_the_difference_covers_about_as_often_as_it_says(test, figure):
    random = np.random.default_rng(7)
    large = two_runs(random, 400_000, (0.5, 2))
    true = figure(large[0]) - figure(large[1])
    intervals = [test(*two_runs(random, 200, (0.5, 2))).difference for _ in range(400)]
    assert 0.92 <= np.mean([interval.low <= true <= interval.high for interval in intervals]) <= 0.985


@pytest.mark.slow
def test_the_bootstrap_takes_any_figure_and_agrees_with_delong():
    one, two = two_runs(np.random.default_rng(0), 400, (0.5, 2))
    drawn = bootstrap_difference(lambda p: roc_auc_score(p.truth, p.log_odds()), one, two)
    exact = delong(one, two)
    assert drawn.difference.estimate == pytest.approx(exact.difference.estimate)
    assert [drawn.difference.low, drawn.difference.high] == pytest.approx(
        [exact.difference.low, exact.difference.high], abs=0.012
    )
    assert drawn.p_value < 0.05
    assert exact.p_value < 0.05
    off = bootstrap_difference(partial(calibration_error, n_resamples=0), one, two, n_resamples=50)
    assert off.one == calibration_error(one).estimate


def test_disagreements_come_with_the_strongest_first():
    one = with_probabilities([0.1, 0.6, 0.2], [0.9, 0.4])
    two = with_probabilities([0.2, 0.3, 0.9], [0.8, 0.6])
    strongest_first = disagreements(one, two)
    assert [disagreement.number for disagreement in strongest_first] == [2, 1, 4]
    first = strongest_first[0]
    assert (first.name, first.truth, first.said_one, first.said_two) == ("row 2", "ham", "ham", "spam")
    assert first.one == pytest.approx((0.8, 0.2))
    assert first.two == pytest.approx((0.1, 0.9))


@unhurried
@given(some_predictions(3))
def test_disagreements_are_where_different_things_are_said(one):
    two = Predictions(one.classes, one.truth, np.roll(one.log_probabilities, 1, axis=0), one.names)
    costs = Costs(one.classes, ((0, 1, 2), (3, 0, 4), (5, 6, 0)), unsure=1.5)
    for prices in (None, costs):
        numbers = [disagreement.number for disagreement in disagreements(one, two, prices)]
        assert sorted(numbers) == np.flatnonzero(said(one, prices) != said(two, prices)).tolist()


@pytest.mark.parametrize("compare", [mcnemar, delong, partial(bootstrap_difference, auc), disagreements])
def test_runs_over_different_examples_are_refused(compare):
    one = Predictions.of(HAM_OR_SPAM, ["ham", "spam"], [[0.9, 0.1]] * 2, ["inbox:1", "inbox:2"])
    other_name = Predictions.of(HAM_OR_SPAM, ["ham", "spam"], [[0.9, 0.1]] * 2, ["inbox:1", "inbox:7"])
    other_truth = Predictions.of(HAM_OR_SPAM, ["ham", "ham"], [[0.9, 0.1]] * 2, ["inbox:1", "inbox:2"])
    other_classes = Predictions.of(("ham", "junk"), ["ham", "junk"], [[0.9, 0.1]] * 2, ["inbox:1", "inbox:2"])
    with pytest.raises(LabError, match="over different examples: where one has inbox:2, the other has inbox:7"):
        compare(one, other_name)
    with pytest.raises(LabError, match="have different labels: inbox:2 is spam in one and ham in the other"):
        compare(one, other_truth)
    with pytest.raises(LabError, match="one run is about ham, spam, the other about ham, junk"):
        compare(one, other_classes)
    with pytest.raises(LabError, match="one run has 2 examples, the other 1"):
        compare(one, one.take([0]))
    with pytest.raises(LabError, match="there are no examples to judge"):
        compare(one.take([]), one.take([]))
