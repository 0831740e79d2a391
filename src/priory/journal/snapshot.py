"""A snapshot of the counts: a file that is mapped into memory, and that can always be rebuilt from the journal.

A snapshot names its journal, its labels, the change it stands at and the digest of its counts. The journal has the
digest too: after it was restored from a backup, change numbers repeat with other lessons. A snapshot that does not fit
is not used, and the counts are built from the journal instead.
"""

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from priory.bayes import Counts
from priory.bayes.counts import CountsShape
from priory.journal.files import replacing
from priory.journal.lesson import JournalError

_MAGIC: Final = b"priory counts 5\n"
HEAD_BYTES: Final = 4096  #: before the counts; the description must fit into them


class Snapshot(NamedTuple):
    """Counts at a change, and their digest."""

    counts: Counts
    change: int
    stamp: str
    digest: str


def digest_of(counts: Counts) -> str:
    """Return a digest that identifies counts."""
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in counts.parts)).hexdigest()


def save_snapshot(path: Path, counts: Counts, at: tuple[int, str], journal_id: str, labels: Sequence[str]) -> str:
    """Replace the snapshot by counts at a change and its stamp; return the digest.

    Only one process may do so at a time. The bytes depend only on the lessons and on the stamp.
    """
    parts = counts.parts
    digest = digest_of(counts)
    fits = {"journal": journal_id, "labels": list(labels), "buckets": [len(counts.rows), len(counts.personal)]}
    names = [counts.names.bits, counts.names.n, counts.names.nameless]
    description = {**fits, "change": at[0], "stamp": at[1], "digest": digest, "names": names}
    head = _MAGIC + json.dumps(description, sort_keys=True).encode() + b"\n"
    if len(head) > HEAD_BYTES:
        raise JournalError(f"{path} has no room for {len(labels)} labels with such long names: shorten them.")
    with replacing(path) as file:
        file.write(head.ljust(HEAD_BYTES, b"\0"))
        file.writelines(parts)
    return digest


def load_snapshot(path: Path, journal_id: str, labels: Sequence[str], bits: int, personal_bits: int) -> Snapshot | None:
    """Map a snapshot into memory, copied on write; return None if it is missing or does not fit."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return None
    head = mapped[:HEAD_BYTES].rstrip(b"\0")
    try:
        description = dict(json.loads(head.removeprefix(_MAGIC)) if head.startswith(_MAGIC) else {})
        change, stamp = int(description.pop("change")), str(description.pop("stamp"))
        digest = str(description.pop("digest"))
        name_bits, n_names, n_nameless = map(int, description.pop("names"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if description != {"journal": journal_id, "labels": list(labels), "buckets": [1 << bits, 1 << personal_bits]}:
        return None
    shape = CountsShape(bits, len(labels), personal_bits, name_bits, n_names, n_nameless)
    if len(mapped) - HEAD_BYTES not in {Counts.size_bytes(shape, with_personal=own) for own in (False, True)}:
        return None
    return Snapshot(Counts.from_memory(memoryview(mapped)[HEAD_BYTES:], shape), change, stamp, digest)
