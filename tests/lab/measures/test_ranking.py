"""Curves and the area below them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from invented import normal_world, some_predictions, unhurried, with_log_odds, with_probabilities
from scipy.stats import norm
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from priory.lab.error import LabError
from priory.lab.measures import auc, macro_auc, precision_recall, roc
from priory.lab.measures.ranking import area_and_influences, variance
from priory.lab.predictions import Predictions


def test_the_area_is_the_share_of_pairs_in_the_right_order_and_ties_count_half():
    seen = with_probabilities([0.1, 0.4, 0.6], [0.4, 0.5, 0.9, 1.0])
    pairs = Fraction(1, 1) + Fraction(1, 2) + 0 + (1 + 1 + 0) + 3 + 3
    assert auc(seen).estimate == float(pairs / 12)


def test_the_curve_goes_from_nothing_to_everything():
    """340-16: at t = 1 nothing is said to be spam, at t = 0 everything."""
    curve = roc(with_probabilities([0.2, 0.7], [0.6, 0.9]))
    assert (curve.x[0], curve.y[0], curve.thresholds[0]) == (0, 0, np.inf)
    assert (curve.x[-1], curve.y[-1]) == (1, 1)
    assert curve.thresholds[-1] == pytest.approx(np.log(0.2 / 0.8))


def test_whoever_guesses_is_on_the_diagonal():
    guessed = roc(with_probabilities([0.3] * 5, [0.3] * 3))
    assert np.array_equal(guessed.x, guessed.y)
    random = np.random.default_rng(4)
    curve = roc(with_log_odds(random.normal(size=20000), np.arange(20000) % 2))
    assert np.abs(curve.x - curve.y).max() < 0.03
    assert auc(with_probabilities([0.3] * 5, [0.3] * 3)).estimate == 0.5


@pytest.mark.slow
@unhurried
@given(some_predictions(3))
def test_curves_are_those_of_scikit_learn_also_for_certain_examples(predictions):
    for about in range(3):
        log_odds, positive = predictions.log_odds(about), predictions.truth == about
        finite = np.clip(log_odds, -100, 100)
        x, y, thresholds = roc_curve(positive, finite)
        found = roc(predictions, about)
        assert np.array_equal([found.x, found.y], [x, y])
        assert np.array_equal(np.clip(found.thresholds[1:], -100, 100), thresholds[1:])
        precision, recall, _ = precision_recall_curve(positive, finite)
        found = precision_recall(predictions, about)
        assert np.array_equal([found.x, found.y], [recall, precision])
        assert len(found.thresholds) == len(found.x)
        assert auc(predictions, about).estimate == pytest.approx(roc_auc_score(positive, finite), abs=1e-12)


@unhurried
@given(some_predictions(4))
def test_the_mean_area_is_that_of_scikit_learn(predictions):
    areas = [
        roc_auc_score(predictions.truth == about, np.clip(predictions.log_odds(about), -100, 100)) for about in range(4)
    ]
    assert macro_auc(predictions).estimate == pytest.approx(np.mean(areas), abs=1e-12)


@unhurried
@given(some_predictions(2))
def test_with_two_classes_the_mean_area_is_the_area(predictions):
    one, mean = auc(predictions), macro_auc(predictions)
    assert [mean.estimate, mean.low, mean.high] == pytest.approx([one.estimate, one.low, one.high], abs=1e-9)


@unhurried
@given(some_predictions(2))
def test_only_the_order_counts_and_swapping_classes_turns_nothing(predictions):
    log_odds = np.clip(predictions.log_odds(), -50, 50)
    curve, other = (roc(with_log_odds(x, predictions.truth)) for x in (log_odds, log_odds**3 / 100 - 7))
    assert np.array_equal([curve.x, curve.y], [other.x, other.y])
    assert auc(with_log_odds(log_odds**3, predictions.truth)) == auc(with_log_odds(log_odds, predictions.truth))
    assert auc(predictions, 0).estimate == pytest.approx(auc(predictions, 1).estimate, abs=1e-12)


def brute_force_variance(log_odds: np.ndarray, positive: np.ndarray) -> float:
    """DeLong's equations as they are printed: all pairs, then the variance of both kinds of row means."""
    x, y = log_odds[positive][:, None], log_odds[~positive][None, :]
    kernel = (x > y) + 0.5 * (x == y)
    return kernel.mean(1).var(ddof=1) / kernel.shape[0] + kernel.mean(0).var(ddof=1) / kernel.shape[1]


@unhurried
@given(some_predictions(2))
def test_the_fast_variance_is_that_of_all_pairs(predictions):
    log_odds, positive = predictions.log_odds(), predictions.truth == 1
    _, influences = area_and_influences(log_odds, positive)
    assert variance(influences, positive) == pytest.approx(brute_force_variance(log_odds, positive), abs=1e-12)


def test_the_interval_covers_about_as_often_as_it_says():
    random = np.random.default_rng(11)
    true = norm.cdf(1.5 / np.sqrt(2))
    found = [auc(normal_world(random, 120, 60, 1.5)) for _ in range(600)]
    assert 0.93 <= np.mean([each.low <= true <= each.high for each in found]) <= 0.975


@pytest.mark.slow
def test_the_interval_of_the_mean_area_covers_about_as_often_as_it_says():
    random = np.random.default_rng(12)
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])

    def draw(n: int) -> Predictions:
        truth = np.repeat(np.arange(3), n)
        x = random.normal(centres[truth])
        logs = -((x[:, None, :] - centres) ** 2).sum(axis=2) / 2
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        return Predictions(("a", "b", "c"), truth, logs, tuple(map(str, truth)))

    true = macro_auc(draw(200_000)).estimate
    found = [macro_auc(draw(60)) for _ in range(400)]
    assert 0.925 <= np.mean([each.low <= true <= each.high for each in found]) <= 0.98


def test_a_perfect_ranking_may_be_luck():
    few, many = auc(with_probabilities([0.1] * 5, [0.9] * 7)), auc(with_probabilities([0.1] * 500, [0.9] * 700))
    assert (few.estimate, few.high) == (1, 1)
    assert few.low == pytest.approx(0.025 ** (1 / 5))
    assert many.low > 0.99
    worst = auc(with_probabilities([0.9] * 5, [0.1] * 7))
    assert (worst.estimate, worst.low, worst.high) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 5)))


def test_one_example_of_a_class_says_nothing_about_its_spread():
    found = auc(with_probabilities([0.1, 0.5], [0.3]))
    assert (found.estimate, found.low, found.high) == (0.5, 0, 1)


@pytest.mark.parametrize("measure", [roc, precision_recall, auc, macro_auc])
def test_one_class_alone_cannot_be_ranked(measure):
    with pytest.raises(LabError, match="no spam among 4 examples: figures about one class against another need"):
        measure(with_probabilities([0.1] * 4, []))
    with pytest.raises(LabError, match="there are no examples to judge"):
        measure(Predictions.of("ab", [], np.empty((0, 2))))


def test_a_missing_class_of_three_is_named():
    with pytest.raises(LabError, match="no c among 2 examples"):
        macro_auc(Predictions.of("abc", "ab", np.full((2, 3), 1 / 3)))
    with pytest.raises(LabError, match="no class but a among 1 examples"):
        macro_auc(Predictions.of("a", "a", [[1.0]]))
