"""MAPRegression is equal to others, where others have its noise and prior."""

import math

import numpy as np
import pytest
from answered import PRIORS, answers
from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, QuantileRegressor, Ridge
from sklearn.svm import SVR

from priory.bayes import MAPRegression


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
