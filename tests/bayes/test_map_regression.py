import math
import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import lsq_linear
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, QuantileRegressor, Ridge
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import MAPRegression, interior_point, lasso

NOISES, PRIORS = ("gaussian", "laplace"), ("flat", "gaussian", "laplace", "both")
EVERY = list(product(NOISES, PRIORS))


@parametrize_with_checks(  # test_contract.py has the defaults
    [MAPRegression(noise=noise, prior=prior) for noise, prior in EVERY if (noise, prior) != ("gaussian", "gaussian")]
    + [MAPRegression(prior="gaussian", fit_intercept=False), MAPRegression(noise="laplace", fit_intercept=False)]
)
def test_it_keeps_the_contract_of_scikit_learn(estimator: MAPRegression, check: Any) -> None:
    check(estimator)


def answers(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures of mails far from 0, hours to the answer, and a weight for each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 3, 0.5, 2][:d] + 10
    y = X @ np.array([2.0, -1.0, 0.0, 0.3])[:d] + 5 + rng.normal(size=n)
    return X, y, rng.uniform(0.1, 3, n)


# What is worked out by hand.


def test_with_gaussian_noise_and_prior_lambda_is_the_ratio_of_the_variances_as_4563_derives() -> None:
    # Σ(y - βx)²/(2σ²) + β²/(2γ²), times 2σ²: Σ(y - βx)² + λβ² with λ = σ²/γ², least at β = Σxy/(Σx² + λ).
    x, y, sigma, gamma = [1, 2, 3], [1, 3, 4], Fraction(3, 2), Fraction(1, 2)
    penalty = sigma**2 / gamma**2
    assert penalty == 9
    beta = Fraction(sum(a * b for a, b in zip(x, y, strict=True)), sum(a * a for a in x) + penalty)
    assert beta == Fraction(19, 23)
    model = MAPRegression(noise_scale=float(sigma), prior_scale=float(gamma), fit_intercept=False)
    assert model.fit(np.array(x)[:, None], y).coef_ == pytest.approx([float(beta)], abs=1e-14)
    assert model.posterior_covariance_ == pytest.approx(np.array([[float(sigma**2 / 23)]]), abs=1e-14)


def test_with_a_laplace_prior_the_slope_is_the_least_squares_one_pulled_to_zero_by_a_constant() -> None:
    # Σ(y - βx)²/(2σ²) + |β|/τ: β Σx² = Σxy - σ²/τ while that is above 0. Σx² = 14, Σxy = 19.
    for tau, expected in [(Fraction(1, 5), Fraction(19 - 5, 14)), (Fraction(1, 18), Fraction(19 - 18, 14))]:
        model = MAPRegression(prior="laplace", prior_scale=float(tau), fit_intercept=False)
        assert model.fit([[1], [2], [3]], [1, 3, 4]).coef_ == pytest.approx([float(expected)], abs=1e-9)
    model = MAPRegression(prior="laplace", prior_scale=1 / 20, fit_intercept=False)
    assert model.fit([[1], [2], [3]], [1, 3, 4]).coef_.tolist() == [0]
    # both: β (Σx² + σ²/γ²) = Σxy - σ²/τ, here (19 - 5)/(14 + 4)
    model = MAPRegression(prior="both", prior_scale=(0.5, 0.2), fit_intercept=False)
    assert model.fit([[1], [2], [3]], [1, 3, 4]).coef_ == pytest.approx([14 / 18], abs=1e-9)


def test_with_laplace_noise_an_intercept_alone_is_the_median_and_with_gaussian_noise_the_mean() -> None:
    hours = [1, 2, 3, 4, 100]
    for prior in PRIORS:
        fits = [MAPRegression(noise=noise, prior=prior).fit(np.zeros((5, 1)), hours) for noise in NOISES]
        assert [fit.intercept_ for fit in fits] == pytest.approx([22, 3], abs=1e-8)


