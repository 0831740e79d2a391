"""Tombstones: lessons that were forgotten in a journal that several machines share, and when.

A machine that was cut off delivers its lessons later. A lesson that is older than the request to forget it must not
come back. Tombstones are kept for 30 days, the longest that a machine may stay away.
"""

from collections.abc import Iterable
from typing import Final

from priory.journal.database import Database, stored_user
from priory.journal.lesson import LessonUser

RETENTION_S: Final = 30 * 24 * 3600.0
_BURY: Final = (
    'INSERT INTO tombstones (message, "user", time, node) VALUES (?, ?, ?, ?) ON CONFLICT (message, "user") '
    "DO UPDATE SET time = excluded.time, node = excluded.node "
    "WHERE (tombstones.time, tombstones.node) < (excluded.time, excluded.node)"
)


class Tombstones:
    """The tombstones of a journal; the last 16 bytes of a digest identify a message."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def bury(self, lessons: Iterable[tuple[bytes, LessonUser]], time: float, node: str) -> None:
        """Leave tombstones for lessons, given by digest and user, whether or not they exist here yet."""
        self._db.run_many(_BURY, [(digest[16:], stored_user(user), time, node) for digest, user in lessons])

    def remove(self, user: str) -> None:
        """Delete the tombstones of a user."""
        self._db.rows('DELETE FROM tombstones WHERE "user" = ?', stored_user(user))

    def last(self, digest: bytes, user: LessonUser) -> tuple[float, str] | None:
        """Return when and by which machine a lesson was forgotten, if it was."""
        sql = 'SELECT time, node FROM tombstones WHERE message = ? AND "user" = ?'
        rows = self._db.rows(sql, digest[16:], stored_user(user))
        return (rows[0][0], rows[0][1]) if rows else None
