"""Which labels look wrong but were confirmed by a person, so that nobody is asked again.

A note has the number of the change that learned the lesson, and goes with the lesson: when it is forgotten, and when it
is turned round, as the other label is another lesson. Who confirms nothing has neither the notes nor the trigger.
"""

from typing import Final

from priory.journal.database import Database

_MAKE: Final = (
    "CREATE TABLE IF NOT EXISTS confirmed (change INTEGER PRIMARY KEY)",
    """
    CREATE TRIGGER IF NOT EXISTS confirmed_no_more AFTER DELETE ON lessons
    BEGIN DELETE FROM confirmed WHERE change = old.change; END
    """,
)


class Confirmed:
    """The notes of a journal about lessons whose labels were confirmed."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def changes(self) -> set[int]:
        """Return the changes that learned these lessons."""
        return {change for (change,) in self._db.rows("SELECT change FROM confirmed")} if self._are_there else set()

    def has(self, change: int) -> bool:
        """Tell whether the lesson that a change learned is one of these."""
        return self._are_there and bool(self._db.rows("SELECT 1 FROM confirmed WHERE change = ?", change))

    @property
    def _are_there(self) -> bool:
        return self._db.has("confirmed")

    def note(self, change: int, *, right: bool) -> None:
        """Note that the label of a lesson is right, or take that note back; call inside `writing`."""
        self._db.make(_MAKE)
        if right:
            self._db.rows("INSERT INTO confirmed VALUES (?) ON CONFLICT DO NOTHING", change)
        else:
            self._db.rows("DELETE FROM confirmed WHERE change = ?", change)
