"""A snapshot of the counts: a file that is mapped into memory, and that can always be rebuilt from the journal.

A snapshot names its journal, its labels, the change it stands at and the digest of its counts. The journal has the
digest too: after it was restored from a backup, change numbers repeat with other lessons. A snapshot that does not fit
is not used, and the counts are built from the journal instead.

The file has a head of one page, the counts, and a checksum for each block of the counts. The head has the checksum of
these checksums, and ends with its own. The small tables are verified when the file is opened, each block of the large
ones before it is used (docs/decisions/journal.md).
"""

import json
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from priory.bayes import Counts
from priory.bayes.counts import CountsShape
from priory.journal.files import replacing
from priory.journal.lesson import JournalError
from priory.native.blocks import MappedBlocks, block_checksums, checksum_of, n_blocks

_MAGIC: Final = b"priory counts 6\n"
_WITHOUT_CHECKSUMS: Final = b"priory counts 5\n"  #: the format before, in which only the digest tells damage
_ANY_MAGIC: Final = b"priory counts "
HEAD_BYTES: Final = 4096  #: before the counts; the description must fit into them
_SUM_BYTES: Final = 8
_MOST_NAME_BITS: Final = 31


class SnapshotPoint(NamedTuple):
    """Where counts stand."""

    change: int
    stamp: str
    left_out: Sequence[int] = ()  #: of each label: lessons that are damaged and not counted


class Snapshot(NamedTuple):
    """Counts at a change, and their digest."""

    counts: Counts
    change: int
    stamp: str
    digest: str
    left_out: Sequence[int] = ()


class DamagedSnapshotError(ValueError):
    """A snapshot is not what was written; the text says how."""


class _Head(NamedTuple):
    """What the head of a snapshot says."""

    fits: dict[str, Any]  #: must be equal to what the snapshot is wanted for
    change: int
    stamp: str
    digest: str
    names: tuple[int, int, int]
    left_out: tuple[int, ...]
    sums: int | None  #: the checksum of the checksums; None in the format without


def digest_of(counts: Counts) -> str:
    """Return a digest that identifies counts."""
    import hashlib  # noqa: PLC0415 - a quick start where only mail is checked

    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in counts.parts)).hexdigest()


def save_snapshot(path: Path, counts: Counts, at: SnapshotPoint, journal_id: str, labels: Sequence[str]) -> str:
    """Replace the snapshot by counts at a point; return the digest.

    Only one process may do so at a time. The bytes depend only on the lessons and on the stamp.
    """
    parts = counts.parts
    digest, sums = digest_of(counts), block_checksums(parts)
    names = [counts.names.bits, counts.names.n, counts.names.nameless]
    description = {**_wanted(journal_id, labels, len(counts.rows), len(counts.personal)), "names": names}
    description |= {"change": at.change, "stamp": at.stamp, "digest": digest, "sums": checksum_of(sums)}
    if any(at.left_out):
        description["left out"] = at.left_out
    head = _MAGIC + json.dumps(description, sort_keys=True).encode() + b"\n"
    if len(head) > HEAD_BYTES - _SUM_BYTES:
        raise JournalError(f"{path} has no room for {len(labels)} labels with such long names: shorten them.")
    head = head.ljust(HEAD_BYTES - _SUM_BYTES, b"\0")
    with replacing(path) as file:
        file.write(head + checksum_of(head).to_bytes(_SUM_BYTES, "little"))
        file.writelines(parts)
        file.write(sums)
        if counts.names.blocks is not None and counts.names.blocks.is_lost:
            raise JournalError(f"{path} was truncated while it was in use: try again.")
    return digest


