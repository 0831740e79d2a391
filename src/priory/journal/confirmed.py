"""Which labels look wrong but were confirmed by a person, so that nobody is asked again.

A note has the number of the change that learned the lesson, and goes with the lesson: when it is forgotten, and when it
is turned round, as the other label is another lesson. Who confirms nothing has neither the notes nor the trigger.
"""

import sqlite3
from typing import Final

_BEGIN: Final = (
    "CREATE TABLE IF NOT EXISTS confirmed (change INTEGER PRIMARY KEY)",
    """
    CREATE TRIGGER IF NOT EXISTS confirmed_no_more AFTER DELETE ON lessons
    BEGIN DELETE FROM confirmed WHERE change = old.change; END
    """,
)


class Confirmed:
    """The notes of a journal about lessons whose labels were confirmed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def changes(self) -> set[int]:
        """Return the changes that learned these lessons."""
        return {change for (change,) in self._db.execute("SELECT change FROM confirmed")} if self._are_there else set()

    def has(self, change: int) -> bool:
        """Tell whether the lesson that a change learned is one of these."""
        sql = "SELECT 1 FROM confirmed WHERE change = ?"
        return self._are_there and self._db.execute(sql, (change,)).fetchone() is not None

    @property
    def _are_there(self) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'confirmed'").fetchone() is not None

    def note(self, change: int, *, right: bool) -> None:
        """Note that the label of a lesson is right, or take that note back; call inside `writing`."""
        for statement in _BEGIN:
            self._db.execute(statement)
        does = "INSERT OR IGNORE INTO confirmed VALUES (?)" if right else "DELETE FROM confirmed WHERE change = ?"
        self._db.execute(does, (change,))
