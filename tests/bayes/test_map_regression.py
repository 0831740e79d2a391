"""MAPRegression keeps scikit-learn's contract, equals other regressions, and learns and forgets in parts."""

import math
import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from answer_times import EVERY, NOISES, PRIORS, answers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, QuantileRegressor, Ridge
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from priory.bayes import MAPRegression


@pytest.mark.slow
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


def test_a_model_fitted_again_with_another_noise_keeps_nothing_of_the_old_one() -> None:
    X, y, _ = answers()
    model = MAPRegression().fit(X, y).set_params(noise="laplace").fit(X[:30], y[:30])
    again = model.set_params(noise="gaussian").partial_fit(X[30:], y[30:])
    assert_same(again, MAPRegression().fit(X[30:], y[30:]))
