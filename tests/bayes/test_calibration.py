import math
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from priory.bayes import Calibration, calibrate
from priory.bayes.calibration import FEWEST_WRONG, LABELS, MOST_WRONG, PRECISION, SLOPE
from priory.bayes.calibration_line import most_probable_line
from priory.bayes.counts import N_BINS, bin_centres, bin_of
from priory.filter.verdict import probability


def outcomes_of(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    for score, is_own in zip(scores, truth, strict=True):
        outcomes[bin_of(float(score)), int(is_own)] += 1
    return outcomes


def simulated(slope: float, intercept: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and outcomes drawn with the probability that a line gives them; one in a hundred is mislabelled."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 2.5, n)
    truth = rng.random(n) < 1 / (1 + np.exp(-(slope * scores + intercept)))
    return scores, truth ^ (rng.random(n) < 0.01)


def odds(outcomes: np.ndarray) -> float:
    """The log-odds of the outcomes, as the filter takes them from its totals."""
    rest, own = outcomes.sum(axis=0)
    return math.log((own + 1) / (rest + 1))


@pytest.mark.parametrize(("slope", "intercept"), [(1.5, 0.0), (0.7, 1.0), (2.5, -2.0), (1.0, 3.0)])
def test_the_line_that_outcomes_were_drawn_from_is_found(slope: float, intercept: float) -> None:
    outcomes = outcomes_of(*simulated(slope, intercept, 40_000))
    line = calibrate(outcomes, odds(outcomes))
    assert line.slope == pytest.approx(slope, rel=0.08)
    assert line.intercept == pytest.approx(intercept, abs=0.12)


def test_the_prior_holds_while_nothing_was_scored() -> None:
    assert calibrate(np.zeros((N_BINS, 2), np.int64), 0.7) == Calibration(SLOPE, 0.7)


@pytest.mark.parametrize("label", [0, 1])
def test_the_prior_holds_while_outcomes_are_of_one_label(label: int) -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    outcomes[100:300, label] = 50
    assert calibrate(outcomes, -1.2) == Calibration(SLOPE, -1.2)


def test_few_outcomes_move_the_prior_a_little() -> None:
    outcomes = outcomes_of(np.array([1.04, -1.04]), np.array([True, False]))
    line = calibrate(outcomes, 0.0)
    assert line.slope == pytest.approx(SLOPE, abs=0.2)
    assert line.intercept == pytest.approx(0, abs=1e-9)


def test_slips_far_out_do_not_tilt_the_line() -> None:
    scores, truth = simulated(2.0, 0.0, 20_000)
    clean = calibrate(outcomes_of(scores, truth), 0.0)
    far = np.abs(scores) > 4
    slipped = truth ^ (far & (np.random.default_rng(2).random(len(scores)) < 0.02))
    assert (slipped != truth).sum() > 20
    line = calibrate(outcomes_of(scores, slipped), 0.0)
    assert line.slope == pytest.approx(clean.slope, rel=0.05)


def test_turning_the_question_round_turns_the_line_round() -> None:
    outcomes = outcomes_of(*simulated(1.3, 0.8, 3000))
    line, turned = calibrate(outcomes, 0.4), calibrate(outcomes[::-1, ::-1], -0.4)
    assert turned.slope == pytest.approx(line.slope, abs=1e-5)
    assert turned.intercept == pytest.approx(-line.intercept, abs=1e-5)


def test_more_messages_of_a_label_than_were_scored_move_the_line_by_their_odds() -> None:
    outcomes = outcomes_of(*simulated(1.5, 0.0, 3000))
    line, moved = calibrate(outcomes, 0.0), calibrate(outcomes, 2.0)
    assert moved.slope == line.slope
    assert moved.intercept - line.intercept == pytest.approx(2.0)


HISTOGRAMS = st.lists(
    st.tuples(st.integers(0, N_BINS - 1), st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=8
)


@settings(deadline=None)
@given(bins=HISTOGRAMS)
def test_any_histogram_gives_a_finite_rising_line(bins: list[tuple[int, int, int]]) -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    for at, rest, own in bins:
        outcomes[at] += (rest, own)
    line = calibrate(outcomes, odds(outcomes))
    assert math.isfinite(line.slope)
    assert math.isfinite(line.intercept)
    assert line.slope > 0


@pytest.mark.parametrize("n", [1, 10, 1000, 10**6, 10**9])
@pytest.mark.parametrize("edge", [1, 150, 200, 399])
def test_labels_that_scores_part_cleanly_give_a_line_that_parts_them(n: int, edge: int) -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    outcomes[:edge, 0] = n
    outcomes[edge:, 1] = n
    line = calibrate(outcomes, odds(outcomes))
    assert math.isfinite(line.slope)
    assert math.isfinite(line.intercept)
    assert line.slope > 0
    if edge in {150, 200} and n >= 1000:
        assert -line.intercept / line.slope == pytest.approx(edge * 0.1 - 20, abs=0.5)


@pytest.mark.parametrize("n", [1, 100, 10**6])
def test_all_scores_in_one_bin_give_the_share_there(n: int) -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    outcomes[230] = (n, 3 * n)
    line = calibrate(outcomes, odds(outcomes))
    p = 1 / (1 + math.exp(-(line.slope * bin_centres()[230] + line.intercept)))
    assert 0.5 < p < 0.999
    if n > 1:
        assert p == pytest.approx(0.75, abs=0.02)


def log_posterior(fit: np.ndarray, scores: np.ndarray, outcomes: np.ndarray, prior: float) -> float:
    """Return the objective, written down again: each rate has a prior worth one wrong label and 100 right ones."""
    slope, intercept, positives, negatives = fit
    p = 1 / (1 + np.exp(-np.clip(slope * scores + intercept, -30, 30)))
    q = positives + (1 - positives - negatives) * p
    likelihood = outcomes[:, 1] @ np.log(q) + outcomes[:, 0] @ np.log(1 - q)
    rates = sum(math.log(rate) + 100 * math.log(1 - rate) for rate in (positives, negatives))
    return float(likelihood + rates - 4 * (slope - SLOPE) ** 2 / 2 - (intercept - prior) ** 2 / 2)


@settings(deadline=None, max_examples=200)
@given(
    bins=st.lists(st.tuples(st.integers(0, N_BINS - 1), st.integers(0, 30), st.integers(0, 30)), min_size=1),
    most_wrong=st.sampled_from([FEWEST_WRONG, MOST_WRONG]),
)
def test_nothing_nearby_is_more_probable(bins: list[tuple[int, int, int]], most_wrong: float) -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    for at, rest, own in bins:
        outcomes[at] += (rest, own)
    if not outcomes.any(axis=0).all():
        return
    prior, scores = odds(outcomes), np.array(bin_centres())
    fit = np.array(calibrate(outcomes, prior, most_wrong)[:4])
    if fit[0] == SLOPE / 10:
        return
    here = log_posterior(fit, scores, outcomes, prior)
    for step in (*np.eye(4), *-np.eye(4)):  # wrong labels make further hills
        near = fit + 0.001 * step
        near[2:] = np.clip(near[2:], FEWEST_WRONG, most_wrong)
        assert log_posterior(near, scores, outcomes, prior) <= here + 1e-6


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 3), st.floats(-2, 2), st.integers(20, 2000), st.sampled_from([0, 0.1]))
def test_the_fit_is_on_top_of_a_hill_of_the_posterior(
    seed: int, slope: float, intercept: float, n: int, wrong: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(0, 3, n))
    own = rng.random(n) < [probability(slope * score + intercept) for score in scores]
    own = (own ^ (rng.random(n) < wrong)).astype(np.int64)
    outcomes = np.stack([1 - own, own], axis=1)

    def depth(fit: np.ndarray) -> float:
        inside = np.concatenate([fit[:2], np.clip(fit[2:], FEWEST_WRONG, MOST_WRONG)])
        return -log_posterior(inside, scores, outcomes, 0.0)

    prior = np.array([SLOPE, 0.0])
    fit = np.array(most_probable_line(scores, outcomes, prior, PRECISION, LABELS, FEWEST_WRONG, MOST_WRONG))
    best = minimize(depth, fit, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})  # of this hill
    assert depth(fit) <= best.fun + 1e-6


