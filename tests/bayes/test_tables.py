"""The smoothed share, and adding and subtracting rows of counts."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from priory.bayes.tables import add_cells_to, add_to, log_shares, spread, used_columns, weighted_logs

NEVER_LEARNED = "X and y hold rows that were never learned, or were forgotten already: nothing was changed"
whole = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(whole, st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1)]))
def test_a_share_is_the_smoothed_fraction(counts: list[int], alpha: Fraction) -> None:
    m, total = len(counts), sum(counts)
    fractions = [(n + alpha) / (total + m * alpha) if total + m * alpha else Fraction(1, m) for n in counts]
    logs = log_shares(counts, total, m, float(alpha))
    assert np.exp(logs) == pytest.approx([float(p) for p in fractions], rel=1e-12)
    assert np.isneginf(logs).tolist() == [p == 0 for p in fractions]
    assert np.exp(logs).sum() == pytest.approx(1)


def test_shares_leave_the_counts_as_they_are() -> None:
    counts, totals = np.ones((3, 2)), np.full(2, 3.0)
    log_shares(counts, totals, 3, 1.0)
    assert (counts == 1).all()
    assert (totals == 3).all()


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=4), st.data())
def test_what_does_not_occur_may_be_impossible(rows: list[list[int]], data: Any) -> None:
    side = st.lists(st.sampled_from([-math.inf, -1.0, -0.25, 0.0]), min_size=2, max_size=2)
    logs = data.draw(st.lists(side, min_size=3, max_size=3))
    expected = [[sum(x * logs[j][k] for j, x in enumerate(row) if x) for k in range(2)] for row in rows]
    assert weighted_logs(np.array(rows), np.array(logs)).tolist() == expected
    assert weighted_logs(csr_matrix(rows), np.array(logs)).tolist() == expected


lessons = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.integers(0, 2), st.integers(0, 8)), min_size=1
)


@given(lessons, st.sampled_from([np.array, csr_matrix]))
def test_adding_rows_and_taking_them_back_leaves_nothing(rows: Any, form: Any) -> None:
    X, labels = form([row for row, _, _ in rows]), np.array([k for _, k, _ in rows])
    weights = np.array([w / 4 for *_, w in rows])
    table = np.ones((4, 3))
    add_to(table, X, labels, weights)
    for j in range(4):
        for k in range(3):
            assert table[j, k] == 1 + sum(row[j] * w / 4 for row, label, w in rows if label == k)
    add_to(table, X, labels, -weights)
    assert (table == 1).all()


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=20), st.randoms())
def test_weights_of_any_size_leave_no_trace_below_zero_or_above(weights: list[float], chance: Any) -> None:
    """Sums of real numbers do not cancel exactly: what is left after everything is taken back counts as nothing."""
    table, cells = np.zeros((2, 1)), np.zeros((len(weights), 1), np.int32)
    labels = np.zeros(len(weights), np.int64)
    add_cells_to(table, cells, labels, np.array(weights))
    chance.shuffle(weights)
    add_cells_to(table, cells, labels, -np.array(weights))
    assert not table.any()


@pytest.mark.parametrize("form", [np.array, csr_matrix])
def test_what_was_never_there_is_not_taken_back(form: Any) -> None:
    table = np.array([[1.0, 0.0], [2.0, 3.0], [5.0, 5.0]])
    before = table.copy()
    with pytest.raises(ValueError, match=NEVER_LEARNED):
        add_to(table, form([[1, 2, 0], [0, 4, 1]]), np.array([0, 1]), np.array([-1.0, -1.0]))
    assert (table == before).all()
    with pytest.raises(ValueError, match=NEVER_LEARNED):
        add_to(table, form([[1, 2, 0]]), np.array([0]), np.array([-1.0]), fits=lambda: False)
    assert (table == before).all()
    with pytest.raises(ValueError, match=NEVER_LEARNED):
        add_cells_to(table, np.array([[2], [0]], np.int32), np.array([1, 1]), np.array([-1.0, -1.0]))
    assert (table == before).all()


@given(st.lists(st.sets(st.integers(0, 39), max_size=6), min_size=1, max_size=4))
def test_a_few_rows_use_a_few_columns(rows: list[set[int]]) -> None:
    dense = np.array([[column in row for column in range(40)] for row in rows], float)
    columns, narrow = used_columns(csr_matrix(dense))
    table = np.arange(80.0).reshape(40, 2)
    assert (narrow @ table[columns] == dense @ table).all()
    if dense.sum() <= 10:
        assert narrow.shape[1] == dense.any(axis=0).sum()
    assert used_columns(dense)[1] is dense


def test_classes_are_spread_among_more() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert spread(table, np.array([2, 0]), 4).tolist() == [[2, 0, 1, 0], [4, 0, 3, 0]]
    assert spread(np.array([1.0, 2.0]), np.array([0, 2]), 3).tolist() == [1, 0, 2]
