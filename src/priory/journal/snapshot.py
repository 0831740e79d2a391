"""A snapshot of the counts: a file that is mapped into memory, not read, and that can always be made again.

A snapshot is written beside the old one and takes its place at once, so a reader has the old or the new, never a half.
It names its journal, its labels, the change it stands at and the digest of its counts, which the journal knows, too:
after a journal was restored from a backup, change numbers come a second time with other lessons. Whatever does not fit
is not used, and the counts are built from the journal instead.
"""

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from priory.bayes import Counts
from priory.journal.lesson import JournalError
from priory.journal.replacing import replacing

_MAGIC: Final = b"priory counts 4\n"
HEAD_BYTES: Final = 4096  #: that name the journal and what else must fit


class Snapshot(NamedTuple):
    """Counts as they stood at a change, and their digest."""

    counts: Counts
    change: int
    stamp: str
    digest: str


def digest_of(counts: Counts) -> str:
    """Return what tells counts from all others."""
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in counts.parts)).hexdigest()


def save_snapshot(path: Path, counts: Counts, at: tuple[int, str], journal_id: str, labels: Sequence[str]) -> str:
    """Write a snapshot at a change and its stamp in place of the one that is there; return its digest.

    Only one process may do so at a time. The bytes depend on what was learned alone, and on the stamp.
    """
    parts = counts.parts
    digest = digest_of(counts)
    fits = {"journal": journal_id, "labels": list(labels), "buckets": [len(counts.rows), len(counts.personal)]}
    said = {**fits, "change": at[0], "stamp": at[1], "digest": digest}
    head = _MAGIC + json.dumps(said, sort_keys=True).encode() + b"\n"
    if len(head) > HEAD_BYTES:
        raise JournalError(f"{path} has no room for {len(labels)} labels with such long names: shorten them.")
    with replacing(path) as file:
        file.write(head.ljust(HEAD_BYTES, b"\0"))
        file.writelines(parts)
    return digest


def load_snapshot(path: Path, journal_id: str, labels: Sequence[str], bits: int, personal_bits: int) -> Snapshot | None:
    """Map a snapshot into memory, copied on write; None if there is none that fits."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return None
    head = mapped[:HEAD_BYTES].rstrip(b"\0")
    try:
        said = dict(json.loads(head.removeprefix(_MAGIC)) if head.startswith(_MAGIC) else {})
        change, stamp, digest = int(said.pop("change")), str(said.pop("stamp")), str(said.pop("digest"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if said != {"journal": journal_id, "labels": list(labels), "buckets": [1 << bits, 1 << personal_bits]}:
        return None
    sizes = (Counts.size_bytes(bits, len(labels), each) for each in (None, personal_bits))
    if len(mapped) - HEAD_BYTES not in sizes:
        return None
    counts = Counts.lying_in(memoryview(mapped)[HEAD_BYTES:], bits, len(labels), personal_bits)
    return Snapshot(counts, change, stamp, digest)