def test_with_laplace_noise_and_a_gaussian_prior_the_slope_is_where_the_pulls_balance() -> None:
    # |1 - β| + |3 - 2β| + |4 - 3β| + β²/(2γ²), no intercept. Between 4/3 and 3/2 the slope is 1 - 2 + 3 + β/γ² > 0;
    # between 1 and 4/3 it is 1 - 2 - 3 + β/γ²: 0 at β = 4γ² if that is in there, else the least is at an end.
    # Below 1 it is -1 - 2 - 3 + β/γ²: 0 at β = 6γ².
    for gamma_squared, expected in [(1.0, 4 / 3), (0.3, 1.2), (0.2, 1.0), (0.1, 0.6)]:
        model = MAPRegression(noise="laplace", prior_scale=math.sqrt(gamma_squared), fit_intercept=False)
        assert model.fit([[1], [2], [3]], [1, 3, 4]).coef_ == pytest.approx([expected], abs=1e-9)
    # Where a pull just lets go, 4γ² = 1, the posterior is so flat that rounding leaves half of the digits.
    model = MAPRegression(noise="laplace", prior_scale=0.5, fit_intercept=False)
    assert model.fit([[1], [2], [3]], [1, 3, 4]).coef_ == pytest.approx([1], abs=1e-5)


# Equal to others, where others have it.


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_a_flat_prior_is_least_squares(centred: bool, weighted: bool) -> None:
    X, y, w = answers()
    w = w if weighted else np.ones(len(y))
    model = MAPRegression(prior="flat", fit_intercept=centred, noise_scale=7.0).fit(X, y, w)
    table = np.column_stack([X, np.ones(len(y))]) if centred else X
    expected = np.linalg.lstsq(table * np.sqrt(w)[:, None], y * np.sqrt(w))[0]
    assert model.posterior_mean_ == pytest.approx(expected, abs=1e-9)
    assert model.posterior_covariance_ == pytest.approx(49 * np.linalg.inv((table.T * w) @ table), rel=1e-7)


def test_columns_in_very_different_units_are_no_trouble() -> None:
    X, y, _ = answers()
    units = np.array([1e-6, 1, 1e6, 1e3])
    plain, scaled = (MAPRegression(prior="flat").fit(table, y) for table in (X, X * units))
    assert scaled.coef_ * units == pytest.approx(plain.coef_, rel=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_a_constant_column_says_nothing_beside_an_intercept(prior: str) -> None:
    X, y, w = answers()
    beside = np.column_stack([X, np.full(len(y), 0.1)])
    model = MAPRegression(prior=prior).fit(beside, y, w)
    assert model.coef_[-1] == pytest.approx(0, abs=1e-12)
    assert model.coef_[:-1] == pytest.approx(MAPRegression(prior=prior).fit(X, y, w).coef_, abs=1e-8)


def test_where_rows_leave_coefficients_open_a_flat_prior_takes_the_shortest_and_has_no_covariance() -> None:
    X, y, _ = answers()
    twice = np.column_stack([X, X[:, 0]])
    model = MAPRegression(prior="flat").fit(twice, y)
    expected = np.linalg.lstsq(twice - twice.mean(axis=0), y - y.mean())[0]
    assert model.coef_ == pytest.approx(expected, abs=1e-9)
    assert model.log_evidence_ == math.inf
    for asking in (model.predict_interval, lambda X: model.predict(X, return_std=True)):
        with pytest.raises(ValueError, match="prior is flat and the rows do not determine every coefficient"):
            asking(twice)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("sigma", "gamma"), [(1, 1), (0.3, 2), (5, 0.1)])
def test_a_gaussian_prior_is_ridge(sigma: float, gamma: float, centred: bool, weighted: bool) -> None:
    X, y, w = answers()
    w = w if weighted else None
    model = MAPRegression(noise_scale=sigma, prior_scale=gamma, fit_intercept=centred).fit(X, y, w)
    ridge = Ridge(alpha=sigma**2 / gamma**2, fit_intercept=centred).fit(X, y, w)
    assert model.coef_ == pytest.approx(ridge.coef_, abs=1e-9)
    assert model.intercept_ == pytest.approx(ridge.intercept_, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("sigma", "gamma", "tau"), [(1, 1, 1), (2, 0.5, 0.1), (3, 2, 0.01)])
