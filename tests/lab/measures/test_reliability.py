"""Whether probabilities mean what they say."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from invented import HAM_OR_SPAM, normal_world, some_predictions, unhurried, with_log_odds, with_probabilities
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from priory.lab.error import LabError
from priory.lab.measures import brier, calibration_error, log_loss, reliability
from priory.lab.measures.interval import share
from priory.lab.predictions import Predictions


def test_bins_have_their_mean_probability_and_share():
    curve = reliability(with_probabilities([0.1, 0.2, 0.7], [0.05, 0.8, 1.0]), n_bins=4)
    assert curve.n.tolist() == [3, 1, 2]  # none from 0.25 to below 0.5
    assert curve.mean_probability == pytest.approx([float(Fraction(35, 300)), 0.7, 0.9])
    assert curve.share.tolist() == [1 / 3, 0, 1]
    assert [curve.low[0], curve.high[0]] == [share(1, 3).low, share(1, 3).high]


def test_the_curve_is_that_of_scikit_learn():
    random = np.random.default_rng(2)
    seen = normal_world(random, 300, 200, 2)
    shares, means = calibration_curve(seen.truth, seen.probabilities[:, 1], n_bins=20)
    curve = reliability(seen)
    assert curve.share == pytest.approx(shares, abs=1e-12)
    assert curve.mean_probability == pytest.approx(means, abs=1e-12)


def test_the_error_is_the_mean_distance_of_the_bins():
    seen = with_probabilities([0.1, 0.2, 0.7], [0.05, 0.8, 1.0])
    expected = Fraction(abs(35 - 100) + 70 + abs(180 - 200), 600)
    assert calibration_error(seen, n_bins=4).estimate == pytest.approx(float(expected), abs=1e-12)


def test_of_many_classes_the_most_probable_one_is_asked_how_often_it_is_true():
    seen = Predictions.of("abc", "abc", [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    assert calibration_error(seen, about=None).estimate == pytest.approx(abs(0.8 - 2 / 3))
    assert reliability(seen, about=None).n.tolist() == [3]


@unhurried
@given(st.data(), st.integers(2, 4))
def test_scores_are_those_of_scikit_learn(data: st.DataObject, n_classes: int):
    seen = data.draw(some_predictions(n_classes))
    p, labels = seen.probabilities, list(range(n_classes))
    if n_classes == 2:
        expected = brier_score_loss(seen.truth, p[:, 1])
    else:
        expected = brier_score_loss(seen.truth, p, labels=labels)
    assert brier(seen).estimate == pytest.approx(expected, abs=1e-12)
    assert log_loss(seen).estimate == pytest.approx(sklearn_log_loss(seen.truth, p, labels=labels), abs=1e-12)


@unhurried
@given(some_predictions(3))
def test_intervals_contain_their_estimates(seen):
    for found in (brier(seen), log_loss(seen), calibration_error(seen, n_resamples=20)):
        assert 0 <= found.low <= found.estimate <= found.high


def test_the_true_probabilities_have_the_least_loss():
    random = np.random.default_rng(0)
    honest = normal_world(random, 20000, 20000, 2)
    for shift in (-1, 1):
        bold = with_log_odds(honest.log_odds() + shift, honest.truth)
        assert log_loss(honest).estimate < log_loss(bold).estimate
        assert brier(honest).estimate < brier(bold).estimate


def test_without_any_loss_there_may_still_be_some():
    perfect = with_probabilities([0.0] * 10, [1.0] * 10)
    found = brier(perfect)
    assert (found.estimate, found.low) == (0, 0)
    assert found.high == share(0, 20).high
    assert log_loss(perfect).high == pytest.approx(36.04 * share(0, 20).high, rel=1e-3)


def test_one_example_has_a_loss_but_no_interval():
    found = brier(with_probabilities([0.5], []))
    assert found.estimate == 0.25
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_intervals_cover_about_as_often_as_they_say(shift: float):
    random = np.random.default_rng(8)
    large = normal_world(random, 400_000, 200_000, 2, shift)
    draws = [normal_world(random, 400, 200, 2, shift) for _ in range(200)]
    for figure, least in ((brier, 0.91), (log_loss, 0.91)):
        true = figure(large).estimate
        assert np.mean([figure(each).low <= true <= figure(each).high for each in draws]) >= least
    true = calibration_error(large, n_resamples=0).estimate
    found = [calibration_error(each, n_resamples=200) for each in draws]
    assert np.mean([each.low <= true <= each.high for each in found]) >= 0.91


@pytest.mark.slow
def test_with_two_mistakes_on_average_the_intervals_of_losses_are_too_short_as_the_page_says():
    random = np.random.default_rng(10)
    draws = [normal_world(random, 1000, 1000, 6.18) for _ in range(400)]  # one mistake in a thousand
    large = [normal_world(random, 200_000, 200_000, 6.18) for _ in range(5)]
    for figure, stated in ((brier, 0.85), (log_loss, 0.81)):
        true = np.mean([figure(each).estimate for each in large])
        assert np.mean([figure(each).low <= true <= figure(each).high for each in draws]) == pytest.approx(
            stated, abs=0.05
        )


def test_the_interval_of_the_error_reaches_zero_when_the_probabilities_are_right():
    random = np.random.default_rng(9)
    found = [calibration_error(normal_world(random, 300, 300, 1.5), n_resamples=200) for _ in range(50)]
    assert np.mean([each.low == 0 for each in found]) >= 0.9
    assert calibration_error(normal_world(random, 300, 300, 1.5, shift=2)).low > 0.05


def test_questions_that_have_no_answer_are_refused():
    nothing = Predictions.of(HAM_OR_SPAM, [], np.empty((0, 2)))
    for figure in (reliability, calibration_error, brier, log_loss):
        with pytest.raises(LabError, match="there are no examples to judge"):
            figure(nothing)
    with pytest.raises(LabError, match="the number of bins must be 1 or more, not 0"):
        reliability(with_probabilities([0.1], [0.9]), n_bins=0)
    with pytest.raises(LabError, match="there is no class 5: the classes ham, spam are 0 to 1"):
        calibration_error(with_probabilities([0.1], [0.9]), about=5)
