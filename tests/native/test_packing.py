"""Packing and unpacking are inverse, and damaged bytes are refused."""

from array import array
from contextlib import suppress
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priory.native.packing import pack, unpack

vectors = st.lists(st.sets(st.integers(0, 1023), max_size=200).map(sorted), max_size=12)


def packed_vector(kinds: list[list[int]], bits: int) -> bytes:
    buckets = array("I", (bucket for kind in kinds for bucket in kind))
    return pack(buckets, array("q", accumulate((len(kind) for kind in kinds), initial=0)), bits)


@pytest.mark.slow
@given(vectors, st.integers(10, 28))
def test_what_is_packed_can_be_unpacked(kinds, bits):
    buckets, offsets = unpack(packed_vector(kinds, bits), 12, bits)
    restored = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(12)]
    assert restored == kinds + [[]] * (12 - len(kinds))


@pytest.mark.parametrize("n", [0, 1, 2, 1 << 10, 1 << 12])
@pytest.mark.parametrize("bits", [12, 22, 28])
def test_few_and_many_buckets_at_the_end_of_the_table_are_packed(n, bits):
    kind = list(range((1 << bits) - n, 1 << bits))
    buckets, _ = unpack(packed_vector([kind, [], kind], bits), 3, bits)
    assert buckets.tolist() == kind + kind


@pytest.mark.parametrize("buckets", [[1, 1], [2, 1], [16]])
def test_buckets_that_are_not_distinct_in_order_and_in_the_table_are_not_packed(buckets):
    with pytest.raises(ValueError, match="buckets to be packed must be distinct, in order, and within the table"):
        packed_vector([buckets], 4)


def assert_unpacked_or_refused(blob: bytes, bits: int) -> None:
    whole = None
    with suppress(ValueError):
        whole = unpack(blob, 12, bits)
    if whole:
        buckets, offsets = whole
        kinds = [buckets[offsets[i] : offsets[i + 1]].tolist() for i in range(blob[0])]
        assert packed_vector(kinds, bits) == blob


@given(st.binary(max_size=300), st.integers(1, 28))
def test_any_bytes_are_unpacked_to_what_packs_to_them_or_refused(blob, bits):
    assert_unpacked_or_refused(blob, bits)


@given(vectors, st.data())
def test_damaged_features_are_refused_or_are_others(kinds, data):
    blob = bytearray(packed_vector(kinds, 10))
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    assert_unpacked_or_refused(bytes(blob), 10)
    assert_unpacked_or_refused(bytes(blob[:at]), 10)
    assert_unpacked_or_refused(bytes(blob) + b"\0", 10)


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
    ],
)
def test_hopeless_bytes_are_refused(blob):
    with pytest.raises(ValueError, match="packed features are damaged"):
        unpack(blob, 12, 22)


@pytest.mark.parametrize("offsets", [[], [0], [0, 1], [0, 3], [-1, 2], [1, 2], [0, 2, 1, 2], [0, 5, 2, 2]])
def test_offsets_that_do_not_divide_the_buckets_are_refused(offsets):
    with pytest.raises(IndexError, match="offsets do not divide 2 buckets into"):
        pack(array("I", [1, 2]), array("q", offsets), 4)
