"""What the filter has learned by itself, told from what people have taught it.

Such a lesson stands among the others under a user that no person can be, and is named by its letter, not by its digest
(`priory.message.letter`): a person's copy of the message has other headers than the one that was learned. How many of
these lessons there are is kept in the tally, beside the number of all. Which letters people have taught or forgotten is
noted, so that they are left alone. Who has nothing learned automatically has neither the notes nor the index.
"""

import sqlite3
from collections.abc import Iterable
from typing import Final

from priory.journal.lesson import AUTOMATIC

_ARE_AUTOMATIC: Final = f"user = '{AUTOMATIC}'"  # as in the index: SQLite would not see that a value given is the same
_MARK: Final = "\n"  # no label has it


class Automatic:
    """The automatic lessons of a journal, and the letters that are left to people."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def begin(self) -> None:
        """Make index and notes, if they are not there yet; call inside `writing`, as for all that changes something."""
        self._db.execute(f"CREATE INDEX IF NOT EXISTS automatic ON lessons (label, time) WHERE {_ARE_AUTOMATIC}")
        self._db.execute("CREATE TABLE IF NOT EXISTS peoples (letter BLOB PRIMARY KEY) WITHOUT ROWID")

    def leave_to_people(self, letters: Iterable[bytes]) -> None:
        """Note letters that people had a hand in."""
        self._db.executemany("INSERT OR IGNORE INTO peoples VALUES (substr(?, 17))", [(each,) for each in letters])

    def is_peoples(self, letter: bytes) -> bool:
        """Tell whether people had a hand in a letter, as far as it was noted."""
        found = self._db.execute("SELECT 1 FROM peoples WHERE letter = substr(?, 17)", (letter,))
        return found.fetchone() is not None

    def ends_of_peoples(self) -> list[bytes]:
        """Return the ends of the letters that people had a hand in, by which letters are told apart."""
        is_there = self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'peoples'").fetchone()
        return [end for (end,) in self._db.execute("SELECT letter FROM peoples")] if is_there else []

    def n_since(self, label: str, time: float) -> int:
        """Return how many lessons there are of a label that were learned after a time."""
        sql = f"SELECT count(*) FROM lessons WHERE {_ARE_AUTOMATIC} AND label = ? AND time > ?"  # noqa: S608
        (n,) = self._db.execute(sql, (label, time)).fetchone()
        return int(n)


def tallied(label: str, user: str) -> tuple[str, ...]:
    """Return the rows of the tally in which a lesson is counted.

    >>> tallied("ham", "ann"), tallied("ham", AUTOMATIC)
    (('ham',), ('ham', 'ham\\n'))
    """
    return (label, label + _MARK) if user == AUTOMATIC else (label,)


def told_apart(tally: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many lessons there are of each label, and how many of these are automatic.

    >>> told_apart({"ham": 3, "ham\\n": 1})
    ({'ham': 3}, {'ham': 1})
    """
    every = {label: n for label, n in tally.items() if not label.endswith(_MARK)}
    return every, {label.removesuffix(_MARK): n for label, n in tally.items() if label.endswith(_MARK)}
