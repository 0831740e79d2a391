"""Each kernel equals a few lines of Python, and refuses indices outside its arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes.kernels import add_cells, add_rows, log_posterior, sum_cells, weigh_coins

quarters = st.integers(-8, 8).map(lambda n: n / 4)
lessons = st.lists(st.tuples(st.dictionaries(st.integers(0, 15), quarters, max_size=6), st.integers(0, 2), quarters))


@given(lessons, st.sampled_from([np.int32, np.int64]))
def test_sparse_rows_are_added_to_their_labels(rows, index):
    counts = np.ones((16, 3))
    indptr = np.cumsum([0, *(len(row) for row, _, _ in rows)]).astype(index)
    indices = np.array([column for row, _, _ in rows for column in row], index)
    values = np.array([value for row, _, _ in rows for value in row.values()], float)
    labels, weights = np.array([k for _, k, _ in rows], np.int64), np.array([w for _, _, w in rows], float)
    totals = add_rows(counts, indptr, indices, values, labels, weights)
    assert totals.tolist() == [sum(sum(row.values()) * w for row, k, w in rows if k == label) for label in range(3)]
    for column in range(16):
        for label in range(3):
            expected = 1 + sum(row.get(column, 0) * weight for row, k, weight in rows if k == label)
            assert counts[column, label] == expected


@given(
    st.lists(st.lists(st.integers(-1, 15), min_size=4, max_size=4)),
    st.integers(0, 2**32 - 1),
)
def test_cells_are_added_to_their_labels_and_summed_without_those_that_are_none(rows, seed):
    rng = np.random.default_rng(seed)
    cells = np.array(rows, np.int32).reshape(-1, 4)
    labels, weights = rng.integers(0, 3, len(rows)), rng.integers(-8, 9, len(rows)) / 4
    counts = np.zeros((16, 3))
    add_cells(counts, cells, labels, weights)
    for cell in range(16):
        for label in range(3):
            found = sum(row.count(cell) * w for row, k, w in zip(rows, labels, weights, strict=True) if k == label)
            assert counts[cell, label] == found
    logs = -rng.integers(0, 9, (16, 3)) / 4
    expected = [[sum(logs[cell, k] for cell in row if cell >= 0) for k in range(3)] for row in rows]
    assert sum_cells(logs, cells).tolist() == expected


def test_impossible_cells_make_a_sum_impossible():
    logs = np.array([[-math.inf, -1.0], [-2.0, -math.inf]])
    assert sum_cells(logs, np.array([[0, 1], [1, -1], [-1, -1]], np.int32)).tolist() == [
        [-math.inf, -math.inf],
        [-2.0, -math.inf],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"indptr": [0, 1]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"weights": [1.0]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"values": [1.0]}, "labels, weights and indptr do not describe the same 2 rows"),
        ({"indptr": [1, 2, 3]}, "indptr does not divide 3 values into 2 rows"),
        ({"indptr": [0, 2, 4]}, "indptr does not divide 3 values into 2 rows"),
        ({"indptr": [0, 4, 3]}, "row 1 has no place in a table of 4 × 2"),
        ({"labels": [0, 2]}, "row 1 has no place in a table of 4 × 2"),
        ({"labels": [-1, 0]}, "row 0 has no place in a table of 4 × 2"),
        ({"indices": [0, 1, 4]}, "column 4 is not in a table of 4 × 2"),
        ({"indices": [0, -1, 2]}, "column -1 is not in a table of 4 × 2"),
    ],
)
def test_sparse_rows_that_would_leave_the_table_are_refused(changed, complaint):
    given = {"indptr": [0, 2, 3], "indices": [0, 3, 1], "values": [1.0] * 3, "labels": [0, 1], "weights": [1.0] * 2}
    types = {"values": float, "weights": float, "labels": np.int64, "indptr": np.int32, "indices": np.int32}
    counts = np.zeros((4, 2))
    with pytest.raises(IndexError, match=complaint):
        add_rows(counts, **{name: np.array(value, types[name]) for name, value in (given | changed).items()})
    assert not counts.any()


@pytest.mark.parametrize("cell", [4, 2**31 - 1, -2, -(2**31)])
def test_cells_that_are_not_in_the_table_are_refused(cell):
    cells, table = np.array([[0, 1], [cell, -1]], np.int32), np.zeros((4, 2))
    for act in (
        lambda: add_cells(table, cells, np.zeros(2, np.int64), np.ones(2)),
        lambda: sum_cells(table, cells),
    ):
        with pytest.raises(IndexError, match=f"cell {cell} is not in a table of 4"):
            act()
    assert not table.any()


@pytest.mark.parametrize(
    ("labels", "weights", "complaint"),
    [
        ([0], [1.0, 1.0], "1 labels and 2 weights for 2 rows"),
        ([0, 0], [1.0], "2 labels and 1 weights for 2 rows"),
        ([0, 2], [1.0, 1.0], "label 2 is not in a table of 4 × 2"),
        ([-1, 0], [1.0, 1.0], "label -1 is not in a table of 4 × 2"),
    ],
)
def test_labels_that_do_not_fit_the_cells_are_refused(labels, weights, complaint):
    counts = np.zeros((4, 2))
    with pytest.raises(IndexError, match=complaint):
        add_cells(counts, np.zeros((2, 1), np.int32), np.array(labels), np.array(weights))
    assert not counts.any()


coins = st.lists(st.lists(st.integers(0, 4), min_size=2, max_size=2), max_size=5)


@given(coins, st.sampled_from([0.01, 1.0]), st.booleans(), st.booleans())
def test_coins_are_weighed_as_by_the_formula(rows, alpha, one_total, wanted):
    """log p(absent) summed over features, and log p(present) - log p(absent), with p = (c + α) / (n + 2α)."""
    counts = np.array(rows, float).reshape(-1, 2)
    totals = np.array([[5.0, 4.0]]) if one_total else counts + np.array([[0.0, 1.5]])
    gains = np.full((len(rows) if wanted else 0, 2), np.nan)
    found = weigh_coins(counts, totals, alpha, gains)
    n = np.broadcast_to(totals, counts.shape)
    present, absent = (np.log((side + alpha) / (n + 2 * alpha)) for side in (counts, n - counts))
    assert found == pytest.approx(absent.sum(axis=0), abs=1e-12)
    if wanted:
        assert gains == pytest.approx(present - absent, abs=1e-12)


@pytest.mark.parametrize(
    ("totals", "gains", "complaint"),
    [
        (np.ones((2, 2)), np.ones((3, 2)), "totals do not fit a table of 3 × 2"),
        (np.ones((1, 3)), np.ones((3, 2)), "totals do not fit a table of 3 × 2"),
        (np.ones((1, 2)), np.ones((2, 2)), "gains do not fit a table of 3 × 2"),
        (np.ones((1, 2)), np.ones((3, 1)), "gains do not fit a table of 3 × 2"),
    ],
)
def test_coins_that_do_not_fit_are_refused(totals, gains, complaint):
    with pytest.raises(IndexError, match=complaint):
        weigh_coins(np.ones((3, 2)), totals, 1.0, gains)


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9) | st.just(-math.inf), min_size=3, max_size=3), max_size=4),
    st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any),
)
def test_a_posterior_is_the_joint_over_its_sum_or_else_the_prior(rows, parts):
    with np.errstate(divide="ignore"):
        prior = np.log(np.array(parts) / sum(parts))
    joint = np.array(rows).reshape(-1, 3)
    for found, row in zip(log_posterior(joint, prior), joint, strict=True):
        # joint - (highest + log(total)) would lose the digits of log(total) next to those of a long row's joint
        assert np.exp(found).sum() == pytest.approx(1, rel=1e-12)
        expected = prior if np.isneginf(row).all() else row - row.max() - np.log(np.exp(row - row.max()).sum())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_certain_classes_share_by_their_prior():
    found = log_posterior(np.array([[math.inf, 3.0, math.inf], [math.inf, 0.0, 0.0]]), np.log([0.2, 0.5, 0.3]))
    assert np.exp(found) == pytest.approx(np.array([[0.4, 0, 0.6], [1, 0, 0]]))


def test_priors_of_other_classes_are_refused():
    with pytest.raises(IndexError, match="2 priors for 3 classes"):
        log_posterior(np.zeros((1, 3)), np.zeros(2))
