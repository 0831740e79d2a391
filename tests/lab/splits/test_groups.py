"""What is linked is one group, through as many others as it takes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.lab.error import LabError
from priory.lab.splits import joined

GROUPINGS = st.integers(0, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 8), min_size=n, max_size=n), min_size=1, max_size=3)
)


def together(groups: Any) -> Any:
    groups = np.asarray(groups)
    return groups[:, None] == groups[None, :]


@settings(deadline=None)
@given(GROUPINGS)
def test_joined_is_the_finest_grouping_that_is_coarser_than_all(groupings: list[list[int]]) -> None:
    reached = np.sum([together(grouping) for grouping in groupings], axis=0) > 0
    for _ in range(len(reached)):
        reached = reached @ reached
    assert np.array_equal(together(joined(*groupings)), reached)


@settings(deadline=None)
@given(GROUPINGS)
def test_groups_are_numbered_as_they_come(groupings: list[list[int]]) -> None:
    found = joined(*groupings)
    assert found.dtype == np.int64
    assert list(dict.fromkeys(found.tolist())) == list(range(len(set(found.tolist()))))


def test_groups_may_be_texts_and_numbers_in_different_groupings() -> None:
    assert joined(["ann", "bob", "ann", "eve"], [1.5, 2.5, 3.5, 3.5]).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("groupings", "text"),
    [
        ((), "no grouping was given: give at least one"),
        (([1, 2], [1]), "groupings of 2 and 1 examples cannot be joined: their lengths must be equal"),
        ((["ann", None],), "1 of 2 groups are missing, the first is at 1: fill them in, or leave these examples out"),
        (([1.0, np.nan],), "1 of 2 groups are missing, the first is at 1: fill them in, or leave these examples out"),
        (([[1, 2]],), "groups have 2 dimensions: give one value for each example"),
    ],
)
def test_groupings_that_do_not_fit_are_told(groupings: tuple[Any, ...], text: str) -> None:
    with pytest.raises(LabError) as error:
        joined(*groupings)
    assert str(error.value) == text
