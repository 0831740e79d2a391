"""AODE as fractions, as a proper distribution, and with terms that add up."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.bayes import AveragedOneDependence, CategoricalNB

MAIL = [
    ["html", "link"], ["html", "link"], ["html", "none"], ["text", "none"],
    ["text", "none"], ["text", "none"], ["html", "link"],
]  # fmt: skip
LABELS = ["spam", "spam", "spam", "spam", "ham", "ham", "ham"]
VALUE = st.integers(0, 2)
ROWS = st.lists(st.tuples(VALUE, VALUE, VALUE, st.integers(0, 2)), min_size=1, max_size=20)
GAPPY = st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan]), min_size=3, max_size=3)  # 3 is a value never seen
ALPHAS = st.sampled_from([0.0, 0.5, 1.0])


def parted(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, with one more row of each label and each value."""
    table = np.array([*rows, *((value,) * 3 + (label,) for value in range(3) for label in range(3))])
    return table[:, :3].astype(float), table[:, 3]


def test_a_worked_example_in_fractions() -> None:
    """spam: html 3 of 4, link given html 2 of 3; link 2 of 4, html given link 2 of 2."""
    spam = [Fraction(3 + 1, 4 + 2) * Fraction(2 + 1, 3 + 2), Fraction(2 + 1, 4 + 2) * Fraction(2 + 1, 2 + 2)]
    ham = [Fraction(1 + 1, 3 + 2) * Fraction(1 + 1, 1 + 2), Fraction(1 + 1, 3 + 2) * Fraction(1 + 1, 1 + 2)]
    expected = [Fraction(3, 7) * sum(ham) / 2, Fraction(4, 7) * sum(spam) / 2]
    found = AveragedOneDependence().fit(MAIL, LABELS).predict_joint_log_proba([["html", "link"]])
    assert np.exp(found)[0] == pytest.approx([float(value) for value in expected])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ROWS, ALPHAS, st.sampled_from([0, 1]))
def test_the_probabilities_of_all_rows_sum_to_one(rows: list[tuple[int, ...]], alpha: float, min_count: int) -> None:
    model = AveragedOneDependence(alpha=alpha, min_count=min_count).fit(*parted(rows))
    every = np.array(list(product(range(3), repeat=3)), float)
    assert np.exp(model.predict_joint_log_proba(every)).sum() == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.lists(GAPPY, min_size=1, max_size=5), ALPHAS, st.sampled_from([0, 1, 4, 1000]))
def test_it_is_the_formula_and_the_terms_add_up(
    rows: list[tuple[int, ...]], gappy: list[list[float]], alpha: float, min_count: int
) -> None:
    X, y = parted(rows)
    model = AveragedOneDependence(alpha=alpha, min_count=min_count).fit(X, y)
    joint = model.predict_joint_log_proba(gappy)
    for row, found, terms in zip(gappy, joint, model.explain(gappy), strict=True):
        expected = [np.mean(y == c) * likelihood(X, y == c, row, alpha, min_count) for c in range(3)]
        assert np.exp(found) == pytest.approx(expected)
        np.testing.assert_allclose(terms.joint, found, rtol=1e-9)
        assert not terms.terms[np.isnan(row)].any()


def likelihood(X: np.ndarray, of_class: np.ndarray, row: list[float], alpha: float, min_count: int) -> float:
    """p(row given class), by loops over what is known in the row."""
    known = [j for j, value in enumerate(row) if not math.isnan(value)]
    of_value = {j: X[:, j] == row[j] for j in known}
    parents = [j for j in known if of_value[j].sum() >= min_count]
    alone = {j: share(X[:, j], of_class, of_value[j], alpha) for j in known}
    models = [
        alone[i] * math.prod(share(X[:, j], of_class & of_value[i], of_value[j], alpha) for j in known if j != i)
        for i in parents
    ]
    return float(np.mean(models)) if models else math.prod(alone.values())


def share(column: np.ndarray, rows: np.ndarray, of_value: np.ndarray, alpha: float) -> float:
    m, total = len(np.unique(column)), rows.sum()
    return ((rows & of_value).sum() + alpha) / (total + m * alpha) if total + alpha > 0 else 1 / m


def test_with_one_column_or_without_parents_it_is_naive_bayes() -> None:
    X, y = parted([(0, 1, 2, 0), (1, 1, 0, 2)])
    naive = CategoricalNB().fit(X, y)
    without = AveragedOneDependence(min_count=1000).fit(X, y)
    np.testing.assert_allclose(without.predict_joint_log_proba(X), naive.predict_joint_log_proba(X), rtol=1e-12)
    one = AveragedOneDependence().fit(X[:, :1], y).predict_joint_log_proba(X[:, :1])
    np.testing.assert_allclose(one, CategoricalNB().fit(X[:, :1], y).predict_joint_log_proba(X[:, :1]), rtol=1e-12)


def test_terms_do_not_depend_on_the_order_of_the_columns() -> None:
    X, y = parted([(0, 1, 2, 0), (0, 1, 1, 1), (2, 2, 0, 2), (0, 1, 1, 1)])
    (terms,) = AveragedOneDependence().fit(X, y).explain(X[:1])
    (turned,) = AveragedOneDependence().fit(X[:, ::-1], y).explain(X[:1, ::-1])
    np.testing.assert_allclose(terms.terms, turned.terms[::-1], rtol=1e-12)


def test_what_is_impossible_under_each_parent_is_impossible() -> None:
    model = AveragedOneDependence(alpha=0.0).fit(MAIL, LABELS)
    assert model.predict_joint_log_proba([["html", "none"]])[0].tolist() == [
        -math.inf,
        pytest.approx(math.log(4 / 7 * (3 / 4 * 1 / 3 + 2 / 4 * 1 / 2) / 2)),
    ]
    (terms,) = model.explain([["text", "link"]])
    assert terms.joint.tolist() == [-math.inf, -math.inf]


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_merging_is_learning_both_and_forgetting_undoes_it(
    some: list[tuple[int, ...]], more: list[tuple[int, ...]]
) -> None:
    (X, y), (X_more, y_more) = parted(some), parted(more)
    X_more, y_more = X_more - 1, y_more + 1  # bring a value and a label of their own
    one, other = AveragedOneDependence().fit(X, y), AveragedOneDependence().fit(X_more, y_more)
    probes = np.vstack([X, X_more])
    both = AveragedOneDependence().fit(probes, np.append(y, y_more))
    assert (one + other).predict_joint_log_proba(probes).tolist() == both.predict_joint_log_proba(probes).tolist()
    both.forget(X_more, y_more)
    assert [values.tolist() for values in both.categories_] == [values.tolist() for values in one.categories_]
    assert both.predict_joint_log_proba(probes)[:, :3].tolist() == one.predict_joint_log_proba(probes).tolist()


def test_rows_are_drawn_as_often_as_they_are_probable() -> None:
    model = AveragedOneDependence().fit(MAIL, LABELS)
    X, y = model.sample(50_000, random_state=0)
    every = list(product(["html", "text"], ["link", "none"]))
    joint = np.exp(model.predict_joint_log_proba(every))
    drawn = [[np.mean((row == X).all(axis=1) & (y == label)) for label in model.classes_] for row in every]
    assert np.array(drawn) == pytest.approx(joint, abs=0.006)


@pytest.mark.parametrize("min_count", [-1, "many", math.nan])
def test_a_least_count_that_is_no_count_is_refused(min_count: object) -> None:
    with pytest.raises(ValueError, match="min_count must be a number from 0 up, not "):
        AveragedOneDependence(min_count=min_count).fit(MAIL, LABELS)
