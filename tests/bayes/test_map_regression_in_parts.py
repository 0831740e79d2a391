"""MAPRegression learns rows in parts, forgets and adds them as if it had them at once or never."""

from itertools import product
from typing import Any

import pandas as pd
import pytest
from answered import PRIORS, answers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from priory.bayes import MAPRegression

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


def test_a_model_fitted_anew_with_another_noise_keeps_nothing_of_the_old_one() -> None:
    X, y, _ = answers()
    model = MAPRegression().fit(X, y).set_params(noise="laplace").fit(X[:30], y[:30])
    anew = model.set_params(noise="gaussian").partial_fit(X[30:], y[30:])
    assert_same(anew, MAPRegression().fit(X[30:], y[30:]))
