"""The solvers find the most probable coefficients, whatever the columns are."""

from itertools import product

import numpy as np
import pytest
from answer_times import EVERY, NOISES, PRIORS, answers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from priory.bayes import MAPRegression, regression_solvers


def optimality_gap(model: MAPRegression, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """How far 0 is from the subgradients of Σ w |r| / b + |β| / τ + β²/(2γ²) at the fitted coefficients.

    Each kink has a subgradient in an interval: choose them all so that the sum comes nearest to 0.
    """
    ridge, l1 = model._penalties()
    rows = np.column_stack([X, np.ones(len(y))] if model.fit_intercept else [X])
    rest = y - model.predict(X)
    bound = w / model.noise_scale_
    kink = np.abs(rest) < 1e-7  # the solver stops with residuals of up to 3e-8 where the optimum has 0
    smooth = -rows[~kink].T @ (bound * np.sign(rest))[~kink]
    smooth[: X.shape[1]] += ridge * model.coef_ + l1 * np.sign(model.coef_)
    zeros = np.flatnonzero(model.coef_ == 0) if l1 else []
    free = np.column_stack([rows[kink].T * bound[kink], l1 * np.eye(len(smooth))[:, zeros]])
    if free.shape[1] == 0:
        return float(np.abs(smooth).max())
    found = lsq_linear(free, -smooth, bounds=(-1, 1), tol=1e-14)
    return float(np.abs(free @ found.x + smooth).max())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    d=st.integers(1, 6),
    prior=st.sampled_from(["gaussian", "both"]),
    centred=st.booleans(),
    b=st.floats(0.1, 10),
    gamma=st.floats(0.1, 10),
)
def test_with_laplace_noise_zero_is_among_the_subgradients(
    *, seed: int, n: int, d: int, prior: str, centred: bool, b: float, gamma: float
) -> None:
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)) * 3 + 2, rng.integers(0, 3, n) + 0.0
    w[0] = 1
    y = X @ rng.normal(size=d) + rng.laplace(size=n) * rng.choice([0, 1, 10])
    scale = (gamma, 0.3) if prior == "both" else gamma
    model = MAPRegression(noise="laplace", prior=prior, noise_scale=b, prior_scale=scale, fit_intercept=centred)
    assert optimality_gap(model.fit(X, y, w), X, y, w) < 1e-5 * (1 + w.sum() / b)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    noise=st.sampled_from(NOISES),
    prior=st.sampled_from(PRIORS),
    size=st.sampled_from([1.0, 1e-2, 1e-4]),
)
def test_no_other_coefficients_are_more_probable(seed: int, noise: str, prior: str, size: float) -> None:
    rng = np.random.default_rng(seed)
    X, y, w = answers(20, 3, seed % 1000)
    model = MAPRegression(noise=noise, prior=prior, noise_scale=0.7, prior_scale=0.4).fit(X, y, w)
    best = model.log_posterior(X, y, sample_weight=w)
    assert best == pytest.approx(model.log_posterior_, abs=1e-8)
    for _ in range(20):
        coef = model.coef_ + size * rng.normal(size=3) * rng.integers(0, 2, 3)
        intercept = model.intercept_ + size * rng.normal() * rng.integers(0, 2)
        assert model.log_posterior(X, y, coef, intercept, w) <= best + 1e-7


@pytest.mark.parametrize("tau", [0.1, 1.0, 100.0])
def test_columns_that_are_nearly_the_same_are_no_trouble_for_a_laplace_prior(tau: float) -> None:
    rng = np.random.default_rng(0)
    X = 0.99 * rng.normal(size=(200, 1)) + 0.14 * rng.normal(size=(200, 40))
    y = X[:, :5].sum(axis=1) + rng.normal(size=200)
    model = MAPRegression(prior="laplace", prior_scale=tau).fit(X, y)
    # Each column pulls with Σx r: exactly by 1/τ where its coefficient is not 0, and by no more where it is.
    pull, kept = X.T @ (y - model.predict(X)), model.coef_ != 0
    assert pull[kept] == pytest.approx(np.sign(model.coef_[kept]) / tau, abs=1e-9)
    assert (np.abs(pull[~kept]) <= 1 / tau + 1e-9).all()
    assert kept.any()


