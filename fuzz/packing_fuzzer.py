"""Unpack damaged features, and pack any numbers."""

from array import array

from engine import run

from priory.native.packing import pack, unpack


def fuzz_packing(data: bytes) -> None:
    """What can be unpacked is packed to the same features; numbers in disorder are refused."""
    bits, named = (data[0] % 28 + 1, data[1]) if len(data) > 1 else (10, 0)
    packed = data[2:]
    try:
        buckets, offsets, groups = unpack(packed, 12, bits, named)
    except ValueError:
        pass
    else:
        assert unpack(pack(buckets, offsets, bits, groups), 12, bits, named) == (buckets, offsets, groups)
    numbers = array("I", packed[: len(packed) // 4 * 4])
    half = len(numbers) // 2
    try:
        pack(numbers, array("q", [0, half, len(numbers)]), bits, named)
    except ValueError:
        return


if __name__ == "__main__":
    run(fuzz_packing)
