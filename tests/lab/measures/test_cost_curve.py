"""What mistakes cost, and at which threshold they cost least."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import normal_world, some_predictions, unhurried, with_probabilities

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.measures import cost_curve, cost_per_example, said
from priory.lab.predictions import Predictions

EQUAL = Costs(("a", "b"), ((0, 1), (1, 0)), unsure=1000)


def test_each_mistake_costs_its_price():
    seen = with_probabilities([0.1] * 90 + [0.5] * 8 + [0.99] * 2, [0.1] * 5 + [0.5] * 10 + [0.99] * 35)
    expected = Fraction(2 * 100 + 5 * 10 + 18 * 4, 150)
    found = cost_per_example(seen, Costs())
    assert found.estimate == pytest.approx(float(expected), abs=1e-12)
    assert found.low < found.estimate < found.high


@unhurried
@given(st.data(), st.integers(2, 4))
def test_the_cost_is_the_mean_price_of_what_was_said(data: st.DataObject, n_classes: int):
    seen = data.draw(some_predictions(n_classes))
    matrix = tuple(tuple(float(abs(i - j) * (1 + j)) for i in range(n_classes)) for j in range(n_classes))
    costs = Costs(seen.classes, matrix, unsure=0.7)
    prices = np.vstack([matrix, np.full(n_classes, 0.7)])[said(seen, costs), seen.truth]
    found = cost_per_example(seen, costs)
    assert found.estimate == pytest.approx(prices.mean(), abs=1e-12)
    assert found.low <= found.estimate <= found.high


def test_a_ham_that_was_not_lost_may_be_lost_yet():
    seen = with_probabilities([0.01] * 1000, [0.99] * 1000)
    found = cost_per_example(seen, Costs())
    assert found.estimate == 0
    assert 0.05 < found.high < 0.5  # up to some three in a thousand of the ham, each at 100, in half of the mail


def test_what_may_not_be_said_has_no_price():
    seen = with_probabilities([0.1, 0.9], [0.95, 0.2])
    assert np.isfinite(cost_per_example(seen, Costs(unsure=np.inf)).high)


@pytest.mark.slow
def test_the_interval_of_the_cost_covers_about_as_often_as_it_says():
    random = np.random.default_rng(1)
    true = cost_per_example(normal_world(random, 400_000, 200_000, 3), Costs()).estimate
    found = [cost_per_example(normal_world(random, 800, 400, 3), Costs()) for _ in range(200)]
    assert 0.92 <= np.mean([each.low <= true <= each.high for each in found]) <= 0.98


def test_at_threshold_one_all_spam_is_missed_and_at_zero_all_ham_is_lost():
    curve = cost_curve(with_probabilities([0.1, 0.4, 0.6], [0.3, 0.9]), Costs())
    assert curve.at(1) == float(Fraction(2 * 10, 5))
    assert curve.at(0) == float(Fraction(3 * 100, 5))
    assert curve.at(0.5) == float(Fraction(1 * 100 + 1 * 10, 5))


def test_the_costs_imply_ten_elevenths():
    curve = cost_curve(with_probabilities([0.1, 0.95], [0.9, 0.99]), Costs())
    assert curve.implied == pytest.approx(10 / 11)
    assert curve.implied_cost == float(Fraction(100 + 10, 4))
    assert curve.cheapest == pytest.approx((0.95 + 0.99) / 2)
    assert curve.cheapest_cost == float(Fraction(10, 4))
    assert curve.warning == "chosen on these 4 examples, so its cost is too good to be true: judge it on others"


def test_of_several_cheapest_ranges_the_middle_of_the_widest_is_taken():
    curve = cost_curve(Predictions.of("ab", "abab", [[1 - p, p] for p in (0.2, 0.3, 0.5, 0.9)]), EQUAL)
    assert curve.cheapest_cost == 1 / 4
    assert curve.cheapest == pytest.approx((0.5 + 0.9) / 2)  # 0.2 to 0.3 is as cheap


def test_neighbouring_ranges_of_equal_cost_are_one():
    """At 0.5 there is one of both classes: the cost is the same on both sides, and the range goes on."""
    curve = cost_curve(Predictions.of("ab", "aabb", [[1 - p, p] for p in (0.1, 0.5, 0.5, 0.9)]), EQUAL)
    assert curve.cheapest == pytest.approx((0.1 + 0.9) / 2)


def test_certain_examples_leave_the_threshold_at_the_edge():
    never = cost_curve(Predictions.of("ab", "aab", [[0, 1], [0, 1], [0, 1]]), EQUAL)
    assert (never.cheapest, never.cheapest_cost) == (1.0, 1 / 3)
    always = cost_curve(Predictions.of("ab", "abb", [[0, 1], [0, 1], [0, 1]]), EQUAL)
    assert (always.cheapest, always.cheapest_cost) == (0.5, 1 / 3)


@unhurried
@given(some_predictions(2), st.sampled_from([0, 1, 10]), st.sampled_from([1, 5, 100]))
def test_no_threshold_is_cheaper_and_every_one_costs_what_it_says(seen, missed: float, lost: float):
    costs = Costs(seen.classes, ((0, missed), (lost, 0)), unsure=1000)
    curve = cost_curve(seen, costs)
    p = seen.probabilities[:, 1]
    for t in (*np.linspace(0, 1, 21), *p[:5], curve.cheapest, curve.implied):
        expected = np.where(p > t, np.where(seen.truth == 0, lost, 0), np.where(seen.truth == 1, missed, 0)).mean()
        assert curve.at(t) == pytest.approx(expected, abs=1e-12)
        assert curve.cheapest_cost <= expected + 1e-12
    assert curve.at(curve.cheapest) == pytest.approx(curve.cheapest_cost, abs=1e-12)
    assert curve.at(curve.implied) == curve.implied_cost


def test_what_is_decided_without_unsure_costs_what_the_curve_says_at_the_implied_threshold():
    seen = normal_world(np.random.default_rng(0), 500, 500, 2)
    costs = Costs(unsure=1000)
    assert cost_curve(seen, costs).implied_cost == pytest.approx(cost_per_example(seen, costs).estimate, abs=1e-12)


def test_questions_that_have_no_answer_are_refused():
    with pytest.raises(LabError, match=r"a cost curve needs two classes, and there are 3 \(a, b, c\)"):
        cost_curve(Predictions.of("abc", "abc", np.eye(3)), EQUAL)
    with pytest.raises(LabError, match="no spam among 2 examples"):
        cost_curve(with_probabilities([0.1, 0.2], []), Costs())
    with pytest.raises(LabError, match="the costs are about a, b, the predictions about ham, spam"):
        cost_curve(with_probabilities([0.1], [0.2]), EQUAL)
    with pytest.raises(LabError, match="there are no examples to judge"):
        cost_per_example(with_probabilities([0.1], []).take([]), Costs())
