"""A user's own evidence: the compiled sum equals the formula, and reads the rows that were counted."""

import math
import random
from array import array

import pytest

from priory.bayes import Counts
from priory.bayes.personal import PersonalBayes

MODEL = PersonalBayes([0, 4, 1], [9.0, 5.0, 2.0], damping=20.0, smoothing=0.03, doubt=3.0, trust=10.0)
BITS = 14


def drawn(chance: random.Random) -> tuple[array, array]:
    """Buckets in three groups of any size, and where each begins."""
    sizes = [chance.randrange(40) for _ in range(3)]
    groups = [sorted(chance.sample(range(300), size)) for size in sizes]
    offsets = array("q", [0, sizes[0], sizes[0] + sizes[1], sum(sizes)])
    return array("I", [bucket for group in groups for bucket in group]), offsets


def test_the_sum_is_the_formula() -> None:
    chance, key = random.Random(3), 77
    counts = Counts.empty(4, 3, BITS)
    seen: dict[int, list[int]] = {}
    totals = [0, 0, 0]
    for _ in range(60):
        (buckets, offsets), label = drawn(chance), chance.randrange(3)
        counts.add_personal(MODEL.rows(buckets, offsets, key, BITS), label)
        totals[label] += 1
        for bucket in picked(buckets, offsets):
            seen.setdefault(bucket, [0, 0, 0])[label] += 1
    assert MODEL.totals(counts.personal, key) == totals
    for label in range(3):
        buckets, offsets = drawn(chance)
        terms = array("d", [0.5]) * len(buckets)
        total = MODEL.add_terms(terms, counts.personal, buckets, offsets, key, label)
        expected = formula(buckets, offsets, seen, totals, label)
        assert [term - 0.5 for term in terms] == pytest.approx(expected, abs=1e-12)
        assert total == pytest.approx(sum(expected), abs=1e-12)
        assert total != 0


def picked(buckets: array, offsets: array) -> list[int]:
    """The buckets that count: one in four of the second group, all of the third."""
    second = [bucket for bucket in buckets[offsets[1] : offsets[2]] if ((bucket * 0x9E3779B1 % 2**32) >> 8) % 4 == 0]
    return second + buckets[offsets[2] : offsets[3]].tolist()


def formula(buckets: array, offsets: array, seen: dict[int, list[int]], totals: list[int], label: int) -> list[float]:
    n = sum(totals)
    shift = math.log((n - totals[label] + 2 * 3.0) / (totals[label] + 3.0))
    chosen, sizes = picked(buckets, offsets), {}
    third = offsets[3] - offsets[2]
    sizes = {1: len(chosen) - third, 2: third}
    terms = [0.0] * len(buckets)
    for group, weight in ((1, 5.0), (2, 2.0)):
        for i in range(offsets[group], offsets[group + 1]):
            counted = seen.get(buckets[i])
            if counted and (group == 2 or buckets[i] in picked(buckets, array("q", [0, 0, offsets[2], offsets[2]]))):
                own, rest = counted[label], sum(counted) - counted[label]
                ratio = math.log((own + 0.03) / (rest + 0.03)) + shift
                terms[i] = n / (n + 10.0) * weight / (sizes[group] + 20.0) * ratio
    return terms


def test_longer_numbers_count_in_the_rows_of_their_buckets() -> None:
    chance = random.Random(6)
    buckets, offsets = drawn(chance)
    longer = array("I", (bucket << 5 | chance.randrange(32) for bucket in buckets))
    rows = MODEL.rows(buckets, offsets, 1, BITS)
    assert MODEL.rows(longer, offsets, 1, BITS, 5) == rows
    counts = Counts.empty(4, 2, BITS)
    counts.add_personal(rows, 1)
    one, two = (array("d", bytes(8 * len(buckets))) for _ in range(2))
    assert MODEL.add_terms(one, counts.personal, buckets, offsets, 1, 1) > 0
    MODEL.add_terms(two, counts.personal, longer, offsets, 1, 1, 5)
    assert one == two


def test_nobody_else_has_evidence_by_it() -> None:
    chance = random.Random(4)
    counts = Counts.empty(4, 2, BITS)
    buckets, offsets = drawn(chance)
    counts.add_personal(MODEL.rows(buckets, offsets, 1, BITS), 1)
    terms = array("d", bytes(8 * len(buckets)))
    assert MODEL.add_terms(terms, counts.personal, buckets, offsets, 2, 1) == 0.0
    assert not any(terms)


def test_who_takes_back_what_was_never_counted_changes_nothing() -> None:
    buckets, offsets = drawn(random.Random(5))
    counts = Counts.empty(4, 2, BITS)
    rows = MODEL.rows(buckets, offsets, 1, BITS)
    counts.add_personal(rows, 0)
    before = [bytes(part) for part in counts.buffers]
    with pytest.raises(ValueError, match="features were never counted"):
        counts.subtract_personal(rows, 1)
    assert [bytes(part) for part in counts.buffers] == before
    counts.subtract_personal(rows, 0)
    assert counts.buffers == Counts.empty(4, 2, BITS).buffers
    assert len(counts.parts) == 5  # nobody has anything: nothing is stored for it


@pytest.mark.parametrize(
    ("offsets", "terms", "label", "said"),
    [
        ([0, 1, 9], 3, 0, "3 offsets do not divide 3 buckets"),
        ([1, 2], 3, 0, "2 offsets do not divide"),
        ([0, 3], 2, 0, "label 0, 2 terms: not for 3 buckets"),
        ([0, 3], 3, 2, "label 2, 3 terms"),
    ],
)
def test_what_does_not_fit_is_refused(offsets: list[int], terms: int, label: int, said: str) -> None:
    counts = Counts.empty(4, 2, BITS)
    with pytest.raises(IndexError, match=said):
        MODEL.add_terms(
            array("d", bytes(8 * terms)), counts.personal, array("I", [1, 2, 3]), array("q", offsets), 1, label
        )


def test_groups_have_weights() -> None:
    with pytest.raises(IndexError, match="2 groups have 1 weights"):
        PersonalBayes([1, 1], [1.0], 1.0, 1.0, 1.0, 1.0)