def test_a_laplace_prior_is_the_lasso_and_both_the_elastic_net(
    sigma: float, gamma: float, tau: float, centred: bool, weighted: bool
) -> None:
    X, y, w = answers()
    w = w if weighted else np.ones(len(y))
    common = {"fit_intercept": centred, "tol": 1e-10, "max_iter": 100_000}
    lasso = Lasso(alpha=sigma**2 / tau / w.sum(), **common).fit(X, y, w)
    model = MAPRegression(prior="laplace", noise_scale=sigma, prior_scale=tau, fit_intercept=centred).fit(X, y, w)
    assert model.coef_ == pytest.approx(lasso.coef_, abs=1e-6)
    both, l1 = 1 / tau + 1 / gamma**2, 1 / tau
    net = ElasticNet(alpha=sigma**2 * both / w.sum(), l1_ratio=l1 / both, **common).fit(X, y, w)
    model = MAPRegression(prior="both", noise_scale=sigma, prior_scale=(gamma, tau), fit_intercept=centred).fit(X, y, w)
    assert model.coef_ == pytest.approx(net.coef_, abs=1e-6)


@pytest.mark.parametrize("tau", [None, 0.5, 0.05])
def test_laplace_noise_with_a_flat_or_laplace_prior_is_quantile_regression_at_the_median(tau: float | None) -> None:
    X, y, w = answers()
    model = MAPRegression(noise="laplace", prior="laplace" if tau else "flat", noise_scale=2.0, prior_scale=tau or 1.0)
    alpha = 2 / tau / (2 * w.sum()) if tau else 0
    expected = QuantileRegressor(quantile=0.5, alpha=alpha).fit(X, y, w)
    assert model.fit(X, y, w).coef_ == pytest.approx(expected.coef_, abs=1e-9)
    assert model.intercept_ == pytest.approx(expected.intercept_, abs=1e-9)


def test_laplace_noise_with_a_gaussian_prior_is_support_vector_regression_without_a_margin() -> None:
    X, y, w = answers()
    model = MAPRegression(noise="laplace", noise_scale=2.0, prior_scale=0.5).fit(X, y, w)
    machine = SVR(kernel="linear", epsilon=0, C=0.5**2 / 2, tol=1e-9).fit(X, y, w)
    assert model.coef_ == pytest.approx(machine.coef_[0], abs=1e-4)
    theirs = model.log_posterior(X, y, machine.coef_[0], machine.intercept_[0], w)
    assert theirs <= model.log_posterior_ <= theirs + 1e-4


@pytest.mark.parametrize("prior", ["flat", "gaussian"])
def test_the_evidence_and_posterior_are_those_of_bayesian_ridge_with_its_scales(prior: str) -> None:
    X, y, _ = answers()
    ridge = BayesianRidge(max_iter=500, tol=1e-12, fit_intercept=True, compute_score=False).fit(X, y)
    sigma, gamma = ridge.alpha_**-0.5, ridge.lambda_**-0.5
    if prior == "gaussian":
        model = MAPRegression(noise_scale=sigma, prior_scale=gamma).fit(X, y)
        assert model.coef_ == pytest.approx(ridge.coef_, abs=1e-9)
        assert model.posterior_covariance_[:-1, :-1] == pytest.approx(ridge.sigma_, abs=1e-9)
    else:
        wide = MAPRegression(noise_scale=sigma, prior_scale=1e5).fit(X, y)
        flat = MAPRegression(prior="flat", noise_scale=sigma).fit(X, y)
        # a wide Gaussian is nearly flat, with density (2πγ²)^(-1/2) for each of the four coefficients in place of 1
        assert flat.log_evidence_ == pytest.approx(wide.log_evidence_ + 2 * math.log(2 * math.pi * 1e10), abs=1e-6)
        assert flat.posterior_covariance_ == pytest.approx(wide.posterior_covariance_, rel=1e-6)


# The most probable is the most probable.


