"""Damaged blocks of memory are named, and files that are truncated below a mapping end no process."""

import subprocess
import sys

import pytest

from priory.native.blocks import DamagedBlockError, MappedBlocks, block_checksums, checksum_of, n_blocks

TEXT = bytes(n * n % 251 for n in range(10_000))
SUMS = block_checksums([TEXT])
TRUNCATED = """
import mmap, os, sys
from priory.native.blocks import DamagedBlockError, MappedBlocks, block_checksums
with open(sys.argv[1], "w+b") as file:
    file.write(b"text" * 5_000)
    file.flush()
    memory = memoryview(mmap.mmap(file.fileno(), 20_000, access=mmap.ACCESS_COPY))
    blocks = MappedBlocks(memory, memoryview(block_checksums([memory])).cast("Q"))
    for arguments in ((b"text", "sums"), ("text", b"sums"), (b"", b""), (b"text",)):
        try:
            MappedBlocks(*arguments)
        except (TypeError, ValueError):
            continue
    os.ftruncate(file.fileno(), 4_096)
    try:
        blocks.require_all()
    except DamagedBlockError as error:
        print(error, blocks.is_lost)
"""


def test_the_checksums_of_parts_are_those_of_the_whole() -> None:
    assert len(SUMS) == 8 * n_blocks(len(TEXT))
    for cut in (0, 1, 4_095, 4_096, 4_097, 9_999, 10_000):
        assert block_checksums([TEXT[:cut], TEXT[cut:]]) == SUMS
        assert block_checksums([TEXT[:cut], b"", TEXT[cut:], b""]) == SUMS
    assert block_checksums([TEXT[at : at + 333] for at in range(0, len(TEXT), 333)]) == SUMS


def test_the_number_of_blocks_is_right_for_every_size() -> None:
    assert [n_blocks(size) for size in (0, 1, 4_096, 4_097, 2**63 - 1)] == [0, 1, 1, 2, 2**51]


def test_every_changed_byte_has_another_checksum() -> None:
    for size in (1, 7, 8, 31, 32, 33, 64, 100):
        text = bytearray(TEXT[:size])
        right = checksum_of(bytes(text))
        for at in range(size):
            text[at] ^= 16
            assert checksum_of(text) != right
            text[at] ^= 16


@pytest.mark.parametrize(("at", "block"), [(0, 0), (4_095, 0), (4_096, 1), (9_999, 2)])
def test_a_damaged_block_is_named_when_it_is_needed(at: int, block: int) -> None:
    memory = bytearray(TEXT)
    memory[at] ^= 1
    blocks, view = MappedBlocks(memory, memoryview(SUMS).cast("Q")), memoryview(memory)
    for n in range(3):
        part = view[4_096 * n : 4_096 * n + 9]
        if n != block:
            blocks.require_part(part)
        else:
            with pytest.raises(DamagedBlockError, match=f"block {block} is damaged"):
                blocks.require_part(part)
    with pytest.raises(DamagedBlockError):
        blocks.require_all()
    assert (blocks.n_left, blocks.are_verified) == (1, False)


def test_refused_arguments_leave_other_mappings_watched(tmp_path) -> None:
    command = [sys.executable, "-c", TRUNCATED, str(tmp_path / "counts")]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (0, "block 1 is damaged True\n"), child.stderr