def wrongly_labelled(positives: float, negatives: float, n: int, seed: int) -> np.ndarray:
    """Return outcomes of scores that tell labels apart well, some of them with wrong labels."""
    rng = np.random.default_rng(seed)
    is_own = rng.random(n) < 0.6
    scores = rng.normal(np.where(is_own, 3, -3), 1.2)
    wrong = rng.random(n) < np.where(is_own, negatives, positives)
    return outcomes_of(scores, is_own ^ wrong)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.015, 0.2), st.floats(0.015, 0.2), st.integers(0, 2**32 - 1))
def test_known_rates_of_wrong_labels_are_found(positives: float, negatives: float, seed: int) -> None:
    n = 6000
    outcomes = wrongly_labelled(positives, negatives, n, seed)
    line = calibrate(outcomes, odds(outcomes))
    for found, rate, share in ((line.false_positives, positives, 0.4), (line.false_negatives, negatives, 0.6)):
        assert found == pytest.approx(rate, abs=0.005 + 5 * math.sqrt(rate / (share * n)))


@pytest.mark.parametrize("wrong", [0.03, 0.1, 0.2])
def test_the_line_is_that_of_the_truth(wrong: float) -> None:
    outcomes = wrongly_labelled(wrong, wrong, 40_000, 3)
    line, right = calibrate(outcomes, odds(outcomes)), Calibration(6 / 1.2**2, math.log(0.6 / 0.4))
    assert line.slope == pytest.approx(right.slope, rel=0.2)
    assert line.intercept == pytest.approx(right.intercept, abs=0.3)
    assert calibrate(outcomes, odds(outcomes), FEWEST_WRONG).slope < 0.7 * right.slope


