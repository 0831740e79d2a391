"""BernoulliNB equals its formula in fractions, on any table; the filter's model is the ratio of two classes."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from counted import ALL_NAMED, features_of
from priory.bayes import BernoulliNB, Counts, PresenceBayes

ALPHAS = [Fraction(0), Fraction(1, 100), Fraction(1)]
FORMS = {"dense": np.array, "single precision": np.float32, "matrix": csr_matrix, "array": csr_array}
sides = st.sampled_from([0, 1, 1, None])


@st.composite
def tables(draw: Any) -> tuple[list[list[int | None]], list[int], list[Fraction], int]:
    """Rows of presences with gaps, labels from 0 with two classes at least, and weights in quarters."""
    width, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    labels = [0, 1, *draw(st.lists(st.integers(0, n_classes - 1), max_size=6))]
    rows = draw(st.lists(st.lists(sides, min_size=width, max_size=width), min_size=len(labels), max_size=len(labels)))
    weights = [Fraction(draw(st.integers(i == 0, 8)), 4) for i, _ in enumerate(labels)]
    return rows, labels, weights, width


def numbers(rows: list[list[int | None]]) -> np.ndarray:
    return np.array([[math.nan if value is None else value for value in row] for row in rows], float)


def share(count: Fraction, total: Fraction, m: int, alpha: Fraction) -> Fraction:
    return (count + alpha) / (total + m * alpha) if total + m * alpha else Fraction(1, m)


def joint(rows: Any, labels: Any, weights: Any, alpha: Fraction, row: Any) -> list[Fraction]:
    """p(x, c) = N_c/n · Π over known x_j of (n_cj + α)/(n_c + 2α), or one minus that, in fractions."""
    found = []
    for c in sorted(set(labels)):
        mine = [(r, w) for r, label, w in zip(rows, labels, weights, strict=True) if label == c]
        p = share(sum(w for _, w in mine), sum(weights), len(set(labels)), Fraction(0))
        for j, value in enumerate(row):
            if value is not None:
                known = sum(w for r, w in mine if r[j] is not None)
                present = share(Fraction(sum(w for r, w in mine if r[j] == 1)), Fraction(known), 2, alpha)
                p *= present if value else 1 - present
        found.append(p)
    return found


def assert_equal(logs: Any, fractions: list[Fraction]) -> None:
    """The same to 1e-9, and zero exactly where the fraction is zero."""
    assert np.isneginf(logs).tolist() == [p == 0 for p in fractions]
    assert np.exp(logs).tolist() == pytest.approx([float(p) for p in fractions], rel=1e-9, abs=0)


@pytest.mark.slow
@given(tables(), st.sampled_from(ALPHAS), st.sampled_from(sorted(FORMS)), st.data())
def test_the_joint_is_the_formula_in_fractions(table: Any, alpha: Fraction, form: str, data: Any) -> None:
    rows, labels, weights, width = table
    model = BernoulliNB(alpha=float(alpha))
    model.fit(FORMS[form](numbers(rows)), labels, sample_weight=[float(w) for w in weights])
    asked = [*rows, data.draw(st.lists(sides, min_size=width, max_size=width))]
    X = FORMS[form](numbers(asked))
    found = model.predict_joint_log_proba(X)
    for row, logs, terms in zip(asked, found, model.explain(X), strict=True):
        fractions = joint(rows, labels, weights, alpha, row)
        assert_equal(logs, fractions)
        assert_equal(terms.joint, fractions)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


@pytest.mark.slow
@given(tables(), st.sampled_from(ALPHAS))
def test_a_gap_is_the_sum_over_both_sides(table: Any, alpha: Fraction) -> None:
    rows, labels, weights, _ = table
    model = BernoulliNB(alpha=float(alpha)).fit(numbers(rows), labels, sample_weight=[float(w) for w in weights])
    for row in rows:
        filled = [
            [value if value is not None else next(fill) for value in row]
            for fill in map(iter, product([0, 1], repeat=row.count(None)))
        ]
        summed = np.exp(model.predict_joint_log_proba(filled)).sum(axis=0)
        assert np.exp(model.predict_joint_log_proba(numbers([row])))[0] == pytest.approx(summed, rel=1e-9, abs=1e-300)


@pytest.mark.slow
@given(tables(), st.sampled_from(ALPHAS))
def test_the_evidence_of_all_possible_rows_is_one(table: Any, alpha: Fraction) -> None:
    rows, labels, _, width = table
    model = BernoulliNB(alpha=float(alpha)).fit(numbers(rows), labels)
    every = list(product([0, 1], repeat=width))
    assert np.exp(model.log_evidence(every)).sum() == pytest.approx(1)
    assert model.log_evidence([[math.nan] * width])[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@given(tables(), st.data())
def test_what_was_never_learned_is_not_forgotten(table: Any, data: Any) -> None:
    rows, labels, _, width = table
    model = BernoulliNB().fit(numbers(rows), labels)
    before = model.counts_.copy(), model.class_count_.copy()
    row, label = data.draw(st.lists(sides, min_size=width, max_size=width)), data.draw(st.sampled_from(labels))
    column = [[r[j] for r, c in zip(rows, labels, strict=True) if c == label] for j in range(width)]
    if all(value in column[j] for j, value in enumerate(row)):
        model.forget(numbers([row]), [label]).partial_fit(numbers([row]), [label])
    else:
        with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
            model.forget(numbers([row]), [label])
    assert (model.counts_ == before[0]).all()
    assert (model.class_count_ == before[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
@pytest.mark.parametrize("binarize", [0.0, 1.5])
def test_it_equals_scikit_learns_in_streams_with_weights(form: Any, alpha: float, binarize: float) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.poisson(0.6, (300, 25)), rng.integers(0, 4, 300), rng.random(300)
    ours, theirs = (
        BernoulliNB(alpha=alpha, binarize=binarize),
        sklearn.naive_bayes.BernoulliNB(alpha=alpha, binarize=binarize),
    )
    for rows in np.array_split(np.arange(300), 5):
        for model in (ours, theirs):
            model.partial_fit(form(X[rows]), y[rows], classes=[0, 1, 2, 3], sample_weight=weights[rows])
        found, expected = (model.predict_joint_log_proba(form(X)) for model in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_.T, rtol=0, atol=1e-9)


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=4, max_size=12),
    st.sampled_from([0.01, 0.5, 1.0]),
    st.integers(2, 4),
    st.sampled_from([0, ALL_NAMED]),
)
def test_the_filters_model_is_one_of_these_formulas(
    rows: list[list[int]], smoothing: float, n_labels: int, named: int
) -> None:
    """A term of `PresenceBayes` is the difference of two coins' terms, scaled by the mean: label against the rest."""
    labels = [i % n_labels for i in range(len(rows))]
    counts = Counts.empty(bits=4, n_labels=n_labels)
    for row, label in zip(rows, labels, strict=True):
        counts.add(features_of(np.flatnonzero(row), named=named), label)
    filters = PresenceBayes(weights=(1.0,), smoothing=smoothing, damping=0.0)
    seen = np.flatnonzero(np.any(rows, axis=0))
    for label in range(n_labels):
        model = BernoulliNB(alpha=smoothing).fit(csr_matrix(rows), ["own" if k == label else "rest" for k in labels])
        said = model.explain(csr_matrix(np.ones((1, 5))))[0].log_odds("own", "rest")
        terms = np.array(filters.terms(features_of(range(5), named=named), counts, label)) * 5
        for feature in seen:
            assert terms[feature] == pytest.approx(said[f"x{feature}"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_million_features_do_not_underflow(alpha: float) -> None:
    X = np.zeros((4, 1_000_000))
    X[0], X[1, ::2], X[2, ::3] = 1, 1, 1
    model = BernoulliNB(alpha=alpha).fit(X, ["spam", "spam", "ham", "ham"])
    for rows in (X, csr_matrix(X)):
        joint = model.predict_joint_log_proba(rows)
        assert not np.isnan(joint).any()
        assert joint.max(axis=1).max() < -100_000 * math.log(2)
        assert model.predict(rows).tolist() == ["spam", "spam", "ham", "ham"]


def test_a_row_with_many_of_a_million_columns_is_judged() -> None:
    width = 1 << 20
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(width, 100_000, replace=False))
    row = csr_matrix((np.ones(len(columns)), columns, [0, len(columns)]), (1, width))
    empty = csr_matrix((1, width))
    model = BernoulliNB().partial_fit(row, ["spam"]).partial_fit(empty, ["ham"])
    # of each present feature 2/3 against 1/3, of each absent one 1/3 of being there in both
    odds = np.diff(model.predict_joint_log_proba(row))[0, 0]
    assert odds == pytest.approx(len(columns) * math.log(2))
    assert np.isfinite(model.predict_joint_log_proba(row)).all()
    assert model.predict_proba(row).tolist() == [[0, 1]]


def test_what_is_impossible_under_every_class_leaves_the_prior() -> None:
    model = BernoulliNB(alpha=0).fit([[0], [0], [0]], ["ham", "ham", "spam"])
    assert model.predict_joint_log_proba([[1]]).tolist() == [[-math.inf, -math.inf]]
    assert model.log_evidence([[1]]).tolist() == [-math.inf]
    assert model.predict_proba([[1]])[0] == pytest.approx([2 / 3, 1 / 3])
    assert model.predict([[1]]).tolist() == ["ham"]


def test_absences_in_sparse_rows_are_the_rest_of_an_explanation() -> None:
    mail = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    labels = ["spam", "spam", "ham", "ham"]
    dense, sparse = (BernoulliNB().fit(X, labels).explain(X)[1] for X in (np.array(mail), csr_matrix(mail)))
    assert (dense.names, sparse.names) == (("x0", "x1", "x2"), ("x0",))
    assert dense.rest.tolist() == [0, 0]
    assert sparse.rest == pytest.approx(dense.terms[1:].sum(axis=0))


@pytest.mark.parametrize("binarize", [0.0, 1.0])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_rows_that_are_drawn_are_read_as_they_were_meant(binarize: float, form: Any) -> None:
    X = form([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    model = BernoulliNB(alpha=0, binarize=binarize).fit(X, [1, 1, 0, 0])
    rows, labels = model.sample(50, random_state=0)
    assert model.predict(rows).tolist() == labels.tolist()
    assert np.isfinite(model.log_evidence(rows)).all()


@pytest.mark.parametrize("alpha", [-1, math.nan, math.inf, "1", None])
def test_a_pseudo_count_must_be_a_number_from_0_up(alpha: Any) -> None:
    with pytest.raises(ValueError, match=f"alpha must be a number from 0 up, not {alpha!r}"):
        BernoulliNB(alpha=alpha).fit([[1], [0]], [1, 0])


def test_zeros_of_sparse_rows_cannot_be_present() -> None:
    with pytest.raises(ValueError, match="binarize must be 0 or more for sparse X, not -1: zeros are absent there"):
        BernoulliNB(binarize=-1).fit(csr_matrix([[1.0], [0.0]]), [1, 0])
    assert BernoulliNB(binarize=-1).fit([[0.0], [-2.0]], [1, 0]).predict([[0.0]]).tolist() == [1]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_with_weights_that_are_not_whole_are_forgotten_in_parts(form: Any, gaps: bool) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = (
        rng.integers(0, 2, (100_000, 3)).astype(float),
        rng.integers(0, 2, 100_000),
        rng.random(100_000) / 10,
    )
    X[:, 2] = 1
    X[::7, 1] = math.nan if gaps else 1.0
    model = BernoulliNB().fit(form(X), y, sample_weight=weights)
    for rows in np.array_split(rng.permutation(100_000), 20):
        model.forget(form(X[rows]), y[rows], sample_weight=weights[rows])
    assert abs(model.counts_).max(initial=0) < 1e-6
    assert model.class_count_.max() < 1e-6


def test_an_absence_that_never_was_is_noticed_with_weights_that_are_not_whole() -> None:
    rng = np.random.default_rng(0)
    weights = rng.random(1000) / 10
    model = BernoulliNB().fit(np.ones((1000, 2)), [0, 1] * 500, sample_weight=weights)
    before = model.counts_.copy()
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        model.forget([[1.0, 0.0]], [0], sample_weight=[0.1])
    assert np.array_equal(model.counts_, before)


def test_gaps_are_counted_only_while_some_were_learned() -> None:
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["spam", "ham"]
    gap = np.array([[math.nan, 1.0]])
    model = BernoulliNB().fit(X, y)
    assert model.missing_count_.shape == (0, 2)
    model.partial_fit(np.vstack([gap, X[:1]]), ["ham", "spam"], sample_weight=[0.0, 1.0]).forget(X[:1], ["spam"])
    assert model.missing_count_.shape == (0, 2)
    assert model.partial_fit(gap, ["ham"]).missing_count_.tolist() == [[1, 0], [0, 0]]
    assert np.array_equal(model.forget(gap, ["ham"]).counts_, BernoulliNB().fit(X, y).counts_)
    with pytest.raises(ValueError, match="never learned"):
        model.forget(gap, ["ham"])
    assert model.missing_count_.shape == (0, 2)


def test_a_presence_written_in_two_places_is_one_and_the_rows_given_stay_as_they_are() -> None:
    split = csr_matrix((np.array([1.0, 1.0, 0.0, math.nan]), np.array([0, 0, 1, 2]), np.array([0, 4])), (1, 3))
    model = BernoulliNB().partial_fit(split, ["spam"])
    assert model.counts_.ravel().tolist() == [1, 0, 0, 0, 0, 1]
    assert split.nnz == 4
    assert split.indices.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("binarize", [None, "1", math.nan])
def test_a_threshold_that_is_no_number_is_refused(binarize: Any) -> None:
    with pytest.raises(ValueError, match="binarize must be a number, above which a feature is present, not"):
        BernoulliNB(binarize=binarize).fit([[1, 0], [0, 1]], [0, 1])
