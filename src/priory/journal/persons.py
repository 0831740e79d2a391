"""How many lessons each person has taught that count for everyone.

Who teaches far more than the others must not decide for them (see `priory.influence`), so this is asked whenever a
person teaches: it is kept, not counted anew. The row of the empty name says how many persons there are. Where nobody
teaches under a name there is no such table.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from priory.journal.database import Database
from priory.journal.lesson import AUTOMATIC

_TABLE: Final = "taught"
_MAKE: Final = (f'CREATE TABLE IF NOT EXISTS {_TABLE} ("user" TEXT PRIMARY KEY, n INTEGER NOT NULL)',)
_SET: Final = f'INSERT INTO {_TABLE} ("user", n) VALUES (?, ?) ON CONFLICT ("user") DO UPDATE SET n = excluded.n'  # noqa: S608
_EVERYONE: Final = ""


class User(NamedTuple):
    """Somebody who has taught under a name."""

    name: str
    lessons: dict[str, int]  #: of each label
    unshared: int  #: those of them that count for this user alone


class Persons:
    """The persons who have taught a journal something that counts for everyone."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def n(self) -> int:
        """Return how many persons there are."""
        return self.n_of(_EVERYONE)

    def n_of(self, user: str) -> int:
        """Return how many such lessons a person has taught."""
        return self._row(user) or 0 if self._db.has(_TABLE) else 0

    def _row(self, user: str) -> int | None:
        rows = self._db.rows(f'SELECT n FROM {_TABLE} WHERE "user" = ?', user)  # noqa: S608
        return int(rows[0][0]) if rows else None

    def every(self) -> list[User]:
        """Return all who have taught under a name, in the order of the names; all lessons are looked through."""
        sql = (
            'SELECT "user", label, count(*), sum(CASE WHEN shared THEN 0 ELSE 1 END) FROM lessons '
            'WHERE "user" <> ? AND "user" <> ? GROUP BY "user", label ORDER BY "user", label'
        )
        found: dict[str, User] = {}
        for name, label, n, unshared in self._db.rows(sql, _EVERYONE, AUTOMATIC):
            was = found.get(name, User(name, {}, 0))
            found[name] = User(name, {**was.lessons, label: int(n)}, was.unshared + int(unshared))
        return list(found.values())

    def note(self, moved: Mapping[str, int]) -> None:
        """Note by how much the lessons of persons have become more or fewer; the lessons are written down already."""
        self._db.make(_MAKE)
        persons = self._row(_EVERYONE)
        if persons is None:
            self._count()
            return
        for user, by in moved.items():
            was = self.n_of(user)
            persons += (was + by > 0) - (was > 0)
            if was + by > 0:
                self._db.rows(_SET, user, was + by)
            else:
                self._db.rows(f'DELETE FROM {_TABLE} WHERE "user" = ?', user)  # noqa: S608
        self._db.rows(_SET, _EVERYONE, persons)

    def _count(self) -> None:
        """Count what was learned before anybody asked."""
        sql = 'SELECT "user", count(*) FROM lessons WHERE shared = ? AND "user" <> ? AND "user" <> ? GROUP BY "user"'
        rows = self._db.rows(sql, True, _EVERYONE, AUTOMATIC)
        self._db.run_many(_SET, [*rows, (_EVERYONE, len(rows))])
