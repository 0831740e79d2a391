"""What was forgotten of a journal that several machines share, and when.

A machine that was cut off brings its lessons later. One that is older than the wish to forget must not come back. After
30 days nobody is expected any more who has not brought theirs.
"""

from collections.abc import Iterable
from typing import Final

from priory.journal.database import Database

KEPT_S: Final = 30 * 24 * 3600.0
_BURY: Final = (
    'INSERT INTO tombstones (message, "user", time, node) VALUES (?, ?, ?, ?) ON CONFLICT (message, "user") '
    "DO UPDATE SET time = excluded.time, node = excluded.node "
    "WHERE (tombstones.time, tombstones.node) < (excluded.time, excluded.node)"
)


class Tombstones:
    """The tombstones of a journal; messages are told apart by the ends of their digests."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def bury(self, lessons: Iterable[tuple[bytes, str]], time: float, node: str) -> None:
        """Note that lessons, given by digest and user, are to be forgotten; also those that are not there yet."""
        self._db.run_many(_BURY, [(digest[16:], user, time, node) for digest, user in lessons])

    def remove(self, user: str) -> None:
        """Forget what a user has forgotten."""
        self._db.rows('DELETE FROM tombstones WHERE "user" = ?', user)

    def last(self, digest: bytes, user: str) -> tuple[float, str] | None:
        """Return when and by which machine a message was forgotten, if it was."""
        sql = 'SELECT time, node FROM tombstones WHERE message = ? AND "user" = ?'
        rows = self._db.rows(sql, digest[16:], user)
        return (rows[0][0], rows[0][1]) if rows else None
