import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import OAS
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from priory.bayes import GaussianDiscriminant, GaussianNB

Floats = NDArray[np.float64]
NAN = math.nan
KINDS = ["full", "shared", "diagonal"]
TABLES = {"iris": load_iris, "wine": load_wine, "breast": load_breast_cancer}
#: kilobytes and links of six messages
MAIL = [[2.0, 21.0], [4.0, 39.0], [5.0, 52.0], [3.0, 70.0], [5.0, 88.0], [6.0, 113.0]]
LABELS = ["ham"] * 3 + ["spam"] * 3


def drawn(n: int, n_columns: int = 3, n_classes: int = 3, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Columns that depend on each other, in another way under each class."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_classes, n_columns, n_columns)) + np.eye(n_columns)
    labels = rng.integers(0, n_classes, n)
    noise = rng.normal(size=(n, n_columns))
    return np.einsum("nij,nj->ni", mixing[labels], noise) + 2 * rng.normal(size=(n_classes, n_columns))[labels], labels


def test_means_and_covariances_are_those_of_fractions() -> None:
    X, y = [[0, 0], [2, 0], [0, 4], [2, 4], [5, 5], [6, 6], [7, 7], [6, 8]], [0] * 4 + [1] * 4
    full = GaussianDiscriminant(ridge=0).fit(X, y)
    assert full.means_.tolist() == [[1.0, 2.0], [6.0, 6.5]]
    expected = np.array([[[1.0, 0.0], [0.0, 4.0]], [[1 / 2, 1 / 2], [1 / 2, 5 / 4]]])  # 1/n, not 1/(n - 1)
    assert full.covariances_ == pytest.approx(expected)
    shared = GaussianDiscriminant(covariance="shared", ridge=0).fit(X, y)
    assert shared.covariances_ == pytest.approx(expected.mean(axis=0))
    diagonal = GaussianDiscriminant(covariance="diagonal", ridge=0).fit(X, y)
    assert diagonal.covariances_ == pytest.approx(np.array([[1.0, 4.0], [0.5, 1.25]]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_joint_is_that_of_scipy_s_densities(kind: str) -> None:
    X, y = drawn(80)
    model = GaussianDiscriminant(covariance=kind, ridge=0).fit(X, y)
    by_hand = [np.cov(X[y == c].T, bias=True) for c in range(3)]
    shared = sum(cov * (y == c).mean() for c, cov in enumerate(by_hand))
    covs = {"full": by_hand, "shared": [shared] * 3, "diagonal": [np.diag(np.diag(cov)) for cov in by_hand]}[kind]
    logs = [multivariate_normal(X[y == c].mean(axis=0), covs[c]).logpdf(X) + np.log((y == c).mean()) for c in range(3)]
    assert model.predict_joint_log_proba(X) == pytest.approx(np.transpose(logs), abs=1e-9)
    assert model.predict_log_proba(X) == pytest.approx(
        model.predict_joint_log_proba(X) - model.log_evidence(X)[:, None], abs=1e-9
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_what_all_classes_share_cancels_from_the_posterior(n_classes: int, shift: float) -> None:
    """With a shared covariance only the linear part of the joint is computed, near zero and far from it."""
    X, y = drawn(80, n_classes=n_classes)
    model = GaussianDiscriminant(covariance="shared").fit(X + shift, y)
    rows = np.vstack([X, 30 * X]) + shift
    expected = model.predict_joint_log_proba(rows) - model.log_evidence(rows)[:, None]
    assert model.predict_log_proba(rows) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert model.predict_proba(rows) == pytest.approx(np.exp(expected), rel=1e-6, abs=0.0)
    assert model.predict(rows).tolist() == expected.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_that_is_impossible_by_its_prior_is_never_predicted(kind: str, n_classes: int) -> None:
    X, y = drawn(60, n_classes=n_classes)
    model = GaussianDiscriminant(covariance=kind, prior=[0.0, *([1 / (n_classes - 1)] * (n_classes - 1))]).fit(X, y)
    assert not model.predict_proba(X)[:, 0].any()
    assert np.isneginf(model.predict_log_proba(X)[:, 0]).all()
    assert 0 not in model.predict(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_equals_and_where_nothing_is_known_the_prior_decides(n_classes: int) -> None:
    X, y = drawn(60, n_classes=n_classes)
    priors = [*([0.1] * (n_classes - 1)), 1.1 - 0.1 * n_classes]
    for kind in KINDS:
        model = GaussianDiscriminant(covariance=kind, prior=priors).fit(X, y)
        assert model.predict_proba([[NAN] * 3]) == pytest.approx(np.array([priors]))
        assert model.predict([[NAN] * 3]).tolist() == [n_classes - 1]
    full = GaussianDiscriminant(prior=priors).fit(X, y)
    assert full.predict([[1e200] * 3]).tolist() == [n_classes - 1]  # impossible under every class
    even = GaussianDiscriminant(covariance="shared").fit([[-1.0], [1.0]] * 2, ["spam", "spam", "ham", "ham"])
    assert even.predict([[5.0]]).tolist() == ["ham"]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_shared_is_scikit_learn_s_linear_discriminant(name: str, shrinkage: float) -> None:
    X, y = TABLES[name](return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = GaussianDiscriminant(covariance="shared", shrinkage=shrinkage, ridge=0).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(X, y)
    assert ours.covariances_ == pytest.approx(theirs.covariance_, abs=1e-12)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-8, abs=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8, abs=1e-8)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_full_is_scikit_learn_s_quadratic_discriminant(name: str, shrinkage: float) -> None:
    """Of its two ways the one that estimates covariances as we do: with 1/n, by `empirical_covariance`."""
    X, y = TABLES[name](return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = GaussianDiscriminant(shrinkage=shrinkage, ridge=0).fit(X, y)
    theirs = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, tol=0.0).fit(X, y)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-9)


def test_diagonal_is_gaussian_naive_bayes() -> None:
    X, y = drawn(60)
    X[4, 1] = NAN
    ours = GaussianDiscriminant(covariance="diagonal", ridge=0).fit(X[5:], y[5:])
    naive = GaussianNB(var_smoothing=0).fit(X[5:], y[5:])
    assert ours.predict_joint_log_proba(X) == pytest.approx(naive.predict_joint_log_proba(X), abs=1e-9)


def test_with_one_shared_width_the_boundary_lies_in_the_middle_and_moves_by_the_prior() -> None:
    X, y = [[-1.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1]
    model = GaussianDiscriminant(covariance="shared", ridge=0).fit(X, y)
    assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx(2.0)
    model.prior = [0.9, 0.1]
    assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx(2 + math.log(9) / 4)


def test_the_error_on_what_is_drawn_is_the_bayes_error_of_two_gaussians() -> None:
    """Half the distance of the means, in units of the shared covariance, is where the tails begin."""
    X, y = drawn(200, n_classes=2)
    model = GaussianDiscriminant(covariance="shared", prior="uniform").fit(X, y)
    apart = model.means_[1] - model.means_[0]
    distance = math.sqrt(apart @ np.linalg.inv(model.covariances_) @ apart)
    rows, labels = model.sample(40_000, random_state=0)
    assert (model.predict(rows) != labels).mean() == pytest.approx(norm.cdf(-distance / 2), abs=0.006)


def test_the_boundary_of_a_narrow_and_a_wide_gaussian_is_closed() -> None:
    X = np.concatenate([np.linspace(-1, 1, 11), np.linspace(-9, 9, 11)])[:, None]
    y = [0] * 11 + [1] * 11
    rows = [[-5.0], [0.0], [5.0]]
    assert GaussianDiscriminant().fit(X, y).predict(rows).tolist() == [1, 0, 1]
    assert GaussianDiscriminant(covariance="shared").fit(X, y).predict_proba(rows) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_oas_is_scikit_learn_s(kind: str) -> None:
    X, y = drawn(40, n_columns=8, n_classes=2)
    ours = GaussianDiscriminant(covariance=kind, shrinkage="oas", ridge=0).fit(X, y).covariances_
    centred = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in (0, 1)])
    expected = {
        "full": [OAS().fit(X[y == c]).covariance_ for c in (0, 1)],
        "shared": OAS(assume_centered=True).fit(centred).covariance_,
    }
    assert ours == pytest.approx(np.array(expected[kind]), abs=1e-12)


def test_full_shrinkage_leaves_spheres() -> None:
    model = GaussianDiscriminant(shrinkage=1, ridge=0).fit(*drawn(50))
    for covariance in model.covariances_:
        assert covariance == pytest.approx(covariance[0, 0] * np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(order=st.permutations(range(40)), cut=st.integers(1, 39))
@settings(max_examples=20, deadline=None)
def test_order_and_parts_and_sums_of_models_are_the_whole_to_rounding(kind: str, order: list[int], cut: int) -> None:
    X, y = drawn(40)
    X += 1e4
    first, second = order[:cut], order[cut:]
    whole = GaussianDiscriminant(covariance=kind).fit(X, y)
    one = GaussianDiscriminant(covariance=kind).partial_fit(X[first], y[first], classes=[0, 1, 2])
    other = GaussianDiscriminant(covariance=kind).partial_fit(X[second], y[second])
    for model in (one + other, one.partial_fit(X[second], y[second])):
        assert model.means_ == pytest.approx(whole.means_, rel=1e-12)
        assert model.covariances_ == pytest.approx(whole.covariances_, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_forgetting_is_the_inverse_of_learning(kind: str) -> None:
    X, y = drawn(60)
    model = GaussianDiscriminant(covariance=kind).fit(X[:40], y[:40])
    before = model.predict_joint_log_proba(X)
    model.partial_fit(X[40:] * 3, y[40:]).forget(X[40:] * 3, y[40:])
    assert model.predict_joint_log_proba(X) == pytest.approx(before, rel=1e-9)
    model.forget(X[:40], y[:40])
    for left in (model.scatter_.n, model.scatter_.means, model.scatter_.scatters):
        assert not left.any()
    assert not np.isnan(model.predict_proba(X)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_outlier_that_is_forgotten_leaves_the_rounding_of_its_square(kind: str) -> None:
    X, y = drawn(60)
    model, clean = GaussianDiscriminant(covariance=kind).fit(X, y), GaussianDiscriminant(covariance=kind).fit(X, y)
    model.partial_fit([[1e4, -1e4, 5.0]], [1]).forget([[1e4, -1e4, 5.0]], [1])
    assert model.means_ == pytest.approx(clean.means_, abs=1e-10)
    assert model.covariances_ == pytest.approx(clean.covariances_, abs=1e-7)
    model.partial_fit([[1e10, -1e10, 5.0]], [1]).forget([[1e10, -1e10, 5.0]], [1])  # variances are lost: see the docs
    assert model.means_ == pytest.approx(clean.means_, abs=1e-5)
    assert not np.isnan(model.predict_proba(X)).any()


def test_rows_with_weights_are_repeated_rows() -> None:
    X, y = drawn(40)
    times = np.arange(40) % 3
    weighted = GaussianDiscriminant().fit(X, y, sample_weight=times)
    repeated = GaussianDiscriminant().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.covariances_ == pytest.approx(repeated.covariances_, abs=1e-12)


def test_far_from_zero_nothing_cancels() -> None:
    X, y = drawn(100)
    near, far = GaussianDiscriminant().fit(X, y), GaussianDiscriminant().fit(X + 1e8, y)
    assert far.covariances_ == pytest.approx(near.covariances_, abs=1e-6)
    one = GaussianDiscriminant(covariance="shared").fit(X, y).predict_log_proba(X)
    other = GaussianDiscriminant(covariance="shared").fit(X + 1e8, y).predict_log_proba(X + 1e8)
    assert other == pytest.approx(one, abs=1e-6)


def test_the_units_of_the_columns_do_not_matter() -> None:
    X, y = drawn(60)
    X[:, 2] = X[:, 0] + X[:, 1]  # only the ridge makes this possible
    units = np.array([1e-6, 1.0, 1e9])
    for kind in KINDS:
        one = GaussianDiscriminant(covariance=kind).fit(X, y).predict_proba(X)
        other = GaussianDiscriminant(covariance=kind).fit(X * units, y).predict_proba(X * units)
        assert other == pytest.approx(one, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_summed_out_of_a_prediction(kind: str) -> None:
    X, y = drawn(80, n_columns=4)
    model = GaussianDiscriminant(covariance=kind, ridge=0).fit(X, y)
    rows = X[:30].copy()
    rows[:10, 1] = rows[5:20, 3] = rows[25] = NAN
    found = model.predict_joint_log_proba(rows)
    for i, row in enumerate(rows):
        known = ~np.isnan(row)
        alone = GaussianDiscriminant(covariance=kind, ridge=0).fit(X[:, known], y) if known.any() else None
        expected = model.class_log_prior_ if alone is None else alone.predict_joint_log_proba([row[known]])[0]
        assert found[i] == pytest.approx(expected, abs=1e-9)
    assert model.predict_proba(rows) == pytest.approx(np.exp(found - model.log_evidence(rows)[:, None]), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_terms_add_up_and_each_is_given_the_columns_before_it(kind: str) -> None:
    X, y = drawn(80)
    model = GaussianDiscriminant(covariance=kind, ridge=0).fit(X, y)
    rows = X[:9].copy()
    rows[3, 0] = rows[4, 1] = rows[5] = NAN
    for terms, joint in zip(model.explain(rows), model.predict_joint_log_proba(rows), strict=True):
        assert terms.joint == pytest.approx(joint, abs=1e-9)
        assert len(terms.names) == 3
    first_two = GaussianDiscriminant(covariance=kind, ridge=0).fit(X[:, :2], y).predict_joint_log_proba(X[:1, :2])
    terms = model.explain(X[:1])[0]
    assert terms.prior + terms.terms[:2].sum(axis=0) == pytest.approx(first_two[0], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_refits_to_its_parameters(kind: str) -> None:
    model = GaussianDiscriminant(covariance=kind).fit(*drawn(100))
    again = GaussianDiscriminant(covariance=kind).fit(*model.sample(60_000, random_state=0))
    assert again.means_ == pytest.approx(model.means_, abs=0.1)
    assert again.covariances_ == pytest.approx(model.covariances_, abs=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_and_repeated_columns_and_tiny_classes_do_no_harm(kind: str) -> None:
    X, y = drawn(60, n_columns=2, n_classes=2)
    plain = GaussianDiscriminant(covariance=kind).fit(X, y)
    constant = GaussianDiscriminant(covariance=kind).fit(np.column_stack([X, np.full(60, 7.0)]), y)
    for value in (7.0, 8.0):
        rows = np.column_stack([X, np.full(60, value)])
        assert constant.predict_proba(rows) == pytest.approx(plain.predict_proba(X), abs=1e-6)
    model = GaussianDiscriminant(covariance=kind, prior="uniform")
    model.partial_fit(np.column_stack([X, X[:, 0]])[:4], [0, 0, 0, 1], classes=[0, 1, 2])
    rows = np.vstack([np.column_stack([X, X[:, 0]]), np.full((1, 3), 1e200)])
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(1.0)
    assert not np.isnan(model.predict_joint_log_proba(rows)).any()
    assert all(not np.isnan(terms.joint).any() for terms in model.explain(rows))


def test_a_class_without_rows_is_like_all_rows_together() -> None:
    X, y = drawn(50, n_classes=2)
    model = GaussianDiscriminant(ridge=0, prior="uniform").partial_fit(X, y, classes=[0, 1, 2])
    assert model.means_[2] == pytest.approx(X.mean(axis=0))
    assert model.covariances_[2] == pytest.approx(np.cov(X.T, bias=True))


def test_without_ridge_a_column_that_follows_from_others_is_refused_and_says_what_to_do() -> None:
    X, y = drawn(60, n_columns=2, n_classes=2)
    follows = np.column_stack([X, X @ [0.5, -2.0]])
    message = "the covariance of class 0 is singular: some column follows from the others there. Raise ridge or"
    with pytest.raises(ValueError, match=message):
        GaussianDiscriminant(ridge=0).fit(follows, y)
    with pytest.raises(ValueError, match="the covariance of all classes is singular"):
        GaussianDiscriminant(ridge=0, covariance="shared").fit(follows, y)
    for parameters in ({"shrinkage": 0.01}, {"shrinkage": "oas"}, {"covariance": "diagonal"}):
        assert GaussianDiscriminant(ridge=0, **parameters).fit(follows, y).score(follows, y) > 0.7


def test_only_a_shared_covariance_has_coefficients() -> None:
    model = GaussianDiscriminant().fit(MAIL, LABELS)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="only covariance=\"shared\" is linear, not 'full'"):
        _ = model.intercept_


def test_more_classes_may_come() -> None:
    X, y = drawn(90)
    names = np.array(["b", "c", "a"])[y]
    order = np.argsort(names)[::-1]
    model = GaussianDiscriminant()
    for part in np.array_split(order, 5):
        model.partial_fit(X[part], names[part])
    assert model.means_ == pytest.approx(GaussianDiscriminant().fit(X, names).means_, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_as_long_as_there_is_one_class_it_is_certain(kind: str) -> None:
    model = GaussianDiscriminant(covariance=kind).partial_fit(MAIL, ["ham"] * 6)
    assert model.predict_proba(MAIL).tolist() == [[1.0]] * 6
    assert model.predict_log_proba(MAIL).tolist() == [[0.0]] * 6
    assert model.predict(MAIL).tolist() == ["ham"] * 6


@pytest.mark.parametrize(
    ("rows", "labels"), [([[90.0, 20.0]], ["ham"]), (MAIL[:3], ["spam"] * 3), ([*MAIL[:2], [5.0, 50.0]], ["ham"] * 3)]
)
def test_forgetting_what_cannot_have_been_learned_is_refused(rows: list[list[float]], labels: list[str]) -> None:
    model = GaussianDiscriminant().fit(MAIL, LABELS)
    before = model.scatter_.scatters.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget(rows, labels)
    assert np.array_equal(model.scatter_.scatters, before)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([NAN, 1.0], "X has NaN: a row with a value missing cannot be learned. Impute it, or leave the row out"),
        ([1e200, 1.0], "X has a value whose square overflows: scale the column down"),
    ],
)
def test_rows_that_cannot_be_learned_are_refused_and_change_nothing(row: list[float], message: str) -> None:
    model = GaussianDiscriminant().fit(MAIL, LABELS)
    before = model.scatter_.scatters.copy()
    with pytest.raises(ValueError, match=message):
        model.partial_fit([row], ["ham"])
    assert np.array_equal(model.scatter_.scatters, before)
    assert model.class_count_.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"covariance": "tied"}, "covariance must be one of full, shared, diagonal, not 'tied'"),
        ({"shrinkage": 1.5}, 'shrinkage must be a number from 0 to 1, or "oas", not 1.5'),
        ({"shrinkage": "auto"}, "shrinkage must be a number from 0 to 1, or \"oas\", not 'auto'"),
        ({"ridge": -1e-9}, "ridge must be a number from 0 up, not -1e-09"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianDiscriminant(**parameters).fit(MAIL, LABELS)
