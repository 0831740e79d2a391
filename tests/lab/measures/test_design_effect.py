"""Near-copies count for as many examples as they are worth, and intervals cover again."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.lab.measures.design_effect import design_effect, n_groups
from priory.lab.measures.interval import share, upper_limit

some_groups = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40)


def test_by_hand_one_of_four_pairs_was_misjudged():
    """r = 3/4 twice and -1/4 six times: ν = (3/2)²/(21/32) = 24/7, D = 4/3 · 3 / (8/7 · 3/2) = 7/3, K = 2."""
    nu, seen, as_a_whole = Fraction(24, 7), Fraction(7, 3), 2
    expected = (nu * seen + 8 * as_a_whole * as_a_whole) / (nu + 8 * as_a_whole)
    assert expected == Fraction(35, 17)
    found = design_effect(np.array([1, 1, 0, 0, 0, 0, 0, 0]), np.repeat([7, 3, 9, 1], 2))
    assert found == pytest.approx(float(expected), abs=1e-12)


@given(some_groups)
def test_examples_that_are_their_own_groups_count_as_one_each(pairs):
    values = np.array([value for _, value in pairs])
    assert design_effect(values, None) == 1
    assert design_effect(values, np.arange(len(values))) == pytest.approx(1, abs=1e-12)


@settings(deadline=None)
@given(some_groups, st.randoms(use_true_random=False))
def test_neither_order_nor_names_of_groups_matter_and_copies_are_never_more_than_examples(pairs, random):
    groups, values = (np.array(column) for column in zip(*pairs, strict=True))
    order = random.sample(range(len(pairs)), len(pairs))
    found = design_effect(values, groups)
    assert found >= 1
    assert design_effect(values[order], 100 - 3 * groups[order]) == pytest.approx(found)
    assert design_effect(~values, groups) == pytest.approx(found)


def test_without_any_error_there_are_as_many_examples_as_groups():
    groups = np.repeat(np.arange(7), [1, 1, 1, 5, 20, 2, 600])
    assert len(groups) / design_effect(np.zeros(len(groups)), groups) == pytest.approx(7)
    assert n_groups(groups, len(groups)) == 7
    assert n_groups(None, 12) == 12


def test_a_great_campaign_counts_for_no_more_than_the_errors_that_were_seen():
    """Had a campaign of 600 been misjudged, there were more than 60 errors: only its being right is in doubt."""
    groups = np.append(np.arange(5400), np.full(600, 5400))
    errors = np.arange(6000) < 60
    assert 1 < design_effect(errors, groups) < 2
    assert design_effect(groups == 5400, groups) > 50


def test_all_of_one_group_is_one_example():
    assert design_effect(np.arange(50) < 25, np.zeros(50, int)) == pytest.approx(50)
    assert design_effect(np.ones(1), np.zeros(1, int)) == 1


def campaigns(random: np.random.Generator, p: float, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """800 single messages and 40 campaigns of ten; a share of each is judged as its campaign is."""
    groups = np.repeat(np.arange(840), [1] * 800 + [10] * 40)
    together = (random.random(840) < p)[groups]
    return np.where(random.random(1200) < alike, together, random.random(1200) < p), groups


@pytest.mark.parametrize("p", [0.002, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("alike", [1.0, 0.7])
def test_a_share_of_errors_in_campaigns_is_covered_about_as_often_as_stated(p, alike):
    random, inside, alone, below = np.random.default_rng(1), [], [], []
    for _ in range(500):
        errors, groups = campaigns(random, p, alike)
        k, effect = int(errors.sum()), design_effect(errors, groups)
        found, naive = share(k, 1200, design_effect=effect), share(k, 1200)
        inside.append(found.low <= p <= found.high)
        alone.append(naive.low <= p <= naive.high)
        below.append(p <= upper_limit(k, 1200, 0.05, effect))
    assert np.mean(inside) >= 0.93
    assert np.mean(below) >= 0.91
    assert np.mean(inside) > np.mean(alone)
    assert np.mean(alone) < (0.75 if alike == 1 and p > 0.002 else 0.95)


def test_where_copies_are_judged_independently_little_is_lost():
    random, wider = np.random.default_rng(2), []
    for _ in range(100):
        errors, groups = campaigns(random, 0.2, 0.0)
        k = int(errors.sum())
        found, naive = share(k, 1200, design_effect=design_effect(errors, groups)), share(k, 1200)
        wider.append((found.high - found.low) / (naive.high - naive.low))
    assert 1 <= np.mean(wider) < 1.15
