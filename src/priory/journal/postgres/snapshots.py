"""The snapshot that all machines share: the counts in compressed chunks, in the database itself.

It is written beside all other work. Only at its end, to say that the journal is settled up to its change, it is for a
moment the one who writes.
"""

import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from priory.journal.postgres.database import PostgresDatabase
from priory.journal.tombstones import KEPT_S

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CHUNK: Final = 1 << 22  # bytes, before they are compressed
_FAST: Final = 1  # of zlib's levels


class ChunkedSnapshots:
    """The snapshots in a database."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    def save(self, change: int, stamp: str, labels: Sequence[str], parts: "Sequence[Buffer]") -> bool:
        """Write the counts as they stood at a change in place of older ones, and drop what the journal kept for these.

        Returns whether it was done: if somebody else is about it, or the change is no more, it is not.
        """
        try:
            with self._db.beside_others():
                return self._save(change, stamp, "\n".join(labels), parts)
        except _NoMoreError:
            return False

    def _save(self, change: int, stamp: str, labels: str, parts: "Sequence[Buffer]") -> bool:
        ((is_ours,),) = self._db.rows("SELECT pg_try_advisory_xact_lock(hashtext('priory snapshot'))")
        if not is_ours:
            return False
        self._db.rows("DELETE FROM snapshots")
        for part, chunk in enumerate(_places(parts)):
            packed = zlib.compress(chunk, _FAST)
            self._db.rows("INSERT INTO snapshots VALUES (?, ?, ?, ?)", change, labels, part, packed)
        ((settled, last),) = self._db.rows("SELECT settled, change FROM journal FOR UPDATE")
        if not settled < change <= last or self._db.stamp_of(change) != stamp:
            raise _NoMoreError
        self._db.rows("UPDATE journal SET settled = ?", change)
        self._db.rows("DELETE FROM forgotten WHERE change <= ?", change)
        self._db.rows("DELETE FROM stamps WHERE change < ?", change)
        self._db.rows("DELETE FROM tombstones WHERE time < ?", self._db.now() - KEPT_S)
        return True

    def load(self, change: int, labels: Sequence[str], parts: "Sequence[memoryview[int]]") -> bool:
        """Fill the parts of empty counts with those of a change; tell whether there are any that fit."""
        sql = "SELECT part FROM snapshots WHERE change = ? AND labels = ? ORDER BY part"
        numbers = [part for (part,) in self._db.rows(sql, change, "\n".join(labels))]
        if len(numbers) != sum(1 for _ in _places(parts)):
            return False
        for part, place in zip(numbers, _places(parts), strict=True):
            ((packed,),) = self._db.rows("SELECT bytes FROM snapshots WHERE change = ? AND part = ?", change, part)
            chunk = zlib.decompress(packed)
            if len(chunk) != len(place):
                return False
            place[:] = chunk
        return True


class _NoMoreError(Exception):
    """The change that a snapshot was of is settled already, or never was."""


def _places(parts: "Sequence[Buffer]") -> "Iterator[memoryview[int]]":
    """Yield the bytes of all parts, in pieces of the size of a chunk."""
    for part in parts:
        whole = memoryview(part)
        for start in range(0, len(whole), _CHUNK):
            yield whole[start : start + _CHUNK]