def optimality_gap(model: MAPRegression, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """How far 0 is from the subgradients of Σ w |r| / b + |β| / τ + β²/(2γ²) at the fitted coefficients.

    Each kink has a subgradient in an interval: choose them all so that the sum comes nearest to 0.
    """
    ridge, l1 = model._penalties()
    rows = np.column_stack([X, np.ones(len(y))] if model.fit_intercept else [X])
    rest = y - model.predict(X)
    bound = w / model.noise_scale_
    kink = np.abs(rest) < 1e-8
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
    monkeypatch.setattr(lasso, "_descended", lambda moments, *_: np.full(len(moments.mean) - 1, 1.0))
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
    monkeypatch.setattr(interior_point, "MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="the solver stopped short of the most probable coefficients: scale X"):
        MAPRegression(noise="laplace").fit(X, y)


# Densities are densities.


@pytest.mark.parametrize(("noise", "prior"), [pair for pair in EVERY if pair[1] != "flat"])
def test_the_log_posterior_adds_a_likelihood_and_a_prior_that_integrate_to_one(noise: str, prior: str) -> None:
    scale = (0.8, 0.5) if prior == "both" else 0.8
    model = MAPRegression(noise=noise, prior=prior, noise_scale=1.5, prior_scale=scale, fit_intercept=False)
    model.fit([[1.0]], [1.0])

    def joint(target: float, coef: float) -> float:
        return math.exp(model.log_posterior([[1.0]], [target], [coef]))

    likelihood = quad(lambda y: joint(y, 0.3), -40, 40, points=[0.3], epsabs=1e-10)[0]
    assert likelihood == pytest.approx(prior_density(model, 0.3), rel=1e-6)
    prior_mass = quad(lambda coef: prior_density(model, coef), -40, 40, points=[0])[0]
    assert prior_mass == pytest.approx(1, abs=1e-7)


def prior_density(model: MAPRegression, coef: float) -> float:
    """The joint density with a row that weighs nothing."""
    return math.exp(model._log_joint(np.zeros((1, 1)), np.zeros(1), np.zeros(1), np.array([coef]), 0.0))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", ["flat", "gaussian"])
def test_the_evidence_is_the_integral_over_the_coefficients(prior: str, weighted: bool) -> None:
    x, y = np.array([0.5, 1.0, 2.5]), np.array([1.0, 0.5, 2.0])
    w = np.array([1.0, 2.0, 0.5]) if weighted else np.ones(3)
    steps = np.linspace(-12, 12, 1201)

    def integral(slopes: np.ndarray, intercepts: np.ndarray) -> float:
        log_density = w @ norm.logpdf(y[:, None], x[:, None] * slopes + intercepts, 0.8)
        log_density += norm.logpdf(slopes, 0, 0.6) if prior == "gaussian" else 0
        return float(np.exp(log_density).sum())

    slope = MAPRegression(prior=prior, noise_scale=0.8, prior_scale=0.6, fit_intercept=False).fit(x[:, None], y, w)
    assert slope.log_evidence_ == pytest.approx(math.log(integral(steps, 0 * steps) * 0.02), abs=1e-9)
    line = MAPRegression(prior=prior, noise_scale=0.8, prior_scale=0.6).fit(x[:, None], y, w)
    slopes, intercepts = (grid.ravel() for grid in np.meshgrid(steps, steps))
    assert line.log_evidence_ == pytest.approx(math.log(integral(slopes, intercepts) * 0.02**2), abs=1e-9)


def test_log_posterior_less_log_evidence_is_the_density_of_the_gaussian_posterior() -> None:
    X, y, w = answers()
    model = MAPRegression(noise_scale=2.0).fit(X, y, w)
    covariance = model.posterior_covariance_
    at_mean = -(np.linalg.slogdet(2 * math.pi * covariance)[1]) / 2
    assert model.log_posterior_ - model.log_evidence_ == pytest.approx(at_mean, abs=1e-8)
    step = np.linalg.cholesky(covariance) @ [0.3, -1, 0.5, 2, 1]
    coef, intercept = model.coef_ + step[:-1], model.intercept_ + step[-1]
    density = model.log_posterior(X, y, coef, intercept, w) - model.log_evidence_
    assert density == pytest.approx(at_mean - (0.09 + 1 + 0.25 + 4 + 1) / 2, abs=1e-7)


def test_drawn_coefficients_have_the_posterior_mean_and_covariance() -> None:
    X, y, _ = answers(d=2)
    model = MAPRegression(noise_scale=2.0).fit(X, y)
    drawn = model.sample_coefficients(20_000, random_state=0)
    assert drawn.shape == (20_000, 3)
    root = np.linalg.inv(np.linalg.cholesky(model.posterior_covariance_))
    standard = (drawn - model.posterior_mean_) @ root.T
    assert standard.mean(axis=0) == pytest.approx(np.zeros(3), abs=5 / math.sqrt(20_000))
    assert np.cov(standard.T) == pytest.approx(np.eye(3), abs=0.05)
    assert (model.sample_coefficients(3, random_state=0) == model.sample_coefficients(3, random_state=0)).all()
    assert MAPRegression(fit_intercept=False).fit(X, y).sample_coefficients().shape == (1, 2)


@pytest.mark.parametrize("coverage", [0.5, 0.95])
@pytest.mark.parametrize("centred", [False, True])
def test_targets_drawn_from_the_model_fall_into_their_interval_as_often_as_said(centred: bool, coverage: float) -> None:
    rng, inside, trials = np.random.default_rng(0), 0, 1000
    for _ in range(trials):
        beta, intercept = rng.normal(size=2) * 1.5, rng.normal() * 100 if centred else 0.0
        X = rng.normal(size=(7, 2)) + 3
        y = X @ beta + intercept + rng.normal(size=7) * 2
        model = MAPRegression(noise_scale=2.0, prior_scale=1.5, fit_intercept=centred).fit(X[:6], y[:6])
        low, high = model.predict_interval(X[6:], coverage)
        inside += bool(low[0] <= y[6] <= high[0])
    low, high = binom.interval(0.9999, trials, coverage)
    assert low <= inside <= high


def test_the_standard_deviation_is_that_of_coefficients_drawn_and_noise() -> None:
    X, y, _ = answers()
    model = MAPRegression(noise_scale=2.0).fit(X, y)
    expected, deviation = model.predict(X, return_std=True)
    table = np.column_stack([X, np.ones(len(y))])
    assert expected == pytest.approx(table @ model.posterior_mean_, abs=1e-9)
    variance = np.einsum("ij,jk,ik->i", table, model.posterior_covariance_, table) + 4
    assert deviation == pytest.approx(np.sqrt(variance), abs=1e-9)


# Noise that is not known.


def test_the_noise_of_most_evidence_under_a_flat_prior_is_the_unbiased_one() -> None:
    X, y, w = answers()
    model = MAPRegression(prior="flat", noise_scale=None).fit(X, y, w)
    expected = w @ (y - model.predict(X)) ** 2 / (w.sum() - 5)  # four coefficients and the intercept
    assert model.noise_scale_ == pytest.approx(math.sqrt(expected), rel=1e-6)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_no_other_noise_has_more_evidence(gamma: float) -> None:
    X, y, _ = answers()
    model = MAPRegression(noise_scale=None, prior_scale=gamma).fit(X, y)
    assert model.noise_scale_ < y.std()
    for factor in (0.1, 0.7, 0.99, 0.999, 1.001, 1.01, 1.5, 20):
        other = MAPRegression(noise_scale=model.noise_scale_ * factor, prior_scale=gamma).fit(X, y)
        assert other.log_evidence_ < model.log_evidence_


@pytest.mark.parametrize(
    ("prior", "X", "y"),
    [
        ("flat", [[1], [2]], [1, 2]),
        ("flat", [[1], [2], [4]], [3, 3, 3]),
        ("flat", [[1], [2], [3]], [1, 2, 3]),
        ("gaussian", [[1], [2], [4]], [3, 3, 3]),
        ("gaussian", [[1], [2], [3]], [1, 2, 3]),
    ],
)
def test_noise_cannot_be_estimated_from_targets_that_a_line_fits_exactly(prior: str, X: Any, y: Any) -> None:
    model = MAPRegression().fit([[1, 2], [2, 2], [3, 0]], [0, 1, 0])
    before = (model.coef_.tolist(), model.noise_scale_)
    with pytest.raises(ValueError, match="noise_scale=None has nothing to go by: the coefficients can fit the targets"):
        model.set_params(prior=prior, noise_scale=None).fit(X, y)
    assert (model.coef_.tolist(), model.noise_scale_) == before
    assert model.n_features_in_ == 2


# Learning and forgetting.

GAUSSIANS = [
    MAPRegression(prior=prior, fit_intercept=centred, noise_scale=scale, prior_scale=0.5)
    for prior, centred, scale in product(PRIORS, [False, True], [2.0, None])
    if scale or prior in ("flat", "gaussian")
]


def assert_same(one: MAPRegression, two: MAPRegression) -> None:
    assert one.coef_ == pytest.approx(two.coef_, abs=1e-6)
    assert one.intercept_ == pytest.approx(two.intercept_, abs=1e-5)
    assert one.noise_scale_ == pytest.approx(two.noise_scale_, rel=1e-6)
    assert one.log_posterior_ == pytest.approx(two.log_posterior_, abs=1e-6)
    if one.prior in ("flat", "gaussian"):
        assert one.posterior_covariance_ == pytest.approx(two.posterior_covariance_, rel=1e-5, abs=1e-9)
        assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=1e-6)


@pytest.mark.parametrize("model", GAUSSIANS, ids=repr)
def test_rows_learned_in_parts_or_added_are_rows_learned_at_once(model: MAPRegression) -> None:
    X, y, w = answers()
    whole = clone(model).fit(X, y, w)
    parts = clone(model).partial_fit(X[:20], y[:20], w[:20]).partial_fit(X[20:], y[20:], w[20:])
    assert_same(parts, whole)
    left, right = clone(model).fit(X[:25], y[:25], w[:25]), clone(model).fit(X[25:], y[25:], w[25:])
    before = left.coef_.tolist()
    assert_same(left + right, whole)
    assert left.coef_.tolist() == before


@pytest.mark.parametrize("model", GAUSSIANS, ids=repr)
def test_rows_forgotten_are_rows_never_learned(model: MAPRegression) -> None:
    X, y, w = answers()
    without = clone(model).fit(X[20:], y[20:], w[20:])
    assert_same(clone(model).fit(X, y, w).forget(X[:20], y[:20], w[:20]), without)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_forgetting_leaves_constant_says_nothing(prior: str, seed: int) -> None:
    X, y, w = answers(seed=seed)
    X[20:, 1] = 0.1
    without = MAPRegression(prior=prior).fit(X[20:], y[20:], w[20:])
    model = MAPRegression(prior=prior).fit(X, y, w).forget(X[:20], y[:20], w[:20])
    assert model.coef_[1] == pytest.approx(0, abs=1e-12)
    assert model.coef_ == pytest.approx(without.coef_, abs=1e-6)


def test_forgetting_as_much_as_was_learned_is_refused_and_changes_nothing() -> None:
    X, y, _ = answers(10)
    model = MAPRegression().fit(X, y)
    before = model.coef_.tolist()
    with pytest.raises(
        ValueError, match="X has rows of weight 10 to forget, and the model learned 10: forget only what"
    ):
        model.forget(X, y)
    assert model.coef_.tolist() == before


def test_models_that_differ_are_not_added() -> None:
    X, y, _ = answers()
    model = MAPRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"models with different noise_scale cannot be added: 1\.0 and 2\.0"):
        model + MAPRegression(noise_scale=2.0).fit(X, y)
    with pytest.raises(ValueError, match="models with different noise cannot be added: 'gaussian' and 'laplace'"):
        model + MAPRegression(noise="laplace").fit(X, y)
    with pytest.raises(ValueError, match="models of different features cannot be added: both must have the same"):
        model + MAPRegression().fit(X[:, :2], y)
    with pytest.raises(NotFittedError, match="This MAPRegression instance is not fitted yet"):
        model + MAPRegression()


