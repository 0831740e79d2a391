"""Posterior, evidence and intervals of MAPRegression equal integrals of densities, also with unknown noise."""

import math
from typing import Any

import numpy as np
import pytest
from answer_times import EVERY, answers
from scipy.integrate import quad
from scipy.stats import binom, norm

from priory.bayes import MAPRegression


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
    """Return the joint density, including a row of weight zero."""
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


@pytest.mark.slow
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
