"""DistinctRows and SparseCounts equal a plain dictionary after any learning, forgetting and merging."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.bayes.coding import Coding
from priory.bayes.input import Columns, typed_column
from priory.bayes.sparse_counts import DistinctRows, SparseCounts

Row = tuple[str | None, float | None]
Lesson = tuple[Row, int, Fraction]
FORMS = st.sampled_from(["html", "mime", "text", None])
SIZES = st.sampled_from([-1.0, 0.5, 7.0, None])
WEIGHTS = st.sampled_from([Fraction(n, 10) for n in (0, 1, 3, 10)])
LESSONS = st.lists(st.tuples(st.tuples(FORMS, SIZES), st.integers(0, 1), WEIGHTS), max_size=12)
GIVEN = st.sampled_from([None, [["mime", "zip"], []], [[], [3.0, 7.0]]])


def columns(rows: Iterable[Row]) -> Columns:
    forms, sizes = zip(*rows, strict=True)
    return Columns([typed_column(np.array(forms, object), "form"), np.array(sizes, float)])


def changed(kept: DistinctRows, lessons: list[Lesson], sign: int = 1) -> DistinctRows:
    if not lessons:
        return kept
    rows, labels, weights = zip(*lessons, strict=True)
    return kept.update(columns(rows), np.array(labels), sign * np.array(weights, float))


def empty(categories: list[list[float]] | None = None, n_classes: int = 2) -> DistinctRows:
    return DistinctRows.empty(Coding.from_parameter(categories, 2), n_classes)


def weights_of(kept: DistinctRows) -> dict[tuple[Row, int], float]:
    """What is kept, with values for codes and None for those that are missing."""
    codes, weights = kept.codes_and_weights()
    names = [[*values.tolist(), None] for values in kept.coding.categories]
    rows = [tuple(of[code] for of, code in zip(names, row, strict=True)) for row in codes.tolist()]
    assert len(set(rows)) == len(rows)
    assert weights.any(axis=1).all()
    return {(row, label): weights[i, label] for i, row in enumerate(rows) for label in np.flatnonzero(weights[i])}


def expected(lessons: Iterable[Lesson]) -> Counter[tuple[Row, int]]:
    found: Counter[tuple[Row, int]] = Counter()
    for row, label, weight in lessons:
        found[row, label] += weight
    return +found


def assert_keeps(kept: DistinctRows, lessons: list[Lesson]) -> None:
    found = weights_of(kept)
    assert found == pytest.approx({key: float(weight) for key, weight in expected(lessons).items()})
    for j, values in enumerate(kept.coding.categories):
        had = {row[j] for row, _ in found} - {None}
        assert values.tolist() == sorted(had | set(kept.given.categories[j].tolist()))


@pytest.mark.slow
@given(first=LESSONS, then=LESSONS, last=LESSONS, known=GIVEN)
def test_what_is_learned_and_taken_back_is_what_a_dictionary_holds(
    first: list[Lesson], then: list[Lesson], last: list[Lesson], known: list[list[float]] | None
) -> None:
    kept = changed(changed(empty(known), first), then)
    assert_keeps(kept, first + then)
    kept = changed(kept, first, -1)
    assert_keeps(kept, then)
    kept = changed(kept, last)
    assert_keeps(kept, then + last)
    assert_keeps(changed(kept, then + last, -1), [])


@given(first=LESSONS, then=LESSONS, known=GIVEN)
def test_merging_is_learning_both_and_can_be_taken_back(
    first: list[Lesson], then: list[Lesson], known: list[list[float]] | None
) -> None:
    kept = changed(empty(known), first).plus(changed(empty(known), then))
    assert_keeps(kept, first + then)
    assert_keeps(changed(kept, first, -1), then)


@given(lessons=LESSONS, row=st.tuples(FORMS, SIZES), label=st.integers(0, 1))
def test_all_is_taken_back_or_nothing(lessons: list[Lesson], row: Row, label: int) -> None:
    kept = changed(empty(), lessons)
    before = weights_of(kept), kept.uses.tolist()
    too_much = (row, label, expected(lessons)[row, label] + 1)
    with pytest.raises(ValueError, match="never learned, or were forgotten already: nothing was changed"):
        changed(kept, [*lessons, too_much], -1)
    assert (weights_of(kept), kept.uses.tolist()) == before
    assert_keeps(changed(kept, lessons, -1), [])


def test_missing_values_are_like_each_other_and_like_no_value_never_seen() -> None:
    gap: Row = ("html", None)
    kept = changed(
        empty(), [(gap, 0, Fraction(1)), (("html", math.nan), 0, Fraction(1)), (("html", 3.0), 1, Fraction(1))]
    )
    assert weights_of(kept) == {(gap, 0): 2.0, (("html", 3.0), 1): 1.0}
    codes = kept.coding.codes(columns([gap, ("html", 8.0), ("mime", None), ("html", 3.0)]))
    assert kept.weights_of(codes).tolist() == [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]


def test_classes_are_moved_and_the_rows_before_stay_as_they_were() -> None:
    lesson: Lesson = (("html", 1.0), 1, Fraction(1))
    kept = changed(empty(), [lesson])
    wider = changed(
        kept.spread(np.array([0, 2]), 3), [(("html", 1.0), 1, Fraction(4)), (("text", 1.0), 0, Fraction(1))]
    )
    assert wider.codes_and_weights()[1].tolist() == [[0.0, 4.0, 1.0], [1.0, 0.0, 0.0]]
    assert weights_of(kept) == {(("html", 1.0), 1): 1.0}


def test_a_row_learned_twice_at_once_is_taken_back_once_and_again() -> None:
    lesson: Lesson = (("html", 1.0), 0, Fraction(1))
    kept = changed(changed(empty(), [lesson, lesson]), [lesson], -1)
    assert_keeps(kept, [lesson])
    assert_keeps(changed(kept, [lesson], -1), [])


def test_a_value_is_known_as_long_as_a_row_has_it_however_weights_are_rounded() -> None:
    heavy, light = (("html", 1.0), 0, Fraction(10**9)), (("html", 2.0), 0, Fraction(1, 10))
    kept = changed(empty(), [heavy, light])  # the weight of all html is off by 2e-8, a large share of 0.1
    kept = changed(kept, [heavy], -1)
    assert weights_of(kept) == {(("html", 2.0), 0): 0.1}
    assert_keeps(changed(kept, [light], -1), [])


def test_a_row_that_weighs_next_to_nothing_stays_when_others_go() -> None:
    other, slight = (("html", 1.0), 0, Fraction(1)), (("text", 2.0), 0, Fraction(1, 10**10))
    kept = changed(changed(empty(), [other, slight]), [other], -1)
    kept = changed(kept, [(("mime", 3.0), 0, Fraction(1))])  # which could be taken for text, if that had been given up
    assert weights_of(kept) == {(("text", 2.0), 0): 1e-10, (("mime", 3.0), 0): 1.0}


def test_a_row_never_learned_that_weighs_next_to_nothing_cannot_be_forgotten() -> None:
    other, slight = (("html", 1.0), 0, Fraction(1)), (("text", 1.0), 0, Fraction(1, 10**12))
    lessons: list[Lesson] = [other, (("text", 2.0), 0, Fraction(1)), (("mime", 1.0), 1, Fraction(1))]
    kept = changed(empty(), lessons)
    with pytest.raises(ValueError, match="never learned"):
        changed(kept, [other, slight], -1)
    assert_keeps(kept, lessons)


def test_the_numbers_of_forgotten_values_are_used_again() -> None:
    lessons: list[Lesson] = [(("html", float(day)), 0, Fraction(1)) for day in range(50)]
    kept = changed(empty(), lessons[:1])
    for yesterday, today in pairwise(lessons):
        kept = changed(changed(kept, [today]), [yesterday], -1)
    assert_keeps(kept, lessons[-1:])
    assert kept.numbers.max() <= 3
    assert len(kept.counts.table) == len(empty().counts.table)


def test_the_places_of_forgotten_things_are_used_again() -> None:
    seen = SparseCounts(n_classes=1)
    slots = seen.allocate(["offer", "lunch"])
    seen.table[slots] = [[0.0], [1.0]]
    seen.drop_empty(["offer", "lunch", "offer"], seen.slots(["offer", "lunch", "offer"]))
    assert seen.slots(["offer", "lunch"]).tolist() == [0, slots[1]]
    assert seen.allocate(["hello", "world"]).tolist() == [slots[0], 3]
    assert seen.allocate([f"word {i}" for i in range(100)]).tolist() == list(range(4, 104))
    assert seen.table[slots[1]].tolist() == [1.0]
