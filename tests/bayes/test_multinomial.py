"""MultinomialNB equals its formula in fractions, on any table, dense or sparse."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sklearn.naive_bayes
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

from priory.bayes import MultinomialNB

ALPHAS = [Fraction(0), Fraction(1, 100), Fraction(1)]
FORMS = {"dense": np.array, "whole": np.int64, "single precision": np.float32, "matrix": csr_matrix, "array": csr_array}
counts = st.sampled_from([0, 0, 1, 2, 5])


@st.composite
def tables(draw: Any) -> tuple[list[list[int]], list[int], list[Fraction], list[list[int]]]:
    """Rows of counts, labels with two classes at least, weights in quarters, and further rows."""
    width, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    bags = st.lists(counts, min_size=width, max_size=width)
    labels = [0, 1, *draw(st.lists(st.integers(0, n_classes - 1), max_size=6))]
    rows = draw(st.lists(bags, min_size=len(labels), max_size=len(labels)))
    weights = [Fraction(draw(st.integers(i == 0, 8)), 4) for i, _ in enumerate(labels)]
    return rows, labels, weights, draw(st.lists(bags, min_size=1, max_size=3))


def share(count: Fraction, total: Fraction, m: int, alpha: Fraction) -> Fraction:
    return (count + alpha) / (total + m * alpha) if total + m * alpha else Fraction(1, m)


def shares(rows: Any, labels: Any, weights: Any, alpha: Fraction) -> list[tuple[Fraction, list[Fraction]]]:
    """For each class N_c/n, and of each feature (n_cj + α)/(n_c + dα)."""
    found = []
    for c in sorted(set(labels)):
        mine = [(r, w) for r, label, w in zip(rows, labels, weights, strict=True) if label == c]
        prior = share(sum(w for _, w in mine), sum(weights), len(set(labels)), Fraction(0))
        counted = [Fraction(sum(r[j] * w for r, w in mine)) for j in range(len(rows[0]))]
        found.append((prior, [share(count, sum(counted), len(counted), alpha) for count in counted]))
    return found


def assert_equal(logs: Any, fractions: list[Fraction]) -> None:
    """The same to 1e-9, and zero exactly where the fraction is zero."""
    assert np.isneginf(logs).tolist() == [p == 0 for p in fractions]
    assert np.exp(logs).tolist() == pytest.approx([float(p) for p in fractions], rel=1e-9, abs=0)


def fitted(table: Any, alpha: Fraction, form: str = "dense") -> MultinomialNB:
    rows, labels, weights, _ = table
    model = MultinomialNB(alpha=float(alpha))
    return model.fit(FORMS[form](rows), labels, sample_weight=[float(w) for w in weights])


@pytest.mark.slow
@given(tables(), st.sampled_from(ALPHAS), st.sampled_from(sorted(FORMS)))
def test_the_joint_is_the_formula_in_fractions(table: Any, alpha: Fraction, form: str) -> None:
    rows, labels, weights, more = table
    model = fitted(table, alpha, form)
    X = FORMS[form]([*rows, *more])
    for row, logs, terms in zip([*rows, *more], model.predict_joint_log_proba(X), model.explain(X), strict=True):
        expected = [
            prior * math.prod(p**x for p, x in zip(ps, row, strict=True))
            for prior, ps in shares(rows, labels, weights, alpha)
        ]
        assert_equal(logs, expected)
        assert_equal(terms.joint, expected)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


@given(tables(), st.sampled_from(ALPHAS), st.sampled_from([np.array, csr_matrix]), st.data())
def test_missing_counts_leave_a_bag_of_the_other_features(table: Any, alpha: Fraction, form: Any, data: Any) -> None:
    rows, labels, weights, more = table
    model = fitted(table, alpha)
    gaps = [data.draw(st.booleans()) for _ in rows[0]]
    for row in more:
        asked = form([[math.nan if gap else float(x) for gap, x in zip(gaps, row, strict=True)]])
        expected = []
        for prior, ps in shares(rows, labels, weights, alpha):
            known = [(p, x) for p, x, gap in zip(ps, row, gaps, strict=True) if not gap]
            mass = sum(p for p, _ in known)
            expected.append(prior * math.prod((p / mass if mass else Fraction(0)) ** x for p, x in known))
        assert_equal(model.predict_joint_log_proba(asked)[0], expected)
        assert_equal(model.explain(asked)[0].joint, expected)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_it_equals_scikit_learns_in_streams_with_weights(form: Any, alpha: float) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.poisson(0.6, (300, 25)), rng.integers(0, 4, 300), rng.random(300)
    ours, theirs = MultinomialNB(alpha=alpha), sklearn.naive_bayes.MultinomialNB(alpha=alpha)
    for rows in np.array_split(np.arange(300), 5):
        for model in (ours, theirs):
            model.partial_fit(form(X[rows]), y[rows], classes=[0, 1, 2, 3], sample_weight=weights[rows])
        found, expected = (model.predict_joint_log_proba(form(X)) for model in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_.T, rtol=0, atol=1e-9)


def test_one_row_of_a_wide_table_is_judged_as_all_rows_are() -> None:
    """A few sparse rows are read without the whole table, before its logarithms are taken and after."""
    rng = np.random.default_rng(1)
    X, y = csr_matrix(rng.poisson(0.02, (50, 2000))), rng.integers(0, 3, 50)
    learned = MultinomialNB().partial_fit(X, y)
    alone = np.vstack([learned.predict_joint_log_proba(X[i]) for i in range(50)])
    np.testing.assert_allclose(alone, learned.predict_joint_log_proba(X), rtol=1e-12)
    np.testing.assert_allclose(MultinomialNB().fit(X.toarray(), y).predict_joint_log_proba(X), alone, rtol=1e-12)


def test_a_row_with_many_of_a_million_columns_is_judged() -> None:
    width = 1 << 20
    columns = np.sort(np.random.default_rng(0).choice(width, 100_000, replace=False))
    row = csr_matrix((np.full(len(columns), 3.0), columns, [0, len(columns)]), (1, width))
    model = MultinomialNB().partial_fit(row, ["spam"]).partial_fit(csr_matrix((1, width)), ["ham"])
    # 4 / (300000 + d) against 1 / d, 300000 times
    expected = 300_000 * (math.log(4) + math.log(width) - math.log(300_000 + width))
    assert np.diff(model.predict_joint_log_proba(row))[0, 0] == pytest.approx(expected)
    assert model.predict_proba(row).tolist() == [[0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_million_features_do_not_underflow(alpha: float) -> None:
    X = np.zeros((4, 1_000_000))
    X[0], X[1, ::2], X[2, ::3], X[3, ::5] = 2, 1, 1, 1
    model = MultinomialNB(alpha=alpha).fit(X, ["spam", "spam", "ham", "ham"])
    joint = model.predict_joint_log_proba(X)
    assert not np.isnan(joint).any()
    assert joint.max() < -1_000_000
    assert model.predict(X).tolist() == ["spam", "spam", "ham", "ham"]


def test_more_things_than_were_learned_are_not_forgotten() -> None:
    model = MultinomialNB().fit([[2, 0], [1, 1], [0, 3]], ["spam", "spam", "ham"])
    for bag in ([[4, 0]], [[0, 2]], [[1, 2]]):
        with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
            model.forget(bag, ["spam"])
    assert model.feature_count_.tolist() == [[0, 3], [3, 1]]
    assert model.token_count_.tolist() == [3, 4]
    assert model.forget([[1, 1]], ["spam"]).feature_count_.tolist() == [[0, 2], [3, 0]]


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_a_bag_with_a_gap_is_not_learned(form: Any) -> None:
    with pytest.raises(ValueError, match="X has NaN: a bag with a count missing cannot be learned"):
        MultinomialNB().fit(form([[1.0, math.nan], [0.0, 1.0]]), [0, 1])


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_counts_below_zero_are_refused(form: Any) -> None:
    with pytest.raises(ValueError, match=r"Negative values in data passed to MultinomialNB \(input X\)"):
        MultinomialNB().fit(form([[1.0, -1.0], [0.0, 1.0]]), [0, 1])


def test_bags_that_are_drawn_are_as_long_as_those_learned() -> None:
    model = MultinomialNB(alpha=0).fit([[8, 2], [9, 1], [0, 1], [0, 3]], ["spam", "spam", "ham", "ham"])
    rows, labels = model.sample(4000, random_state=0)
    spam = labels == "spam"
    assert rows[spam].sum(axis=1).mean() == pytest.approx(10, rel=0.03)
    assert rows[~spam].sum(axis=1).mean() == pytest.approx(2, rel=0.06)
    assert rows[spam].sum(axis=0) / rows[spam].sum() == pytest.approx([0.85, 0.15], abs=0.02)
    assert not rows[~spam][:, 0].any()