def test_models_of_columns_in_another_order_are_not_added() -> None:
    X, y, _ = answers()
    one, two = (MAPRegression().fit(pd.DataFrame(X, columns=list(names)), y) for names in ("abcd", "dcba"))
    with pytest.raises(ValueError, match="models of different features cannot be added: both must have the same"):
        one + two
    assert (one + one).coef_.shape == (4,)


@pytest.mark.parametrize("other", [1, Ridge(), None])
def test_only_a_model_of_the_same_kind_is_added(other: Any) -> None:
    X, y, _ = answers()
    with pytest.raises(TypeError, match="unsupported operand"):
        MAPRegression().fit(X, y) + other


@pytest.mark.parametrize(("noise", "prior"), EVERY[2:])
def test_where_there_is_no_closed_posterior_nothing_pretends_there_is(noise: str, prior: str) -> None:
    X, y, _ = answers()
    model = MAPRegression(noise=noise, prior=prior).fit(X, y)
    for name in (
        "log_evidence_",
        "posterior_covariance_",
        "posterior_mean_",
        "predict_interval",
        "sample_coefficients",
    ):
        assert not hasattr(model, name), name
    with pytest.raises(
        AttributeError, match=f"noise='{noise}' with prior='{prior}' has no closed posterior: use noise"
    ):
        model.predict(X, return_std=True)


