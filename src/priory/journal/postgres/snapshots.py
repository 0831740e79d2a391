"""Snapshots that all machines share: the counts in compressed chunks, in the database itself.

A snapshot is written beside all other work. Only at its end, to mark the journal as settled up to its change, it holds
the journal's write lock for a moment.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from priory.journal.notes import TOMBSTONE_RETENTION_S
from priory.journal.postgres.database import PostgresDatabase
from priory.journal.silence import SilenceNotes

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK: Final = 1 << 22  # bytes, before compression
_FAST: Final = 1  # zlib's level


class SharedSnapshots:
    """The snapshots in a database, from which machines start."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    def save(self, change: int, stamp: str, labels: Sequence[str], parts: "Sequence[Buffer]") -> bool:
        """Replace the snapshot by counts that stand at a change, and delete what the journal kept for older ones.

        Return False if nothing was saved: another machine is saving, or the change is settled or not in the journal.
        """
        try:
            with self._db.beside_others():
                return self._save(change, stamp, "\n".join(labels), parts)
        except _OutdatedError:
            return False

    def _save(self, change: int, stamp: str, labels: str, parts: "Sequence[Buffer]") -> bool:
        # An advisory lock, so that two machines do not send the same large snapshot; writers do not wait for it.
        ((is_ours,),) = self._db.rows("SELECT pg_try_advisory_xact_lock(hashtext('priory snapshot'))")
        if not is_ours:
            return False
        self._db.rows("DELETE FROM snapshots")
        for part, chunk in enumerate(_chunks(parts)):
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

    def load(self, change: int, labels: Sequence[str], parts: "Sequence[memoryview[int]]") -> bool:
        """Fill empty counts, given as parts, from the snapshot at a change; return False if none fits."""
        sql = "SELECT part FROM snapshots WHERE change = ? AND labels = ? ORDER BY part"
        numbers = [part for (part,) in self._db.rows(sql, change, "\n".join(labels))]
        if len(numbers) != sum(1 for _ in _chunks(parts)):
            return False
        for part, room in zip(numbers, _chunks(parts), strict=True):
            ((packed,),) = self._db.rows("SELECT bytes FROM snapshots WHERE change = ? AND part = ?", change, part)
            chunk = zlib.decompress(packed)
            if len(chunk) != len(room):
                return False
            room[:] = chunk
        return True


class _OutdatedError(Exception):
    """The change of a snapshot is settled already, or not in the journal."""


def _chunks(parts: "Sequence[Buffer]") -> "Iterator[memoryview[int]]":
    """Yield the bytes of all parts in chunks."""
    for part in parts:
        whole = memoryview(part)
        for start in range(0, len(whole), _CHUNK):
            yield whole[start : start + _CHUNK]
