"""Figures of mail that comes in campaigns: near-copies are judged alike, and no interval takes them for independent."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented import some_predictions, unhurried, with_log_odds

from priory.decision import Costs
from priory.lab.limits.bayes_bounds import from_classifiers
from priory.lab.measures import (
    auc,
    bootstrap_difference,
    brier,
    calibration_error,
    confusion,
    cost_per_example,
    delong,
    lam,
    log_loss,
    macro_auc,
    mcnemar,
    missed_at,
    rates,
    reliability,
    summary,
)
from priory.lab.measures.paired_tests import _p_value_of_signs
from priory.lab.predictions import Predictions
from priory.lab.trust.credibility import winner_trust

SINGLE, CAMPAIGNS, COPIES = 400, 20, 10

WITHOUT_GROUPS = {  # low and high, of `without_groups(np.sin)`
    "1-ROCA%": (5.496748057084111, 15.668534188317063),
    "h=0.1%": (20.25755071186889, 100.0),
    "h=0.5%": (20.257550711756938, 100.0),
    "lam%": (17.750566095488445, 32.98559011376147),
    "ham lost %": (0.0, 5.962949228616691),
    "spam missed %": (8.292881015906373, 28.52192548287028),
    "unsure %": (29.60718855817267, 47.64972061883906),
    "cost per message": (2.019276762311587, 4.308564923320563),
    "accuracy %": (67.17076791269851, 83.1791439801939),
    "AUC": (0.8433146581168294, 0.9450325194291589),
    "ECE%": (1.0310631038402711, 20.02094008604305),
    "Brier": (0.09773992170840148, 0.16367452574647443),
    "log loss": (0.2853676054705281, 0.4445752932628607),
    "precision %": (85.18148710847755, 100.0),
    "recall %": (26.070705801599924, 51.788504856883854),
    "Jaccard %": (26.070705801599924, 51.788504856883854),
}


def without_groups(wave: np.ufunc) -> Predictions:
    numbers = np.arange(120)
    return with_log_odds(np.where(numbers % 2, 2, -2) + 3 * wave(numbers**2), numbers % 2)


def test_without_groups_every_figure_is_what_its_formula_says_for_independent_examples():
    """Pinned, so that groups change nothing where there are none; the formulas are tested with each figure."""
    one, two = without_groups(np.sin), without_groups(np.cos)
    for name, figure in summary(one, Costs()).figures.items():
        assert [figure.low, figure.high] == pytest.approx(WITHOUT_GROUPS[name], rel=1e-12), name
    for test, expected in (
        (mcnemar, [-0.15709192227505797, 0.09151815178325466, 0.6940040940761318]),
        (delong, [-0.06173858602459242, 0.09673858602459257, 0.6651150562815377]),
    ):
        found = test(one, two)
        assert [found.difference.low, found.difference.high, found.p_value] == pytest.approx(expected, rel=1e-12)
    trust = winner_trust(np.column_stack([one.errors, two.errors]), ["one", "two"])
    assert [trust.expected.low, trust.expected.high, trust.bound] == pytest.approx(
        [0.19745512782639324, 0.34070654212711804, 0.32829232087301485], rel=1e-12
    )


def campaigns(random: np.random.Generator, n: int = 1, distance: float = 3, spread: float = 0.0) -> Predictions:
    """Single messages and campaigns of ten near-copies, as much ham as spam, and what Bayes' rule says."""
    groups = np.repeat(np.arange(n * (SINGLE + CAMPAIGNS)), n * SINGLE * [1] + n * CAMPAIGNS * [COPIES])
    truth = groups % 2

    def scatter() -> np.ndarray:
        return random.normal(scale=0.98, size=len(groups))[groups] + random.normal(scale=0.2, size=len(groups))

    x = scatter() + spread * scatter()
    return replace(with_log_odds(distance * (distance * (truth - 0.5) + x / np.hypot(1, spread)), truth), groups=groups)


def alone(seen: Predictions) -> Predictions:
    return replace(seen, groups=None)


