"""Figures and how far they may be off."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from priory.lab.measures.interval import (
    Interval,
    ResamplingUnits,
    bootstrap,
    interval_of_draws,
    resample,
    resample_sums,
    share,
)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_a_share_has_the_interval_of_clopper_and_pearson(k: int, more: int):
    n = k + more
    if n == 0:
        assert np.isnan(share(k, n).estimate)
        assert (share(k, n).low, share(k, n).high) == (0, 1)
        return
    exact = binomtest(k, n).proportion_ci(0.95)
    found = share(k, n)
    assert found.estimate == float(Fraction(k, n))
    assert [found.low, found.high] == pytest.approx([exact.low, exact.high], abs=1e-12)


@pytest.mark.parametrize("n", [1, 7, 40, 150])
def test_a_share_is_covered_at_least_as_often_as_the_level_says_whatever_it_is(n: int):
    """No simulation: the probabilities of all results whose interval has the true share are added up."""
    intervals = [share(k, n) for k in range(n + 1)]
    for true in np.linspace(0.001, 0.999, 97):
        covering = np.array([each.low <= true <= each.high for each in intervals])
        assert binom.pmf(np.arange(n + 1), n, true)[covering].sum() >= 0.95


def test_a_higher_level_is_wider():
    assert share(5, 50, level=0.99).low < share(5, 50).low < share(5, 50, level=0.5).low


def test_an_interval_has_other_units_a_text_and_plain_values():
    assert share(1, 4).times(100).estimate == 25
    assert str(Interval(0.5, 0.25, 1)) == "0.5000 (0.2500 to 1.0000)"
    plain = Interval(np.float64(0.5), np.nan, np.inf).as_dict()
    assert json.dumps(plain) == '{"estimate": 0.5, "low": null, "high": null}'


@given(st.integers(0, 60), st.integers(1, 60), st.floats(1, 20))
def test_examples_that_count_for_fewer_have_a_wider_interval(k: int, more: int, effect: float):
    found, alone = share(k, k + more, design_effect=effect), share(k, k + more)
    assert found.estimate == alone.estimate
    assert found.low <= alone.low + 1e-12
    assert found.high >= alone.high - 1e-12
    fewer = share(3, 10)
    assert share(12, 40, design_effect=4).low == pytest.approx(fewer.low, abs=1e-12)
    assert share(12, 40, design_effect=4).high == pytest.approx(fewer.high, abs=1e-12)


def test_what_was_drawn_on_one_side_of_the_estimate_is_stretched_to_it():
    assert interval_of_draws(0.0, np.linspace(1, 2, 11)).low == 0
    assert interval_of_draws(3.0, np.linspace(1, 2, 11)).high == 3


def test_draws_that_are_no_number_do_not_count():
    assert interval_of_draws(1.0, np.array([np.nan, 1, 1, np.inf])) == Interval(1, 1, 1)
    unknown = interval_of_draws(1.0, np.array([np.nan]))
    assert np.isnan([unknown.low, unknown.high]).all()


def test_every_draw_has_as_many_of_each_stratum():
    strata = np.array([0, 0, 0, 1, 1, 2])
    shares = resample(lambda i: float(np.array_equal(np.bincount(strata[i]), [3, 2, 1])), strata, 50)
    assert shares.tolist() == [1] * 50
    sums = resample_sums(np.eye(3)[strata], strata, n_resamples=50)
    assert sums.tolist() == [[3, 2, 1]] * 50


def test_sums_by_weights_are_distributed_as_those_of_drawn_examples():
    random = np.random.default_rng(0)
    values, strata = random.exponential(size=(300, 2)), np.arange(300) % 3
    fast = resample_sums(values, strata, n_resamples=4000, seed=1)
    slow = resample(lambda i: float(values[i, 0].sum()), strata, 4000, seed=2)
    assert fast[:, 0].mean() == pytest.approx(slow.mean(), rel=0.01)
    assert fast[:, 0].std() == pytest.approx(slow.std(), rel=0.05)
    assert fast.mean(axis=0) == pytest.approx(values.sum(axis=0), rel=0.01)


@pytest.mark.slow
def test_the_bootstrap_of_a_mean_covers_about_as_often_as_it_says():
    random = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        x = random.normal(size=80)
        found = bootstrap(lambda i, x=x: float(x[i].mean()), np.zeros(80), n_resamples=200)
        hits += found.low <= 0 <= found.high
    assert 0.9 <= hits / 200 <= 0.98


def test_groups_are_drawn_as_a_whole_within_their_stratum():
    strata, groups = np.array([0, 0, 0, 1, 1, 1, 1, 0]), np.array([5, 5, 2, 3, 3, 3, 8, 8])
    units = ResamplingUnits.of(strata, groups)
    assert units.sizes.tolist() == [1, 3, 2, 2]
    assert [each.tolist() for each in units.by_stratum] == [[0, 2], [1], [3]]  # the last is of both strata
    drawn = []
    resample(lambda numbers: drawn.append(numbers.tolist()) or 0.0, strata, 50, groups=groups)
    for numbers in drawn:
        counts = np.bincount(numbers, minlength=8)
        assert (counts[0] == counts[1], counts[0] + counts[2], counts[3:].tolist()) == (True, 2, [1] * 5)
    sums = resample_sums(np.eye(8), strata, groups=groups, n_resamples=50)
    assert sums[:, 0].tolist() == sums[:, 1].tolist()
    assert (sums[:, 0] + sums[:, 2]).tolist() == [2] * 50
    assert (sums[:, 3:] == 1).all()


def test_where_each_example_is_its_own_group_the_same_is_drawn_as_without_groups():
    values, strata = np.random.default_rng(3).normal(size=(60, 2)), np.arange(60) % 3
    for draw in (
        lambda groups: resample(lambda i: float(values[i, 0].mean()), strata, 20, groups=groups),
        lambda groups: resample_sums(values, strata, n_resamples=20, groups=groups),
    ):
        assert np.abs(draw(None) - draw(np.arange(60))).max() < 1e-12


@pytest.mark.slow
def test_the_bootstrap_of_a_mean_over_groups_covers_about_as_often_as_it_says():
    random, groups, hits = np.random.default_rng(0), np.repeat(np.arange(60), 5), []
    for _ in range(200):
        x = random.normal(size=60)[groups]
        found = [
            bootstrap(lambda i, x=x: float(x[i].mean()), groups * 0, groups=g, n_resamples=99) for g in (groups, None)
        ]
        hits.append([each.low <= 0 <= each.high for each in found])
    assert np.mean(hits, axis=0)[0] >= 0.89
    assert np.mean(hits, axis=0)[1] < 0.75


def test_the_same_seed_draws_the_same():
    x = np.arange(50.0)
    first, again, other = (bootstrap(lambda i: float(x[i].mean()), np.zeros(50), seed=s) for s in (1, 1, 2))
    assert first == again != other


def test_nothing_has_no_interval():
    found = bootstrap(lambda _: float("nan"), np.empty(0))
    assert np.isnan([found.estimate, found.low, found.high]).all()
