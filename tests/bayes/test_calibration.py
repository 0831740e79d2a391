import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from priory.bayes import Calibration, calibrate
from priory.bayes.calibration import PRECISION, SLIPS, SLOPE
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


@settings(deadline=None, max_examples=200)
@given(bins=st.lists(st.tuples(st.integers(0, N_BINS - 1), st.integers(0, 30), st.integers(0, 30)), min_size=1))
def test_no_line_nearby_is_more_probable(bins: list[tuple[int, int, int]]) -> None:
    """The objective, written down again: Σ log(ε + p) + log prior, ε = 0.01."""
    outcomes = np.zeros((N_BINS, 2), np.int64)
    for at, rest, own in bins:
        outcomes[at] += (rest, own)
    if not outcomes.any(axis=0).all():
        return
    prior = odds(outcomes)

    def log_posterior(slope: float, intercept: float) -> float:
        p = 1 / (1 + np.exp(-np.clip(slope * np.array(bin_centres()) + intercept, -30, 30)))
        likelihood = outcomes[:, 1] @ np.log(0.01 + p) + outcomes[:, 0] @ np.log(1.01 - p)
        return float(likelihood - 4 * (slope - SLOPE) ** 2 / 2 - (intercept - prior) ** 2 / 2)

    line = calibrate(outcomes, prior)
    if line.slope == SLOPE / 10:
        return
    here = log_posterior(line.slope, line.intercept)
    for slope, intercept in ((0.001, 0), (-0.001, 0), (0, 0.001), (0, -0.001)):  # slips make further hills
        assert log_posterior(line.slope + slope, line.intercept + intercept) <= here + 1e-6


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 3), st.floats(-2, 2), st.integers(20, 2000))
def test_the_line_is_on_top_of_a_hill_of_the_posterior(seed: int, slope: float, intercept: float, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(0, 3, n))
    own = (rng.random(n) < [probability(slope * score + intercept) for score in scores]).astype(np.int64)
    prior = np.array([SLOPE, 0.0])

    def depth(line: np.ndarray) -> float:
        p = np.array([probability(line[0] * score + line[1]) for score in scores])
        likelihood = own @ np.log(SLIPS + p) + (1 - own) @ np.log(SLIPS + 1 - p)
        return float(np.array(PRECISION) @ (line - prior) ** 2 / 2 - likelihood)

    line = np.array(most_probable_line(scores, np.stack([1 - own, own], axis=1), prior, PRECISION, SLIPS))
    for step in ([1e-3, 0], [-1e-3, 0], [0, 1e-3], [0, -1e-3]):
        assert depth(line) <= depth(line + step) + 1e-9
    best = minimize(depth, line, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})  # of this hill
    assert depth(line) <= best.fun + 1e-6