@pytest.mark.parametrize("prior", PRIORS)
def test_laplace_noise_needs_all_rows_at_once(prior: str) -> None:
    X, y, _ = answers()
    model = MAPRegression(noise="laplace", prior=prior).fit(X, y)
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "forget")
    with pytest.raises(AttributeError, match="noise='laplace' needs all rows at once: use fit, or noise='gaussian'"):
        model + model


def test_a_model_fitted_anew_with_another_noise_keeps_nothing_of_the_old_one() -> None:
    X, y, _ = answers()
    model = MAPRegression().fit(X, y).set_params(noise="laplace").fit(X[:30], y[:30])
    anew = model.set_params(noise="gaussian").partial_fit(X[30:], y[30:])
    assert_same(anew, MAPRegression().fit(X[30:], y[30:]))


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"noise": "cauchy"}, "noise must be one of gaussian, laplace, not 'cauchy'"),
        ({"prior": "ridge"}, "prior must be one of flat, gaussian, laplace, both, not 'ridge'"),
        ({"noise_scale": 0.0}, "noise_scale must be above 0 and finite, not 0.0"),
        ({"prior_scale": -1}, "prior_scale must be above 0 and finite, not -1"),
        ({"prior_scale": math.inf}, "prior_scale must be above 0 and finite, not inf"),
        ({"prior": "both", "prior_scale": (1.0, 0.0)}, "prior_scale must be above 0 and finite, not 0.0"),
        ({"prior_scale": (1.0, 2.0)}, "prior_scale must be one number, or two for prior='both', not (1.0, 2.0)"),
        (
            {"prior": "both", "prior_scale": (1, 2, 3)},
            "prior_scale must be one number, or two for prior='both', not (1",
        ),
        ({"noise": "laplace", "noise_scale": None}, "noise_scale must be a number unless the noise is gaussian and"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_the_model_as_it_was(parameters: dict[str, Any], text: str) -> None:
    X, y, _ = answers()
    model = MAPRegression().fit(X, y)
    before = model.coef_.tolist()
    with pytest.raises(ValueError, match=re.escape(text)):
        model.set_params(**parameters).fit(X[:, :2], y)
    assert model.coef_.tolist() == before
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("coverage", [0, 1, 95])
def test_a_coverage_that_is_no_probability_is_refused(coverage: float) -> None:
    X, y, _ = answers()
    with pytest.raises(ValueError, match=f"coverage must be between 0 and 1, not {coverage}"):
        MAPRegression().fit(X, y).predict_interval(X, coverage)