@pytest.mark.slow
@settings(unhurried, max_examples=20)
@given(some_predictions(2))
def test_where_each_example_is_its_own_group_every_figure_is_as_without_groups(seen):
    own = replace(seen, groups=np.arange(len(seen))[::-1].copy())
    costs = Costs(seen.classes)
    found, expected = summary(own, costs).as_dict()["figures"], summary(seen, costs).as_dict()["figures"]
    for name, figure in expected.items():
        if name != "ECE%":  # the examples are drawn in another order
            ends = [np.nan if value is None else value for value in figure.values()]
            same = [np.nan if value is None else value for value in found[name].values()]
            assert same == pytest.approx(ends, rel=1e-12, abs=1e-12, nan_ok=True), name
    one, other = reliability(own), reliability(seen)
    assert np.abs([one.low - other.low, one.high - other.high]).max() < 1e-12


@pytest.mark.slow
@settings(unhurried, max_examples=20)
@given(some_predictions(2))
def test_where_each_example_is_its_own_group_two_runs_are_compared_as_without_groups(one):
    two = replace(one, log_probabilities=np.roll(one.log_probabilities, 1, axis=0))
    groups = np.arange(len(one))
    for test in (mcnemar, delong, partial(bootstrap_difference, brier, n_resamples=20)):
        found, expected = test(replace(one, groups=groups), replace(two, groups=groups)), test(one, two)
        assert found.p_value == pytest.approx(expected.p_value, abs=1e-12, nan_ok=True)
        for end in ("low", "estimate", "high"):
            assert getattr(found.difference, end) == pytest.approx(
                getattr(expected.difference, end), abs=1e-12, nan_ok=True
            )


def test_the_same_is_drawn_where_groups_are_in_the_order_of_the_examples():
    seen = alone(campaigns(np.random.default_rng(0)))
    own = replace(seen, groups=np.arange(len(seen)))
    found, expected = calibration_error(own), calibration_error(seen)
    assert [found.low, found.high] == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_five_copies_of_everything_tell_no_more_than_one():
    seen = alone(campaigns(np.random.default_rng(1), distance=2)).take(np.arange(300))
    copies = replace(seen.take(np.repeat(np.arange(300), 5)), groups=np.repeat(np.arange(300), 5))
    found, expected = summary(copies, Costs()).figures, summary(seen, Costs()).figures
    for name in expected:
        assert found[name].estimate == pytest.approx(expected[name].estimate, rel=0.05, abs=1e-9), name
        width, before = found[name].high - found[name].low, expected[name].high - expected[name].low
        assert width == pytest.approx(before, rel=0.15), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "naive"),
    [
        (lambda p: rates(confusion(p)).false_positive_rate, 0.87),
        (lambda p: rates(confusion(p)).precision, 0.87),
        (lambda p: rates(confusion(p)).accuracy, 0.87),
        (lambda p: cost_per_example(p, Costs()), 0.9),
        (auc, 0.85),
        (lam, 0.87),
        (partial(missed_at, lost=0.02), 0.93),
        (brier, 0.85),
        (log_loss, 0.85),
        (partial(calibration_error, n_resamples=50), 0.9),
    ],
    ids=["ham lost", "precision", "accuracy", "cost", "AUC", "lam", "h", "Brier", "log loss", "ECE"],
)
def test_in_campaigns_the_interval_covers_about_as_often_as_it_says_and_without_groups_it_does_not(figure, naive):
    random = np.random.default_rng(2)
    true = figure(alone(campaigns(random, 300))).estimate
    draws = [campaigns(random) for _ in range(150)]
    inside = [[each.low <= true <= each.high for each in (figure(seen), figure(alone(seen)))] for seen in draws]
    covered, covered_alone = np.mean(inside, axis=0)
    assert covered >= 0.91
    assert covered_alone < naive


