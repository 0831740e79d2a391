"""CategoricalNB equals its formula in fractions: for names and numbers, unseen values and gaps."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.naive_bayes
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes import CategoricalNB

ALPHAS = [Fraction(0), Fraction(1, 100), Fraction(1)]
KINDS = {
    "names": ["noon", "night", "dawn", None],
    "whole": [7, 0, 2, None],
    "real": [0.5, -1.25, 1e9, None],
    "truth": [False, True, True, None],
}
MAIL = [["evening", "html"], ["night", "html"], ["noon", "text"], ["evening", "text"]]
LABELS = ["spam", "spam", "ham", "ham"]


@st.composite
def tables(draw: Any) -> tuple[list[list[Any]], list[int], list[Fraction], list[list[Any]]]:
    """Columns of mixed kinds with gaps, labels with two classes at least, weights in quarters, and further rows."""
    kinds = [KINDS[kind] for kind in draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))]
    labels = [0, 1, *draw(st.lists(st.integers(0, draw(st.integers(1, 4))), max_size=6))]
    row = st.tuples(*map(st.sampled_from, kinds)).map(list)
    rows = draw(st.lists(row, min_size=len(labels), max_size=len(labels)))
    weights = [Fraction(draw(st.integers(i == 0, 8)), 4) for i, _ in enumerate(labels)]
    unseen = st.tuples(*(st.sampled_from([*kind, "x" if isinstance(kind[0], str) else 99]) for kind in kinds)).map(list)
    return rows, labels, weights, draw(st.lists(unseen, min_size=1, max_size=3))


def share(count: Fraction, total: Fraction, m: int, alpha: Fraction) -> Fraction:
    return (count + alpha) / (total + m * alpha) if total + m * alpha else Fraction(1, m)


def joint(table: Any, alpha: Fraction, row: Any) -> list[Fraction]:
    """p(x, c) = N_c/n · Π over known x_j of (n_cj(x_j) + α)/(n_cj + m_jα), where m_j values of column j are known."""
    rows, labels, weights, _ = table
    found = []
    for c in sorted(set(labels)):
        mine = [(r, w) for r, label, w in zip(rows, labels, weights, strict=True) if label == c]
        p = share(Fraction(sum(w for _, w in mine)), sum(weights), len(set(labels)), Fraction(0))
        for j, value in enumerate(row):
            if value is not None:
                known = {r[j] for r, w in zip(rows, weights, strict=True) if r[j] is not None and w}
                seen = Fraction(sum(w for r, w in mine if r[j] is not None))
                same = Fraction(sum(w for r, w in mine if r[j] is not None and r[j] == value))
                p *= share(same, seen, max(len(known), 1), alpha)
        found.append(p)
    return found


def assert_equal(logs: Any, fractions: list[Fraction]) -> None:
    """The same to 1e-9, and zero exactly where the fraction is zero."""
    assert np.isneginf(logs).tolist() == [p == 0 for p in fractions]
    assert np.exp(logs).tolist() == pytest.approx([float(p) for p in fractions], rel=1e-9, abs=0)


def fitted(table: Any, alpha: Fraction) -> CategoricalNB:
    rows, labels, weights, _ = table
    model = CategoricalNB(alpha=float(alpha))
    return model.fit(np.array(rows, object), labels, sample_weight=[float(w) for w in weights])


@pytest.mark.slow
@given(tables(), st.sampled_from(ALPHAS))
def test_the_joint_is_the_formula_in_fractions_for_seen_and_unseen_values(table: Any, alpha: Fraction) -> None:
    model = fitted(table, alpha)
    asked = [*table[0], *table[3]]
    X = np.array(asked, object)
    for row, logs, terms in zip(asked, model.predict_joint_log_proba(X), model.explain(X), strict=True):
        fractions = joint(table, alpha, row)
        assert_equal(logs, fractions)
        assert_equal(terms.joint, fractions)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


@given(tables(), st.sampled_from(ALPHAS))
def test_a_gap_is_the_sum_over_all_values(table: Any, alpha: Fraction) -> None:
    model = fitted(table, alpha)
    known = [model.categories_[j].tolist() for j in range(len(table[0][0]))]
    for row in table[0]:
        filled = [[]]
        for value, values in zip(row, known, strict=True):
            # a column of which nothing is known has no values to sum over: its gap stays
            filled = [[*some, v] for some in filled for v in ([value] if value is not None else values or [None])]
        summed = np.exp(model.predict_joint_log_proba(np.array(filled, object))).sum(axis=0)
        found = np.exp(model.predict_joint_log_proba(np.array([row], object)))[0]
        assert found == pytest.approx(summed, rel=1e-9, abs=1e-300)


@given(tables(), st.data())
def test_values_that_are_forgotten_are_gone(table: Any, data: Any) -> None:
    rows, labels, _, more = table
    model = CategoricalNB().fit(np.array(rows, object), labels)
    before = model.counts_.copy(), [values.tolist() for values in model.categories_]
    new = data.draw(st.lists(st.sampled_from(labels), min_size=len(more), max_size=len(more)))
    model.partial_fit(np.array(more, object), new).forget(np.array(more[::-1], object), new[::-1])
    assert [values.tolist() for values in model.categories_] == before[1]
    assert (model.counts_ == before[0]).all()


@pytest.mark.slow
@given(tables(), st.data())
def test_what_was_never_learned_is_not_forgotten(table: Any, data: Any) -> None:
    rows, labels, _, more = table
    model = CategoricalNB().fit(np.array(rows, object), labels)
    before = model.counts_.copy(), model.class_count_.copy()
    row, label = more[0], data.draw(st.sampled_from(labels))
    mine = [r for r, c in zip(rows, labels, strict=True) if c == label]
    if all(value in [r[j] for r in mine] for j, value in enumerate(row)):
        model.forget(np.array([row], object), [label])
    else:
        with pytest.raises(ValueError, match="X and y hold rows that were never learned, or were forgotten already"):
            model.forget(np.array([row], object), [label])
        assert (model.counts_ == before[0]).all()
        assert (model.class_count_ == before[1]).all()


@pytest.mark.slow
def test_it_equals_scikit_learns_in_streams_with_weights() -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(0, 5, (300, 8)), rng.integers(0, 4, 300), rng.random(300)
    for alpha in (1.0, 0.01):
        ours = CategoricalNB(alpha=alpha, categories=[np.arange(5)] * 8)
        theirs = sklearn.naive_bayes.CategoricalNB(alpha=alpha, min_categories=5)
        for rows in np.array_split(np.arange(300), 5):
            for model in (ours, theirs):
                model.partial_fit(X[rows], y[rows], classes=[0, 1, 2, 3], sample_weight=weights[rows])
            found, expected = (model.predict_joint_log_proba(X) for model in (ours, theirs))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        for found, expected in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        for found, expected in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MAIL, columns=["hour", "kind"]),
        pd.DataFrame(MAIL, columns=["hour", "kind"], dtype="string"),
        pd.DataFrame(MAIL, columns=["hour", "kind"], dtype="category"),
        pl.DataFrame(MAIL, schema=["hour", "kind"], orient="row"),
    ],
    ids=["object", "string", "category", "polars"],
)
def test_frames_are_read_by_the_names_of_their_columns(frame: Any) -> None:
    model = CategoricalNB().fit(frame, LABELS)
    plain = CategoricalNB().fit(MAIL, LABELS)
    np.testing.assert_array_equal(model.predict_joint_log_proba(frame), plain.predict_joint_log_proba(MAIL))
    assert model.explain(frame)[0].names == ("hour", "kind")
    assert [values.tolist() for values in model.categories_] == [["evening", "night", "noon"], ["html", "text"]]


@pytest.mark.parametrize("gap", [None, math.nan, pd.NA, pd.NaT])
def test_every_kind_of_gap_adds_nothing(gap: Any) -> None:
    model = CategoricalNB().fit(MAIL, LABELS)
    frame = pd.DataFrame([[gap, "html"]], dtype=object)
    terms = model.explain(frame.to_numpy())[0]
    assert terms.terms[0].tolist() == [0, 0]
    assert terms.joint == pytest.approx(np.log([1 / 2 * 1 / 4, 1 / 2 * 3 / 4]))


def test_values_can_be_named_that_no_row_shows() -> None:
    model = CategoricalNB(categories=[["dawn", "evening", "night", "noon"], ["html", "text"]]).fit(MAIL, LABELS)
    assert np.exp(model.feature_log_prob_[0]) == pytest.approx(np.array([[1, 2, 1, 2], [1, 2, 2, 1]]) / 6)
    model.partial_fit([["dusk", "html"]], ["spam"]).forget([["dusk", "html"]], ["spam"])
    assert model.categories_[0].tolist() == ["dawn", "evening", "night", "noon"]


def test_values_named_for_another_number_of_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="categories has the values of 1 columns, but X has 2 columns"):
        CategoricalNB(categories=[["html", "text"]]).fit(MAIL, LABELS)


@pytest.mark.parametrize(
    ("X", "complaint"),
    [
        ([[1, "html"]], "X has numbers in a column that held names when it was learned"),
        (np.array([[1, 2]]), "X has numbers in a column that held names when it was learned"),
    ],
)
def test_numbers_are_no_names(X: Any, complaint: str) -> None:
    model = CategoricalNB().fit(MAIL, LABELS)
    with pytest.raises(ValueError, match=complaint):
        model.predict(np.array(X, object))


def test_names_are_no_numbers() -> None:
    model = CategoricalNB().fit([[1, 2], [2, 1]], [0, 1])
    with pytest.raises(ValueError, match="X has names in a column that held numbers when it was learned"):
        model.predict(np.array([["night", "html"]], object))
    with pytest.raises(ValueError, match="X has names in a column that held numbers when it was learned"):
        model.partial_fit(np.array([["night", "html"]], object), [0])
    assert [values.tolist() for values in model.categories_] == [[1, 2], [1, 2]]


def test_a_column_of_names_and_numbers_is_refused_by_name() -> None:
    frame = pd.DataFrame({"kind": ["html", "text"], "hour": ["noon", 7]})
    with pytest.raises(ValueError, match="column hour of X mixes numbers with other values: make it all strings"):
        CategoricalNB().fit(frame, [0, 1])


def test_thousands_of_columns_do_not_underflow() -> None:
    X = np.arange(4)[:, None] * np.ones(5000, int) % 3
    model = CategoricalNB().fit(X, [0, 0, 1, 1])
    joint = model.predict_joint_log_proba(X)
    assert np.isfinite(joint).all()
    assert joint.max() < -2000
    assert model.predict(X[:3]).tolist() == [0, 0, 1]


def test_columns_that_hold_nothing_but_gaps_say_nothing() -> None:
    model = CategoricalNB().fit([[None, "html"], [None, "text"]], ["spam", "ham"])
    assert model.categories_[0].tolist() == []
    assert model.explain([["night", "html"]])[0].terms[0].tolist() == [0, 0]


def test_drawn_names_are_names_and_drawn_numbers_are_numbers() -> None:
    rows, labels = CategoricalNB(alpha=0).fit(MAIL, LABELS).sample(200, random_state=0)
    assert {tuple(row) for row, label in zip(rows, labels, strict=True) if label == "spam"} == {
        ("evening", "html"),
        ("night", "html"),
    }
    rows, _ = CategoricalNB().fit([[1, 2.5], [7, 2.5]], [0, 1]).sample(200, random_state=0)
    assert rows.dtype == np.float64
    assert set(rows[:, 0]) == {1, 7}
