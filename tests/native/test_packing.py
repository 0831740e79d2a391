"""Packing and unpacking are inverse, and damaged bytes are refused."""

from array import array
from contextlib import suppress
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.native.packing import pack, unpack
from priory.native.table import bits_of_names

vectors = st.lists(st.sets(st.integers(0, 1023), max_size=200).map(sorted), max_size=12)


masks = st.integers(0, (1 << 12) - 1)


def packed_vector(kinds: list[list[int]], bits: int, named: int = 0) -> bytes:
    buckets = array("I", (bucket for kind in kinds for bucket in kind))
    return pack(buckets, array("q", accumulate((len(kind) for kind in kinds), initial=0)), bits, named)


@pytest.mark.slow
@given(vectors, st.integers(10, 28), masks)
def test_what_is_packed_can_be_unpacked(kinds, bits, named):
    extra = bits_of_names(bits) - bits
    kinds = [[n << extra for n in kind] if named >> i & 1 else kind for i, kind in enumerate(kinds)]
    buckets, offsets, found = unpack(packed_vector(kinds, bits, named), 12, bits, named)
    restored = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(12)]
    assert restored == kinds + [[]] * (12 - len(kinds))
    assert found == named


@pytest.mark.parametrize("n", [0, 1, 2, 1 << 10, 1 << 12])
@pytest.mark.parametrize("bits", [12, 22, 28])
def test_few_and_many_buckets_at_the_end_of_the_table_are_packed(n, bits):
    kind = list(range((1 << bits) - n, 1 << bits))
    buckets, _, _ = unpack(packed_vector([kind, [], kind], bits), 3, bits)
    assert buckets.tolist() == kind + kind


@pytest.mark.parametrize("n", [0, 1, 2, 1 << 10, 1 << 12])
@pytest.mark.parametrize("bits", [12, 22, 23, 28])
def test_few_and_many_names_with_the_largest_numbers_are_packed(n, bits):
    names = 1 << bits_of_names(bits)
    kind, buckets = list(range(names - n, names)), list(range((1 << bits) - n, 1 << bits))
    numbers, offsets, named = unpack(packed_vector([kind, buckets, kind], bits, 0b101), 3, bits, 0b101)
    assert (numbers.tolist(), offsets.tolist()) == (kind + buckets + kind, [0, n, 2 * n, 3 * n])
    assert named == 0b101


def test_features_without_names_are_read_where_others_have_names():
    """Lessons of an older version have no names; the highest bit of the first byte tells them apart."""
    kinds = [[1, 2, 1023], [], [5]]
    old, new = packed_vector(kinds, 10), packed_vector(kinds, 10, 0b101)
    assert (old[0], new[0]) == (3, 128 | 3)
    for blob, named in ((old, 0), (new, 0b101)):
        buckets, offsets, found = unpack(blob, 3, 10, 0b101)
        assert [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(3)] == kinds
        assert found == named


@pytest.mark.parametrize(
    ("numbers", "named"), [([1, 1], 0), ([2, 1], 0), ([16], 0), ([1, 1], 1), ([2, 1], 1), ([16 << 5], 1)]
)
def test_features_that_are_not_distinct_in_order_and_in_the_table_are_not_packed(numbers, named):
    with pytest.raises(ValueError, match="buckets to be packed must be distinct, in order, and within the table"):
        packed_vector([numbers], 4, named)


def assert_unpacked_or_refused(blob: bytes, bits: int, named: int) -> None:
    whole = None
    with suppress(ValueError):
        whole = unpack(blob, 12, bits, named)
    if whole:
        buckets, offsets, found = whole
        assert found == (named if blob[0] & 128 else 0)
        kinds = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(blob[0] & 127)]
        assert packed_vector(kinds, bits, found) == blob


@given(st.binary(max_size=300), st.integers(1, 28), masks.filter(bool))
def test_any_bytes_are_unpacked_to_what_packs_to_them_or_refused(blob, bits, named):
    assert_unpacked_or_refused(blob, bits, named)


@given(vectors, masks.filter(bool), st.booleans(), st.data())
def test_damaged_features_are_refused_or_are_others(kinds, named, has_names, data):
    blob = bytearray(packed_vector(kinds, 10, named if has_names else 0))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    assert_unpacked_or_refused(bytes(blob), 10, named)
    assert_unpacked_or_refused(bytes(blob[:at]), 10, named)
    assert_unpacked_or_refused(bytes(blob) + b"\0", 10, named)


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x0d",
        b"\x01",
        b"\x01\xff\xff\xff\xff",
        b"\x01" + b"\xff" * 100_000,
        b"\x00\x00",
        b"\x01\x1f" + b"\xff" * 99,
        b"\x8d",
        b"\x81",
        b"\x81\xff\xff\xff\xff",
        b"\x81" + b"\xff" * 100_000,
        b"\x80\x00",
        b"\xff" * 99,
    ],
)
def test_hopeless_bytes_are_refused(blob):
    for named in (0, 0b1001, (1 << 12) - 1):
        with pytest.raises(ValueError, match="packed features are damaged"):
            unpack(blob, 12, 22, named)


@pytest.mark.parametrize("offsets", [[], [0], [0, 1], [0, 3], [-1, 2], [1, 2], [0, 2, 1, 2], [0, 5, 2, 2]])
def test_offsets_that_do_not_divide_the_buckets_are_refused(offsets):
    with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
        pack(array("I", [1, 2]), array("q", offsets), 4)
