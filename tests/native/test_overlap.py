"""An index of the features of many messages finds what a search of all messages finds."""

from array import array
from itertools import accumulate
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priory.native.overlap import FeatureIndex

BITS, GROUPS, NAMED = 6, 3, 0b011  # numbers have six bits without a name, and eleven with one
Sets = list[set[int]]  # the numbers of each group


def flat(groups: Sets) -> tuple["array[int]", "array[int]"]:
    numbers = array("I", [number for group in groups for number in sorted(group)])
    return numbers, array("q", accumulate(map(len, groups), initial=0))


def sets(named: bool) -> st.SearchStrategy[Sets]:
    sizes = [1 << 11 if named and NAMED >> group & 1 else 1 << BITS for group in range(GROUPS)]
    return st.tuples(*(st.sets(st.integers(0, size - 1), max_size=12) for size in sizes)).map(list)


MESSAGES = st.lists(
    st.booleans().flatmap(lambda named: st.tuples(st.just(named), sets(named), st.floats(0, 9) | st.just(inf))),
    max_size=12,
)


def has(message: tuple[bool, Sets, float], number: int, group: int) -> bool:
    is_named, groups, _ = message
    own = number if is_named or not NAMED >> group & 1 else number >> 5
    return own in groups[group]


@settings(max_examples=300)
@given(MESSAGES, sets(named=True), st.integers(0, 2))
def test_the_earliest_time_of_a_feature_is_that_of_the_first_message_that_has_it(
    messages: list[tuple[bool, Sets, float]], wanted: Sets, n_thinned: int
) -> None:
    whole, thin = FeatureIndex(BITS), FeatureIndex(BITS)
    for is_named, groups, _ in messages:
        for index in (whole, thin):
            index.append(*flat(groups), NAMED if is_named else 0)
    for _ in range(n_thinned):
        thin.thin()
    times = array("d", [time for *_, time in messages])
    expected = [
        min((message[2] for message in messages if has(message, number, group) and message[2] < inf), default=None)
        for group, numbers in enumerate(wanted)
        for number in sorted(numbers)
    ]
    found = whole.earliest(*flat(wanted), NAMED, True, times)
    shadowed = len({number >> 5 for number in wanted[0]}) < len(wanted[0]) or len(
        {number >> 5 for number in wanted[1]}
    ) < len(wanted[1])
    if not shadowed:  # two wanted names that older messages cannot tell apart
        assert found == expected
    few = thin.earliest(*flat(wanted), NAMED, True, times)
    assert all(some is None or some == time for some, time in zip(few, found, strict=True))
    assert n_thinned or few == found


def test_an_index_that_holds_half_of_the_features_is_silent_about_the_others() -> None:
    index = FeatureIndex(22)
    numbers = array("I", range(1000))
    index.append(numbers, array("q", [0, 1000]), 1)
    index.thin()
    found = index.earliest(numbers, array("q", [0, 1000]), 1, False, array("d", [5.0]))
    assert set(found) == {5.0, None}
    assert found.count(5.0) == index.n_features


def test_times_must_be_those_of_the_messages() -> None:
    index = FeatureIndex(22)
    index.append(array("I", [1]), array("q", [0, 1]), 1)
    with pytest.raises(IndexError, match="1 messages have 2 times"):
        index.earliest(array("I", [1]), array("q", [0, 1]), 1, False, array("d", [1.0, 2.0]))
