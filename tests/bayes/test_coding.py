"""Columns become codes and cells, and back; including new, missing and forgotten values."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes import CategoricalNB
from priory.bayes.coding import MISSING, Coding

names = st.sampled_from(["noon", "night", "dawn", "dusk", None])
numbers = st.sampled_from([-3.0, 0.0, 1.0, 2.0, 0.5, math.nan])
whole = st.integers(-2, 5)


@st.composite
def columns(draw: Any) -> list[np.ndarray]:
    n = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(["names", "numbers", "whole", "small"]), min_size=1, max_size=4))
    several = []
    for kind in kinds:
        values = {"names": names, "numbers": numbers, "whole": st.integers(-(10**6), 10**6), "small": whole}[kind]
        dtype = {"names": object, "numbers": float, "whole": np.int64, "small": np.int32}[kind]
        several.append(np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype))
    return several


def is_gap(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124


@given(columns())
def test_codes_number_the_values_in_order(table: list[np.ndarray]) -> None:
    coding = Coding.of(table)
    codes = coding.codes(table)
    for column, values, coded in zip(table, coding.categories, codes.T, strict=True):
        assert values.tolist() == sorted({value for value in column.tolist() if not is_gap(value)})
        assert coded.tolist() == [
            MISSING if is_gap(value) else values.tolist().index(value) for value in column.tolist()
        ]


@given(columns())
def test_known_codes_give_back_their_values(table: list[np.ndarray]) -> None:
    coding = Coding.of(table)
    codes = coding.codes(table)
    if (codes != MISSING).all():
        assert coding.decode(codes).tolist() == [list(row) for row in zip(*(c.tolist() for c in table), strict=True)]


@given(columns())
def test_cells_of_columns_lie_side_by_side_with_one_for_all_others(table: list[np.ndarray]) -> None:
    coding = Coding.of(table)
    others = [np.array(["never"] * len(c), object) if c.dtype.kind == "O" else np.full(len(c), 7.25) for c in table]
    cells, rest = coding.cells(table), coding.cells(others)
    assert (rest == np.cumsum(coding.n_values + 1) - 1).all()
    assert coding.n_cells == sum(len(values) + 1 for values in coding.categories)
    for j, begin in enumerate(coding.offsets):
        inside = cells[:, j][cells[:, j] != MISSING]
        assert ((inside >= begin) & (inside < begin + coding.n_values[j])).all()


@given(columns(), st.data())
def test_a_table_of_one_coding_is_one_of_a_wider_and_back(table: list[np.ndarray], data: Any) -> None:
    keep = data.draw(st.integers(1, len(table[0])))
    some, every = Coding.of([column[:keep] for column in table]), Coding.of(table)
    assert some.union(every).n_cells == every.union(some).n_cells == every.n_cells
    counts = np.arange(1.0, 2 * some.n_cells + 1).reshape(-1, 2)
    counts[np.cumsum(some.n_values + 1) - 1] = 0  # the cells of all others are never counted
    wider = some.recode(counts, every)
    assert wider.sum() == counts.sum()
    rows = [column[:keep] for column in table]
    known = some.cells(rows) != MISSING
    assert (wider[every.cells(rows)[known]] == counts[some.cells(rows)[known]]).all()
    assert (every.recode(wider, some) == counts).all()
    assert [v.tolist() for v in every.restrict((wider > 0).any(axis=1)).categories] == [
        v.tolist() for v in some.categories
    ]


def test_values_can_be_given() -> None:
    coding = Coding.from_values([["text", "html", "text"], [3, 1], []])
    assert [values.tolist() for values in coding.categories] == [["html", "text"], [1, 3], []]


def test_whole_numbers_of_any_size_have_codes() -> None:
    large = np.array([2**62, -(2**62), 0, 2**62])
    coding = Coding.of([large])
    assert coding.codes([large]).ravel().tolist() == [2, 0, 1, 2]
    unsigned = np.array([250, 0, 250], np.uint8)
    assert Coding.of([unsigned]).codes([unsigned]).ravel().tolist() == [1, 0, 1]


def test_whole_numbers_that_a_real_number_cannot_hold_are_refused() -> None:
    with pytest.raises(ValueError, match=r"X has whole numbers beyond 2\*\*53, .*: pass them as strings"):
        CategoricalNB().fit(np.array([[2**53], [2**53 + 1]]), [0, 1])


def test_whole_numbers_beyond_the_known_ones_are_unknown() -> None:
    coding = Coding.of([np.array([0, 1, 2])])
    assert coding.codes([np.array([-1, 0, 3, 99])]).ravel().tolist() == [3, 0, 3, 3]


def test_columns_of_names_and_of_numbers_do_not_join() -> None:
    with pytest.raises(ValueError, match="column 0 of X holds names in one place and numbers in another"):
        Coding.from_values([["html"]]).union(Coding.from_values([[1]]))
