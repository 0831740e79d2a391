"""The bound covers as often as it says, the estimate finds what choosing did, and both are exact where they can be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom
from sklearn.tree import DecisionTreeClassifier

from priory.lab.measures.interval import share
from priory.lab.trust.optimism import (
    expected_error,
    hoeffding_bound,
    least_errors,
    lower_bound,
    optimism_of_winner,
    rate_interval,
    upper_bound,
)

N_TIMES = 4000
SLACK = 3 * math.sqrt(0.05 * 0.95 / N_TIMES)  # three standard errors of a coverage of 95 % in so many simulations

looks = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
numbers_of_models = st.integers(1, 10**12)


def covered(k: np.ndarray, n: int, m: int, truth: np.ndarray | float) -> float:
    """How often the bound is not below the truth."""
    bounds = np.array([upper_bound(i, n, m) for i in range(n + 1)])
    return float((bounds[k] >= truth).mean())


@given(looks, numbers_of_models)
def test_the_bound_leaves_exactly_its_share_of_the_doubt(look, m):
    k, n = look
    bound = upper_bound(k, n, m)
    assert bound == 1 if k == n else binom.cdf(k, n, bound) == pytest.approx(0.05 / m, rel=1e-6)


@given(looks, numbers_of_models)
def test_hoeffding_is_never_tighter(look, m):
    assert upper_bound(*look, m) <= hoeffding_bound(*look, m) + 1e-12


@given(looks)
def test_for_one_model_the_limits_are_those_of_clopper_and_pearson(look):
    k, n = look
    found, exact = expected_error(k, n), share(k, n)
    assert (found.estimate, found.low, found.high) == pytest.approx((exact.estimate, exact.low, exact.high), abs=1e-12)
    assert lower_bound(k, n, 0.975) == pytest.approx(exact.low, abs=1e-12)
    assert upper_bound(k, n, level=0.975) == pytest.approx(exact.high, abs=1e-12)


def test_by_hand_no_error_in_ten_leaves_the_tenth_root():
    assert upper_bound(0, 10) == pytest.approx(1 - 0.05 ** (1 / 10))
    assert upper_bound(0, 10, n_models=5) == pytest.approx(1 - 0.01 ** (1 / 10))
    assert upper_bound(10, 500) == pytest.approx(beta.ppf(0.95, 11, 490))
    assert hoeffding_bound(10, 500, 10) == pytest.approx(0.02 + math.sqrt(math.log(200) / 1000))
    assert lower_bound(0, 10) == 0


@pytest.mark.parametrize("p", [0.02, 0.1, 0.5])
def test_one_look_is_covered_as_often_as_stated_and_not_much_more(p):
    k = np.random.default_rng(1).binomial(500, p, N_TIMES)
    assert 0.95 - SLACK <= covered(k, 500, 1, p) <= 0.98  # whole numbers of errors make it a little more


@pytest.mark.parametrize("m", [2, 10, 100])
def test_the_best_of_independent_models_is_covered_and_as_one_look_it_is_not(m):
    k = np.random.default_rng(2).binomial(300, 0.1, (N_TIMES, m)).min(axis=1)
    assert 0.95 - SLACK <= covered(k, 300, m, 0.1) <= 0.99
    assert covered(k, 300, 1, 0.1) <= 0.95**m + 0.05


@pytest.mark.parametrize("alike", [0.5, 0.9, 1.0])
def test_the_best_of_correlated_models_of_unequal_quality_is_covered(alike):
    """A share of the examples is judged by all models alike; each has its own error rate besides."""
    random, n, rates = np.random.default_rng(3), 300, np.linspace(0.08, 0.12, 10)
    n_alike = round(alike * n)
    together = random.random((N_TIMES, n_alike))
    k = np.stack([(together < p).sum(axis=1) for p in rates], axis=1)
    k += random.binomial(n - n_alike, rates, (N_TIMES, len(rates)))
    best = k.argmin(axis=1)
    assert covered(k[np.arange(N_TIMES), best], n, len(rates), rates[best]) >= 0.95 - SLACK


def test_the_second_set_is_covered_as_one_look_whatever_was_chosen_on_the_first():
    random, rates = np.random.default_rng(4), np.linspace(0.05, 0.15, 50)
    chosen = rates[random.binomial(200, rates, (N_TIMES, 50)).argmin(axis=1)]
    assert covered(random.binomial(200, chosen), 200, 1, chosen) >= 0.95 - SLACK


def test_the_training_error_of_the_best_of_finitely_many_stumps_is_covered():
    """Rules 'spam if it has word j' and 'spam if it has not', where words tell nothing: each is wrong in half."""
    random, n, n_words = np.random.default_rng(5), 60, 15
    words = random.random((N_TIMES, n, n_words)) < 0.5
    spam = random.random((N_TIMES, n, 1)) < 0.5
    wrong = (words != spam).sum(axis=1)
    k = np.minimum(wrong, n - wrong).min(axis=1)
    assert covered(k, n, 2 * n_words, 0.5) >= 0.95 - SLACK
    assert covered(k, n, 1, 0.5) < 0.8


def test_the_training_error_of_a_deep_tree_is_not_covered_as_one_look():
    random, n = np.random.default_rng(6), 60
    k = []
    for _ in range(100):
        words, spam = random.random((n, 15)), random.random(n) < 0.5
        k.append(int((DecisionTreeClassifier(random_state=0).fit(words, spam).predict(words) != spam).sum()))
    assert covered(np.array(k), n, 1, 0.5) == 0


@pytest.mark.parametrize("m", [2, 10, 10**3, 10**9, 10**12])
@pytest.mark.parametrize(("k", "n"), [(0, 50), (1, 50), (10, 500), (700, 1000), (200, 10_000)])
def test_the_drawn_optimism_is_the_exact_one(k, n, m):
    """The mean of the least of m binomial numbers is Σ_j P(X > j)^m."""
    p = expected_error(k, n, m).estimate
    exact = np.exp(m * np.log1p(-np.minimum(binom.cdf(np.arange(n), n, p), 1 - 1e-16))).sum()
    assert exact == pytest.approx(max(k, 0.5), rel=0.005)
    assert p > k / n


def test_drawing_by_inversion_has_the_distribution_of_the_minimum():
    random = np.random.default_rng(7)
    drawn = least_errors(0.1, 200, 20, random.random(20_000))
    simulated = random.binomial(200, 0.1, (20_000, 20)).min(axis=1)
    assert drawn.mean() == pytest.approx(simulated.mean(), abs=4 * simulated.std() / math.sqrt(10_000))
    assert np.quantile(drawn, [0.025, 0.5, 0.975]).tolist() == np.quantile(simulated, [0.025, 0.5, 0.975]).tolist()


@pytest.mark.slow
@given(looks, numbers_of_models)
def test_more_models_mean_more_optimism_and_a_higher_bound(look, m):
    k, n = look
    assert k / n <= expected_error(k, n, m).estimate <= expected_error(k, n, 10 * m).estimate + 2e-3
    assert upper_bound(k, n, m) <= upper_bound(k, n, 10 * m)


def test_the_limits_for_the_best_cover_it():
    k = np.random.default_rng(8).binomial(300, 0.1, (N_TIMES, 30)).min(axis=1)
    limits = {int(i): expected_error(int(i), 300, 30) for i in np.unique(k)}
    inside = np.mean([limits[int(i)].low <= 0.1 <= limits[int(i)].high for i in k])
    assert 0.95 - SLACK <= inside <= 0.99


def plain_bootstrap(errors: np.ndarray, n_resamples: int, seed: int) -> float:
    """The correction as the paper has it: the mean error, on examples not drawn, of the one chosen on those drawn."""
    random, n, outside = np.random.default_rng(seed), len(errors), []
    for _ in range(n_resamples):
        drawn = random.integers(n, size=n)
        left = np.setdiff1d(np.arange(n), drawn)
        outside.append(errors[left, errors[drawn].sum(axis=0).argmin()].mean())
    return float(np.mean(outside) - errors.mean(axis=0).min())


@pytest.mark.slow
def test_the_winners_optimism_is_that_of_the_paper():
    errors = np.random.default_rng(9).random((300, 8)) < np.linspace(0.1, 0.13, 8)
    found = optimism_of_winner(errors, n_resamples=4000).optimism
    assert found == pytest.approx(plain_bootstrap(errors, 4000, 1), abs=0.0025)


def test_correcting_the_winner_removes_the_bias_that_choosing_makes():
    random, seen, corrected = np.random.default_rng(10), [], []
    for _ in range(150):
        errors = random.random((400, 12)) < 0.1
        found = optimism_of_winner(errors, n_resamples=200)
        seen.append(errors[:, found.winner].mean())
        corrected.append(seen[-1] + found.optimism)
    assert np.mean(seen) < 0.08
    assert np.mean(corrected) == pytest.approx(0.1, abs=0.004)
    intervals = [rate_interval(rate, 400) for rate in corrected]
    assert np.mean([each.low <= 0.1 <= each.high for each in intervals]) >= 0.93


def test_groups_are_drawn_together_so_that_choosing_is_judged_on_other_campaigns():
    """By hand: of two campaigns of five, each model has one wrong; the one drawn chooses, the other refutes."""
    groups = np.repeat([3, 8], 5)
    errors = np.column_stack([groups == 3, groups == 8])
    found = optimism_of_winner(errors, groups, n_resamples=4000)
    # drawn twice the first campaign (1/4): the second model wins, wrong in all of the other, where the first is right;
    # twice the second (1/4): the first wins, and the winner on all is itself; one each (1/2): nothing is left over
    assert found.optimism == pytest.approx(1 / 4, abs=0.02)
    assert optimism_of_winner(errors, n_resamples=4000).optimism < 0.2


@pytest.mark.parametrize("n_models", [1, 7])
def test_where_each_example_is_its_own_group_the_winner_is_the_same(n_models):
    errors = np.random.default_rng(13).random((200, n_models)) < 0.1
    assert optimism_of_winner(errors, np.arange(200)) == optimism_of_winner(errors)


def test_correcting_the_winner_removes_the_bias_in_campaigns_too():
    random, groups, corrected, alone = np.random.default_rng(14), np.repeat(np.arange(120), 5), [], []
    for _ in range(100):
        errors = (random.random((120, 10)) < 0.1)[groups]
        seen = errors.mean(axis=0).min()
        corrected.append(seen + optimism_of_winner(errors, groups, n_resamples=200).optimism)
        alone.append(seen + optimism_of_winner(errors, n_resamples=200).optimism)
    assert np.mean(corrected) == pytest.approx(0.1, abs=0.006)
    assert np.mean(alone) < 0.08


@pytest.mark.slow
@given(looks, numbers_of_models, st.floats(1, 50))
def test_examples_that_count_for_fewer_leave_more_doubt(look, m, effect):
    k, n = look
    assert upper_bound(k, n, m, design_effect=effect) >= upper_bound(k, n, m) - 1e-12
    assert lower_bound(k, n, design_effect=effect) <= lower_bound(k, n) + 1e-12
    assert hoeffding_bound(k, n, m, design_effect=effect) >= hoeffding_bound(k, n, m)
    found = expected_error(k, n, m, design_effect=effect)
    assert found.low <= found.estimate <= found.high


def test_one_model_one_clear_winner_or_twins_are_not_flattered():
    errors = np.random.default_rng(11).random((500, 1)) < 0.1
    assert optimism_of_winner(errors).optimism == 0
    twins = optimism_of_winner(np.repeat(errors, 5, axis=1))
    assert (twins.winner, twins.share_won, twins.optimism) == (0, 1.0, 0.0)
    clear = optimism_of_winner(np.hstack([np.ones((500, 3), bool), errors]))
    assert (clear.winner, clear.share_won, clear.optimism) == (3, 1.0, 0.0)


def test_a_winner_without_rivals_errors_and_a_single_example_are_no_trouble():
    assert optimism_of_winner(np.zeros((10, 3), bool)).optimism == 0
    assert optimism_of_winner(np.ones((1, 2), bool)).optimism == 0


@pytest.mark.slow
def test_many_examples_are_resampled_in_parts_with_the_same_result_each_time():
    errors = np.random.default_rng(12).random((30_000, 3)) < 0.02
    assert optimism_of_winner(errors, n_resamples=300) == optimism_of_winner(errors, n_resamples=300)
    assert 0 < optimism_of_winner(errors, n_resamples=300).optimism < 0.002