@pytest.mark.parametrize("prior", ["laplace", "both"])
@pytest.mark.parametrize("tau", [0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("alike", [0.0, 0.99])
def test_where_coordinate_descent_does_not_arrive_the_coefficients_are_the_same(
    alike: float, tau: float, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = alike * rng.normal(size=(100, 1)) + rng.normal(size=(100, 20)) * ([1e-3, 1, 30, 2] * 5)
    y = X[:, :4].sum(axis=1) + rng.normal(size=100)
    expected = MAPRegression(prior=prior, prior_scale=tau).fit(X, y)
    monkeypatch.setattr(regression_solvers, "_by_descent", lambda moments, *_: np.full(len(moments.mean) - 1, 1.0))
    found = MAPRegression(prior=prior, prior_scale=tau).fit(X, y)
    assert found.coef_ == pytest.approx(expected.coef_, rel=1e-9, abs=1e-12)
    assert (found.coef_ != 0).tolist() == (expected.coef_ != 0).tolist()


@pytest.mark.parametrize("prior", ["laplace", "both"])
def test_a_column_given_twice_has_the_coefficient_of_one_or_shares_it(prior: str) -> None:
    X, y, w = answers()
    once, twice = (MAPRegression(prior=prior).fit(table, y, w) for table in (X, np.column_stack([X, X])))
    summed = twice.coef_[:4] + twice.coef_[4:]
    assert (twice.coef_[:4] * twice.coef_[4:] >= 0).all()
    if prior == "laplace":
        assert summed == pytest.approx(once.coef_, abs=1e-8)
        assert twice.predict(np.column_stack([X, X])) == pytest.approx(once.predict(X), abs=1e-8)
    else:
        assert twice.coef_[:4] == pytest.approx(twice.coef_[4:], abs=1e-9)


def test_a_laplace_factor_in_the_prior_sets_coefficients_to_exactly_zero() -> None:
    X, y, _ = answers()
    for noise, prior in product(NOISES, ["laplace", "both"]):
        model = MAPRegression(noise=noise, prior=prior, prior_scale=0.04 if prior == "laplace" else (2.0, 0.04))
        assert (model.fit(X, y).coef_ == 0).any(), (noise, prior)
        assert (model.coef_ != 0).any(), (noise, prior)


def test_one_target_far_off_turns_the_line_of_gaussian_noise_and_not_that_of_laplace_noise() -> None:
    X = np.arange(10.0)[:, None]
    y = 2 * X[:, 0]
    y[9] = 100
    for prior in PRIORS:
        gaussian, laplace = (MAPRegression(noise=noise, prior=prior, prior_scale=10.0).fit(X, y) for noise in NOISES)
        assert laplace.coef_ == pytest.approx([2], abs=1e-6)
        assert gaussian.coef_[0] > 5


@pytest.mark.parametrize(("noise", "prior"), EVERY)
def test_a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_is_none(noise: str, prior: str) -> None:
    X, y, _ = answers(31, 3)
    times = np.arange(31) % 3
    weighted = MAPRegression(noise=noise, prior=prior).fit(X, y, times)
    repeated = MAPRegression(noise=noise, prior=prior).fit(X.repeat(times, axis=0), y.repeat(times))
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-6)
    assert weighted.log_posterior_ == pytest.approx(repeated.log_posterior_, abs=1e-8)


def test_a_solver_that_runs_out_of_steps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = answers()
    monkeypatch.setattr(regression_solvers, "MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="the solver stopped short of the most probable coefficients: scale X"):
        MAPRegression(noise="laplace").fit(X, y)