@pytest.mark.parametrize("n", [10, 100, 1000, 100_000])
def test_right_labels_and_few_labels_have_the_least_rate(n: int) -> None:
    line = calibrate(wrongly_labelled(0.0, 0.0, n, 1), 0.0)
    assert line[2:4] == (FEWEST_WRONG, FEWEST_WRONG)


def test_two_surprises_among_forty_lessons_do_not_make_the_teacher_wrong() -> None:
    outcomes = np.zeros((N_BINS, 2), np.int64)
    outcomes[170], outcomes[230] = (19, 1), (1, 19)
    assert max(calibrate(outcomes, 0.0)[2:4]) < 0.03


def test_if_only_one_label_is_given_wrongly_the_other_keeps_the_least_rate() -> None:
    line = calibrate(outcomes := wrongly_labelled(0.1, 0.0, 6000, 5), odds(outcomes))
    assert line.false_positives == pytest.approx(0.1, abs=0.02)
    assert line.false_negatives == FEWEST_WRONG


def test_the_same_outcomes_give_the_same_fit_bit_for_bit() -> None:
    outcomes = wrongly_labelled(0.1, 0.05, 5000, 2)
    before = calibrate(outcomes, 0.0)
    calibrate(outcomes + wrongly_labelled(0.0, 0.3, 500, 3), 0.0)
    assert calibrate(outcomes.copy(), 0.0) == before


def test_where_labels_are_wrong_only_log_odds_above_0_are_less_certain() -> None:
    line = Calibration(2.0, -1.0, false_positives=0.1, false_negatives=0.05)
    caution = (1 - 0.15) / (1 - 2 * FEWEST_WRONG)
    assert [line.log_odds(score) for score in (-1.0, 0.5, 2.0)] == pytest.approx([-3.0, 0.0, 3 * caution])
    assert line.cautious()[:2] == pytest.approx((2 * caution, -caution))
    assert Calibration(2.0, -1.0).caution == 1
    assert Calibration(2.0, -1.0).log_odds(2.0) == 3


@pytest.mark.parametrize("number", [1 << 62, -(1 << 62), -1])
@pytest.mark.parametrize("place", [0, 1, N_BINS - 1])
def test_fitting_ends_whatever_the_outcomes_are(number: int, place: int) -> None:
    outcomes = outcomes_of(*simulated(1.5, 0.0, 500))
    outcomes[place, 0] = number
    outcomes[N_BINS // 2, 1] = number
    calibrate(outcomes, 0.0)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_fitting_ends_whatever_is_presumed(number: float) -> None:
    outcomes = outcomes_of(*simulated(1.5, 0.0, 500))
    presumed = np.zeros((N_BINS, 2))
    for place in (0, N_BINS // 2, N_BINS - 1):
        presumed[place] = number
        prior = array("d", [SLOPE, 0.0])
        most_probable_line(bin_centres(), outcomes, prior, PRECISION, LABELS, FEWEST_WRONG, MOST_WRONG, presumed)