@pytest.mark.slow
@pytest.mark.parametrize("test", [mcnemar, delong, partial(bootstrap_difference, brier, n_resamples=49)])
def test_in_campaigns_equals_are_called_different_as_rarely_as_the_level_says(test):
    random, called = np.random.default_rng(3), []
    for _ in range(100):
        one = campaigns(random, distance=2, spread=0.5)
        two = campaigns(random, distance=2, spread=0.5)
        called.append([test(one, two).p_value < 0.05, test(alone(one), alone(two)).p_value < 0.05])
    grouped, single = np.mean(called, axis=0)
    assert grouped <= 0.1
    assert single > 0.12


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_signs_of_groups_are_coins(sums):
    """By hand: every way in which the signs can fall is tried."""
    summed = [
        abs(sum(sign * abs(s) for sign, s in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    expected = np.mean([total >= abs(sum(sums)) for total in summed])
    assert _p_value_of_signs(np.array(sums, float)) == pytest.approx(expected, abs=1e-12)


def test_a_campaign_that_just_one_gets_wrong_is_one_coin():
    truth = np.zeros(40, int)
    right, wrong = -2.0, 2.0
    one = with_log_odds([right] * 40, truth)
    two = with_log_odds([wrong] * 10 + [right] * 30, truth)
    groups = np.append(np.zeros(10, int), np.arange(1, 31))
    assert mcnemar(one, two).p_value == pytest.approx(2 / 2**10)
    found = mcnemar(one, replace(two, groups=groups))
    assert found.p_value == 1
    assert found.difference.high > 0 > mcnemar(one, two).difference.high


def test_a_class_that_is_one_campaign_is_one_example():
    seen = with_log_odds([-2, -1, -3, 0, 2, 3, 1], [0, 0, 0, 0, 1, 1, 1])
    grouped = replace(seen, groups=np.array([1, 2, 3, 4, 9, 9, 9]))
    assert (auc(grouped).low, auc(grouped).high) == (0, 1)
    assert auc(seen).low > 0.2
    rival = replace(seen, log_probabilities=np.roll(seen.log_probabilities, 1, axis=0))
    assert np.isnan(delong(grouped, rival).p_value)
    everything = replace(seen, groups=np.zeros(7, int))
    assert np.isnan(brier(everything).low)


def test_perfect_ranks_are_as_many_successes_as_there_are_groups():
    seen = with_log_odds(np.repeat([-2.0, 2.0], 60), np.repeat([0, 1], 60))
    assert auc(replace(seen, groups=np.arange(120) // 6)).low == pytest.approx(0.025 ** (1 / 10))


def test_groups_of_both_classes_are_drawn_and_counted_too():
    random = np.random.default_rng(4)
    groups = np.repeat(np.arange(30), 2)
    seen = replace(with_log_odds(random.normal(size=60) + np.tile([-1, 1], 30), np.tile([0, 1], 30)), groups=groups)
    worse = replace(seen, log_probabilities=seen.log_probabilities[:, ::-1])
    found = bootstrap_difference(auc, seen, worse, n_resamples=50)
    assert found.difference.low > 0
    few = seen.take([0, 1, 2, 4, 6])  # the only spam is in a group with ham
    assert np.isfinite(bootstrap_difference(auc, few, few, n_resamples=50).p_value)


def test_more_than_two_classes_have_groups_too():
    p = np.random.default_rng(5).dirichlet([1, 1, 1], 120)
    truth = [max(zip(row, "abc", strict=True))[1] if i % 3 else "a" for i, row in enumerate(p)]
    seen = Predictions.of("abc", np.repeat(truth, 4), np.repeat(p, 4, axis=0), groups=np.repeat(np.arange(120), 4))
    for figure in (macro_auc, brier, partial(calibration_error, about=None)):
        found, naive = figure(seen), figure(alone(seen))
        assert found.estimate == naive.estimate
        assert found.high - found.low > 1.5 * (naive.high - naive.low)


def test_the_bayes_error_is_bounded_by_independent_campaigns():
    seen = campaigns(np.random.default_rng(6))
    grouped, single = from_classifiers([seen]), from_classifiers([alone(seen)])
    assert grouped.error.estimate == single.error.estimate
    assert grouped.high > single.high
    assert grouped.error.high > single.error.high
