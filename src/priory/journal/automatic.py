"""What the filter has learned by itself, told from what people have taught it.

Such a lesson stands among the others under a user that no person can be, and is named by its letter, not by its digest
(`priory.message.letter`): a person's copy of the message has other headers than the one that was learned. How many of
these lessons there are is kept in the tally, beside the number of all. Which letters people have taught or forgotten is
noted, so that they are left alone. Who has nothing learned automatically has neither the notes nor the index.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from priory.journal.database import Database
from priory.journal.lesson import AUTOMATIC

_ARE_AUTOMATIC: Final = f"\"user\" = '{AUTOMATIC}'"  # as in the index: a value given would not be seen to be the same
_MAKE: Final = (
    f"CREATE INDEX IF NOT EXISTS automatic ON lessons (label, time) WHERE {_ARE_AUTOMATIC}",
    "CREATE TABLE IF NOT EXISTS peoples (letter BLOB PRIMARY KEY) WITHOUT ROWID",
)
_MARK: Final = "\n"  # no label has it


class Automatic:
    """The automatic lessons of a journal, and the letters that are left to people."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(self) -> None:
        """Make index and notes, if they are not there yet; call inside `writing`, as for all that changes something."""
        self._db.make(_MAKE)

    def leave_to_people(self, letters: Iterable[bytes]) -> None:
        """Note letters that people had a hand in."""
        sql = "INSERT INTO peoples VALUES (?) ON CONFLICT DO NOTHING"
        self._db.run_many(sql, [(each[16:],) for each in letters])

    def is_peoples(self, letter: bytes) -> bool:
        """Tell whether people had a hand in a letter, as far as it was noted."""
        return bool(self._db.rows("SELECT 1 FROM peoples WHERE letter = ?", letter[16:]))

    def ends_of_peoples(self) -> list[bytes]:
        """Return the ends of the letters that people had a hand in, by which letters are told apart."""
        return [end for (end,) in self._db.rows("SELECT letter FROM peoples")] if self._db.has("peoples") else []

    def n_since(self, label: str, time: float) -> int:
        """Return how many lessons there are of a label that were learned after a time."""
        sql = f"SELECT count(*) FROM lessons WHERE {_ARE_AUTOMATIC} AND label = ? AND time > ?"  # noqa: S608
        ((n,),) = self._db.rows(sql, label, time)
        return int(n)


class Tallies(NamedTuple):
    """How many lessons there are of each label."""

    every: dict[str, int]
    automatic: dict[str, int]  #: those of them that the filter has learned by itself
    unshared: dict[str, int]  #: those of them that do not count for everyone


def tallied(label: str, user: str, *, shared: bool = True) -> tuple[str, ...]:
    """Return the rows of the tally in which a lesson is counted.

    >>> tallied("ham", "ann"), tallied("ham", AUTOMATIC), tallied("ham", "ann", shared=False)
    (('ham',), ('ham', 'ham\\n'), ('ham', 'ham\\n\\n'))
    """
    return (label, *[label + _MARK] * (user == AUTOMATIC), *[label + 2 * _MARK] * (not shared))


def told_apart(tally: dict[str, int]) -> Tallies:
    """Return the rows of the tally, told apart.

    >>> told_apart({"ham": 3, "ham\\n": 1, "ham\\n\\n": 2})
    Tallies(every={'ham': 3}, automatic={'ham': 1}, unshared={'ham': 2})
    """
    tallies = Tallies({}, {}, {})
    for row, n in sorted(tally.items()):
        tallies[row.count(_MARK)][row.rstrip(_MARK)] = n
    return tallies