def load_snapshot(path: Path, journal_id: str, labels: Sequence[str], bits: int, personal_bits: int) -> Snapshot | None:
    """Map a snapshot into memory, copied on write; return None if it is missing or does not fit.

    Raises DamagedSnapshotError. The large tables are not verified yet: `counts.names.blocks` does it.
    """
    try:
        with path.open("rb") as file:
            head = _read_head(file.read(HEAD_BYTES))
            if head is None or head.fits != _wanted(journal_id, labels, 1 << bits, 1 << personal_bits):
                return None
            size = os.fstat(file.fileno()).st_size - HEAD_BYTES
            shape = CountsShape(bits, len(labels), personal_bits, *head.names)
            n_bytes = _bytes_of_counts(shape, size, has_sums=head.sums is not None)
            sums = os.pread(file.fileno(), size - n_bytes, HEAD_BYTES + n_bytes)
            mapped = mmap.mmap(file.fileno(), HEAD_BYTES + n_bytes, access=mmap.ACCESS_COPY)
    except OSError:
        return None
    if head.sums not in {None, checksum_of(sums)}:
        raise DamagedSnapshotError("its checksums are damaged")
    memory = memoryview(mapped)[HEAD_BYTES:]
    blocks = MappedBlocks(memory, memoryview(sums or block_checksums([memory])).cast("Q"))
    counts = _verified(memory, shape, blocks)
    if head.sums is None and digest_of(counts) != head.digest:
        raise DamagedSnapshotError("its digest is another")
    return Snapshot(counts, head.change, head.stamp, head.digest, head.left_out)


def _wanted(journal_id: str, labels: Sequence[str], n_rows: int, n_personal: int) -> dict[str, Any]:
    return {"journal": journal_id, "labels": list(labels), "buckets": [n_rows, n_personal]}


def _read_head(head: bytes) -> _Head | None:
    """Return what a head says; None if another version of Priory wrote it."""
    magic = head[: len(_MAGIC)]
    if magic == _MAGIC:
        data, end = head[:-_SUM_BYTES], head[-_SUM_BYTES:]
        if len(head) < HEAD_BYTES or checksum_of(data).to_bytes(_SUM_BYTES, "little") != end:
            raise DamagedSnapshotError("its head is damaged")
    elif magic == _WITHOUT_CHECKSUMS:
        data = head
    elif magic.startswith(_ANY_MAGIC):
        return None
    else:
        raise DamagedSnapshotError("its head is damaged")
    try:
        description = dict(json.loads(data[len(_MAGIC) :].rstrip(b"\0")))
        change, stamp, digest = (description.pop(name) for name in ("change", "stamp", "digest"))
        bits, n_names, n_nameless = map(int, description.pop("names"))
        names, left_out = (bits, n_names, n_nameless), tuple(map(int, description.pop("left out", ())))
        sums = int(description.pop("sums")) if magic == _MAGIC else None
        return _Head(description, int(change), str(stamp), str(digest), names, left_out, sums)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DamagedSnapshotError("its head is damaged") from None


def _bytes_of_counts(shape: CountsShape, size: int, *, has_sums: bool) -> int:
    """Return how many bytes of a file of this size, without its head, are counts."""
    if not 0 <= shape.name_bits <= _MOST_NAME_BITS:
        raise DamagedSnapshotError("its head is damaged")
    for with_personal in (False, True):
        n_bytes = Counts.size_bytes(shape, with_personal=with_personal)
        if size == n_bytes + (_SUM_BYTES * n_blocks(n_bytes) if has_sums else 0):
            return n_bytes
    raise DamagedSnapshotError(f"its size of {size + HEAD_BYTES:,} bytes is wrong")


def _verified(memory: "memoryview[int]", shape: CountsShape, blocks: MappedBlocks) -> Counts:
    """Return the counts in memory, and verify the small tables."""
    try:
        counts = Counts.from_memory(memory, shape)
        for table in (counts.totals, counts.held_out, counts.personal_totals):
            blocks.require_part(table.cast("B"))
    except ValueError as error:
        raise DamagedSnapshotError(str(error)) from None
    if not counts.are_possible:
        raise DamagedSnapshotError("it counts more predictions than messages")
    counts.names.blocks = blocks
    return counts
