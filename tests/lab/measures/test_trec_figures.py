"""TREC's figures, beside formulas written out anew and hand-computed values."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from invented import normal_world, some_predictions, unhurried, with_log_odds, with_probabilities
from scipy.special import expit, logit
from scipy.stats import norm

from priory.lab.error import LabError
from priory.lab.measures import auc, calibration_error, lam, missed_at, one_minus_roca
from priory.lab.predictions import Predictions


@pytest.mark.parametrize("seed", range(5))
def test_figures_are_those_of_the_formulas_written_out(seed: int):
    random = np.random.default_rng(seed)
    truth = random.permutation(np.repeat([0, 1], [2500, 4000]))
    log_odds = np.round(random.normal(np.where(truth, 4, -4), 3), 1 + seed)
    seen = with_log_odds(log_odds, truth)
    ham, spam = log_odds[truth == 0], log_odds[truth == 1]
    area = np.mean((spam[:, None] > ham).mean(axis=1) + (spam[:, None] == ham).mean(axis=1) / 2)
    assert one_minus_roca(seen).estimate == pytest.approx(100 * (1 - area), abs=1e-9)
    threshold = np.sort(ham)[::-1][int(0.001 * len(ham))]
    assert missed_at(seen).estimate == pytest.approx(np.mean(spam <= threshold), abs=1e-12)
    p = expit(log_odds)
    bins = np.minimum((p * 20).astype(int), 19)
    gap = sum(abs(p[bins == b].sum() - truth[bins == b].sum()) for b in range(20)) / len(truth)
    assert calibration_error(seen, n_resamples=0).estimate == pytest.approx(gap, abs=1e-9)


@unhurried
@given(some_predictions(2))
def test_one_minus_roca_is_what_the_area_lacks(predictions):
    area, found = auc(predictions), one_minus_roca(predictions)
    assert found.estimate == pytest.approx(100 * (1 - area.estimate))
    assert 0 <= found.low <= found.estimate <= found.high <= 100
    assert [found.low, found.high] == pytest.approx([100 * (1 - area.high), 100 * (1 - area.low)])


def test_missed_is_what_is_not_beyond_the_ham_at_the_given_rank():
    ham, spam = [k / 20 for k in range(10)], [0.1, 0.36, 0.4, 0.41, 0.46, 0.9]
    seen = with_probabilities(ham, spam)  # two of ten may be lost: 0.45 and 0.40, and the threshold is 0.35
    assert missed_at(seen, 0.2).estimate == float(Fraction(1, 6))
    assert missed_at(seen, 0.1).estimate == float(Fraction(3, 6))
    assert missed_at(seen, 0.0).estimate == float(Fraction(4, 6))


@unhurried
@given(some_predictions(2))
def test_the_interval_of_what_is_missed_contains_it(predictions):
    for lost in (0.0, 0.001, 0.3, 0.9):
        found = missed_at(predictions, lost)
        assert 0 <= found.low <= found.estimate <= found.high <= 1


def test_nobody_knows_from_a_hundred_ham_what_is_missed_at_one_in_a_thousand():
    few = with_probabilities([0.1] * 100, [0.9] * 100)
    many = with_probabilities([0.1] * 10000, [0.9] * 100)
    assert missed_at(few).estimate == missed_at(many).estimate == 0
    assert missed_at(few).high == pytest.approx(1)
    assert missed_at(many).high < 0.06


def test_five_in_a_thousand_can_be_told_from_less_ham_than_one_in_a_thousand():
    thousand = with_probabilities([0.1] * 1000, [0.9] * 100)
    assert missed_at(thousand).high == pytest.approx(1)
    assert missed_at(thousand, 0.005).high < 0.06


@pytest.mark.parametrize(("n_ham", "n_spam", "lost"), [(4000, 300, 0.001), (200, 200, 0.05)])
def test_the_interval_of_what_is_missed_covers_as_often_as_it_says(n_ham: int, n_spam: int, lost: float):
    random = np.random.default_rng(3)
    true = norm.cdf(norm.isf(lost) - 3)
    found = [missed_at(normal_world(random, n_ham, n_spam, 3), lost) for _ in range(200)]
    assert np.mean([each.low <= true <= each.high for each in found]) >= 0.95


def test_lam_averages_both_errors_on_the_scale_of_log_odds():
    seen = with_probabilities([0.1] * 98 + [0.9] * 2, [0.2] * 10 + [0.8] * 40)
    lost, missed = Fraction(5, 2) / Fraction(197, 2), Fraction(21, 2) / Fraction(81, 2)  # odds, half an example added
    found = lam(seen)
    assert found.estimate == pytest.approx(expit((np.log(float(lost)) + np.log(float(missed))) / 2))
    spread = np.sqrt(2 / 5 + 2 / 197 + 2 / 21 + 2 / 81) / 2
    assert found.high == pytest.approx(expit(logit(found.estimate) + norm.ppf(0.975) * spread))
    assert found.low == pytest.approx(expit(logit(found.estimate) - norm.ppf(0.975) * spread))


def test_at_threshold_one_all_spam_is_missed_and_at_zero_all_ham_is_lost():
    seen = with_probabilities([0.1] * 9, [0.9] * 9)
    odds = np.log(0.5 / 9.5)
    assert lam(seen, 1).estimate == lam(seen, 0).estimate == pytest.approx(expit((odds - odds) / 2))
    assert lam(seen).estimate == pytest.approx(expit(odds))


def test_the_interval_of_lam_covers_about_as_often_as_it_says():
    random = np.random.default_rng(5)
    found = [lam(normal_world(random, 150, 150, 2)) for _ in range(600)]
    assert 0.93 <= np.mean([each.low <= norm.sf(1) <= each.high for each in found]) <= 0.975


@pytest.mark.parametrize(("figure", "name"), [(one_minus_roca, "1-ROCA%"), (missed_at, "missed_at"), (lam, "lam%")])
def test_two_classes_are_needed_and_both_of_them(figure, name: str):
    with pytest.raises(LabError, match=rf"{name} needs two classes, and there are 3 \(a, b, c\): use a figure of"):
        figure(Predictions.of("abc", "abc", np.eye(3)))
    with pytest.raises(LabError, match="no spam among 120 examples"):
        figure(with_probabilities([0.1] * 120, []))


def test_what_is_no_share_or_no_probability_is_refused():
    seen = with_probabilities([0.1], [0.9])
    with pytest.raises(LabError, match=r"the share of ham that may be lost is from 0 to below 1, not 1\.0"):
        missed_at(seen, 1.0)
    with pytest.raises(LabError, match=r"a threshold is a probability from 0 to 1, not 50"):
        lam(seen, 50)
