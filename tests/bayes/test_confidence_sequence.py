"""The bound on a probability that holds at all times at once."""

import math
from itertools import pairwise

import numpy as np
import pytest

from priory.bayes.confidence_sequence import (
    RATES,
    WEIGHTS,
    fewest_trials,
    log_fortune,
    most_failures,
    upper_bound,
)


def test_the_weights_add_up_to_one_and_half_are_on_no_failure_at_all():
    assert math.fsum(WEIGHTS) == pytest.approx(1)
    assert (RATES[0], WEIGHTS[0]) == (1, 0.5)


@pytest.mark.parametrize(("failures", "n", "p"), [(0, 7, 0.1), (1, 30, 0.2), (5, 40, 0.01), (40, 40, 0.9)])
def test_the_fortune_is_the_weighted_sum_of_the_games(failures: int, n: int, p: float):
    games = [w * (1 - rate) ** failures / (1 - rate * p) ** n for rate, w in zip(RATES, WEIGHTS, strict=True)]
    assert log_fortune(failures, n, p) == pytest.approx(math.log(math.fsum(games)))


def test_the_expected_fortune_of_a_constant_probability_is_one():
    n, p = 12, 0.3
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    assert math.fsum(chance * math.exp(log_fortune(k, n, p)) for k, chance in enumerate(chances)) == pytest.approx(1)


@pytest.mark.parametrize(("failures", "n"), [(0, 1), (0, 5), (0, 712), (1, 10), (3, 712), (20, 1000), (900, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_bound_is_where_the_fortune_reaches_one_over_alpha(failures: int, n: int, confidence: float):
    bound = upper_bound(failures, n, confidence)
    if bound < 1:
        assert log_fortune(failures, n, bound) == pytest.approx(-math.log(1 - confidence))
    else:
        assert log_fortune(failures, n, 1 - 1e-12) < -math.log(1 - confidence)


def test_without_a_failure_the_bound_lies_between_the_rule_of_three_and_that_of_the_first_game_alone():
    for n in (10, 100, 1000, 100_000):
        alone = 1 - (1 / 40) ** (1 / n)  # ½ (1 − p)^−n = 20
        assert 1 - 0.05 ** (1 / n) < upper_bound(0, n) < alone


def test_the_bound_is_known_for_a_few_numbers():
    assert upper_bound(0, 712) == pytest.approx(0.004787, abs=1e-6)
    assert upper_bound(3, 712) == pytest.approx(0.015789, abs=1e-6)
    assert upper_bound(0, 0) == upper_bound(5, 5) == 1


def test_the_bound_is_above_the_share_grows_with_failures_and_falls_with_trials():
    bounds = [[upper_bound(failures, n) for n in (50, 100, 500, 10_000)] for failures in range(40)]
    for few, more in pairwise(bounds):
        assert all(a <= b for a, b in zip(few, more, strict=True))
    for row in bounds:
        assert row == sorted(row, reverse=True)
    assert all(upper_bound(s, n) > s / n for s in (0, 1, 30) for n in (50, 5000))


def test_large_numbers_neither_overflow_nor_lose_the_bound():
    assert upper_bound(0, 10**12) == pytest.approx(3.41e-12, rel=0.01)
    assert upper_bound(10**6, 10**9) == pytest.approx(0.001, rel=0.05)


@pytest.mark.parametrize("p", [0.5, 0.01, 0.002])
@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_most_failures_and_fewest_trials_are_the_inverses_of_the_bound(p: float, confidence: float):
    for n in (1, 10, 400, 3000, 20_000):
        most = most_failures(n, p, confidence)
        assert most == -1 or upper_bound(most, n, confidence) <= p
        assert upper_bound(most + 1, n, confidence) > p
    for failures in (0, 1, 7):
        fewest = fewest_trials(failures, p, confidence)
        assert upper_bound(failures, fewest, confidence) <= p < upper_bound(failures, fewest - 1, confidence)


def test_nothing_is_promised_for_a_probability_of_zero():
    assert most_failures(1_000_000, 0.0) == -1


def drifting(n: int) -> list[np.ndarray]:
    t = np.arange(n) / n
    return [np.full(n, 0.01), np.full(n, 0.1), 0.05 * t, 0.05 * (1 - t), np.where(t < 0.5, 0.001, 0.05)]


@pytest.mark.parametrize("path", range(5))
def test_looking_after_every_message_the_bound_is_wrong_in_at_most_5_percent_of_the_runs(path: int):
    n, runs = 2000, 1000
    p = drifting(n)[path]
    average = p.cumsum() / np.arange(1, n + 1)
    at_most = [most_failures(t, mean) for t, mean in enumerate(average.tolist(), 1)]
    failures = (np.random.default_rng(path).random((runs, n)) < p).cumsum(axis=1)
    assert (failures <= at_most).any(axis=1).mean() < 0.05


def test_a_probability_that_reacts_to_failures_does_not_break_the_bound():
    random, broken = np.random.default_rng(3), 0
    for _ in range(500):
        total, failures = 0.0, 0
        for t, u in enumerate(random.random(200).tolist(), 1):
            p = 0.001 if failures else 0.03
            total += p
            failures += u < p
            if log_fortune(failures, t, total / t) >= math.log(20):
                broken += 1
                break
    assert broken / 500 < 0.05
