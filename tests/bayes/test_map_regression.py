"""MAPRegression keeps scikit-learn's contract, has the coefficients worked out by hand, and refuses nonsense."""

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from answered import EVERY, NOISES, PRIORS, answers
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import MAPRegression


@parametrize_with_checks(  # test_contract.py has the defaults
    [MAPRegression(noise=noise, prior=prior) for noise, prior in EVERY if (noise, prior) != ("gaussian", "gaussian")]
    + [MAPRegression(prior="gaussian", fit_intercept=False), MAPRegression(noise="laplace", fit_intercept=False)]
)
def test_it_keeps_the_contract_of_scikit_learn(estimator: MAPRegression, check: Any) -> None:
    check(estimator)


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
