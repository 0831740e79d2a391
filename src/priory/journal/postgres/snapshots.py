"""Snapshots that all machines share: the counts in compressed chunks, in the database itself.

A snapshot is written beside all other work. Only at its end, to mark the journal as settled up to its change, it holds
the journal's write lock for a moment.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from priory.bayes import Counts
from priory.bayes.counts import CountsShape
from priory.journal.notes import TOMBSTONE_RETENTION_S
from priory.journal.postgres.database import PostgresDatabase
from priory.journal.silence import SilenceNotes
from priory.processes.log import log

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK: Final = 1 << 22  # bytes, before compression
_MOST_NAME_BITS: Final = 32
_FAST: Final = 1  # zlib's level


class SharedSnapshots:
    """The snapshots in a database, from which machines start."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    def save(self, change: int, stamp: str, labels: Sequence[str], counts: Counts) -> bool:
        """Replace the snapshot by counts that stand at a change, and delete what the journal kept for older ones.

        Return False if nothing was saved: another machine is saving, or the change is settled or not in the journal.
        """
        try:
            with self._db.beside_others():
                return self._save(change, stamp, "\n".join(labels), counts)
        except _OutdatedError:
            return False

    def _save(self, change: int, stamp: str, labels: str, counts: Counts) -> bool:
        # An advisory lock, so that two machines do not send the same large snapshot; writers do not wait for it.
        ((is_ours,),) = self._db.rows("SELECT pg_try_advisory_xact_lock(hashtext('priory snapshot'))")
        if not is_ours:
            return False
        self._db.rows("DELETE FROM snapshots")
        shape = json.dumps(counts.shape).encode()
        chunks: list[Buffer] = [shape, *_chunks(counts.buffers)]
        for part, chunk in enumerate(chunks):
            packed = zlib.compress(chunk, _FAST)
            self._db.rows("INSERT INTO snapshots VALUES (?, ?, ?, ?)", change, labels, part, packed)
        ((settled, last),) = self._db.rows("SELECT settled, change FROM journal FOR UPDATE")
        if not settled < change <= last or self._db.stamp_of(change) != stamp:
            raise _OutdatedError  # which rolls the transaction back
        self._db.rows("UPDATE journal SET settled = ?", change)
        self._db.rows("DELETE FROM forgotten WHERE change <= ?", change)
        self._db.rows("DELETE FROM stamps WHERE change < ?", change)
        self._db.rows("DELETE FROM tombstones WHERE time < ?", self._db.now() - TOMBSTONE_RETENTION_S)
        SilenceNotes(self._db).delete_old(self._db.now())
        return True

    def load(self, change: int, labels: Sequence[str], like: CountsShape) -> Counts | None:
        """Return the counts of the snapshot at a change; None if none fits, except in the number of names."""
        sql = "SELECT part FROM snapshots WHERE change = ? AND labels = ? ORDER BY part"
        numbers = [part for (part,) in self._db.rows(sql, change, "\n".join(labels))]
        try:
            return self._load(change, numbers, like) if numbers else None
        except zlib.error as error:
            log(f"the shared snapshot in {self._db.name} is damaged ({error}): the counts are built from the lessons")
            return None

    def _load(self, change: int, numbers: Sequence[int], like: CountsShape) -> Counts | None:
        shape = _shape(self._chunk(change, numbers[0]))
        if shape is None or shape[:3] != like[:3] or not 0 < shape.name_bits <= _MOST_NAME_BITS:
            return None
        if Counts.size_bytes(shape, with_personal=False) > _CHUNK * len(numbers):  # before that much is allocated
            return None
        counts = Counts.of_shape(shape)
        rooms = list(_chunks(counts.buffers))
        if len(rooms) != len(numbers) - 1:
            return None
        for part, room in zip(numbers[1:], rooms, strict=True):
            chunk = self._chunk(change, part)
            if len(chunk) != len(room):
                return None
            room[:] = chunk
        return counts

    def _chunk(self, change: int, part: int) -> bytes:
        ((packed,),) = self._db.rows("SELECT bytes FROM snapshots WHERE change = ? AND part = ?", change, part)
        unpacking = zlib.decompressobj()
        chunk = unpacking.decompress(packed, _CHUNK + 1)
        if not unpacking.eof:
            raise zlib.error(f"part {part} is incomplete or too long")
        return chunk


class _OutdatedError(Exception):
    """The change of a snapshot is settled already, or not in the journal."""


def _shape(packed: bytes) -> CountsShape | None:
    """Read the shape with which a snapshot begins; None if an older version wrote it, which had none."""
    try:
        return CountsShape(*map(int, json.loads(packed)))
    except (ValueError, TypeError, RecursionError):
        return None


def _chunks(parts: "Sequence[Buffer]") -> "Iterator[memoryview[int]]":
    """Yield the bytes of all parts in chunks."""
    for part in parts:
        whole = memoryview(part)
        for start in range(0, len(whole), _CHUNK):
            yield whole[start : start + _CHUNK]
