"""Which lessons there are: looked through by who taught them, what, when and from where, page after page.

The latest lesson comes first, and a page goes on below the place of the last lesson of the page before. So a page is a
short look of its own, and whatever is learned and forgotten between two pages, a lesson that stays as it is comes once,
in its place.

The order is that of time, not that in which the rows were written: lessons are written anew when they are scored later,
and others come from another journal. There is no index for this: it would cost every lesson, and to look through all of
them takes less than a tenth of a second for 100,000 (docs/decisions/journal.md).
"""

import math
from array import array
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from priory.journal.database import MOST_ASKED, Database
from priory.journal.lesson import AUTOMATIC
from priory.journal.selection import Selection, SelectionError

_LARGEST: Final = (1 << 63) - 1  # number that a database takes
_ENTRY: Final = 'change, digest, label, held_out, "user", source, sender, time'


class Entry(NamedTuple):
    """A lesson as it stands in the journal, without its features."""

    change: int
    digest: bytes
    label: str
    held_out: bytes | None
    user: str
    source: str
    sender: str
    time: float

    @property
    def is_automatic(self) -> bool:
        """Whether no person said so."""
        return self.user == AUTOMATIC

    @property
    def place(self) -> str:
        """Where it stands among the others: a page can go on after it, also when it is gone."""
        return f"{self.time!r}:{self.change}"


class Listing:
    """The lessons of a journal, to be looked through."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def page(self, selection: Selection, most: int, after: str | None = None) -> list[Entry]:
        """Return the latest lessons of a selection, or the latest of those after a place."""
        where, values = selection.where(self._db)
        if after is not None:
            where, values = f"(time, change) < (?, ?) AND {where}", [*_parsed(after), *values]
        # To sort the numbers alone takes a third of the time.
        order = "ORDER BY time DESC, change DESC"
        numbers = f"SELECT change FROM lessons WHERE {where} {order} LIMIT ?"  # noqa: S608
        sql = f"SELECT {_ENTRY} FROM lessons WHERE change IN ({numbers}) {order}"  # noqa: S608
        return [Entry(*row) for row in self._db.rows(sql, *values, min(most, _LARGEST))]

    def oldest(self, most: int) -> list[Entry]:
        """Return the lessons that were learned first, the oldest first."""
        order = "ORDER BY time, change"
        numbers = f"SELECT change FROM lessons {order} LIMIT ?"  # noqa: S608
        sql = f"SELECT {_ENTRY} FROM lessons WHERE change IN ({numbers}) {order}"  # noqa: S608
        return [Entry(*row) for row in self._db.rows(sql, min(most, _LARGEST))]

    def n_of(self, selection: Selection) -> int:
        """Return how many lessons a selection has."""
        where, values = selection.where(self._db)
        ((n,),) = self._db.rows(f"SELECT count(*) FROM lessons WHERE {where}", *values)  # noqa: S608
        return int(n)

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        where, values = selection.where(self._db)
        sql = f"SELECT change FROM lessons WHERE {where} ORDER BY change"  # noqa: S608
        return [change for (change,) in self._db.rows(sql, *values)]

    def predicted(self, label: str, size: int) -> tuple["array[int]", bytes]:
        """Return the changes that learned the lessons of a label, and one after the other what was predicted of each.

        Those of which something else was predicted, or nothing, are left out. All comes in one row: a row for
        each lesson takes twice the time, and Python's lock each time.
        """
        sql = f"SELECT {self._db.joined} FROM lessons WHERE label = ? AND length(held_out) = ?"  # noqa: S608
        ((changes, held_out),) = self._db.rows(sql, label, size)
        if changes is None:
            return array("q"), b""
        return array("q", map(int, changes.split(","))), bytes.fromhex(held_out)

    def nodes(self) -> list[tuple[str, int, float]]:
        """Return which machines have learned lessons, how many, and when the last."""
        rows = self._db.rows("SELECT node, count(*), max(time) FROM lessons GROUP BY node ORDER BY node")
        return [(node, n, last) for node, n, last in rows]

    def still(self, changes: Iterable[int]) -> list[tuple[bytes, str]]:
        """Return digest and user of the lessons that these changes learned and that are still there."""
        asked = iter(changes)
        found: list[tuple[bytes, str]] = []
        while some := list(islice(asked, MOST_ASKED)):
            are_meant = f"change IN ({', '.join('?' * len(some))})"
            sql = f'SELECT digest, "user" FROM lessons WHERE {are_meant} ORDER BY change'  # noqa: S608
            found += [(digest, user) for digest, user in self._db.rows(sql, *some)]
        return found

    def times_of(self, changes: Iterable[int]) -> list[float | None]:
        """Return when these changes learned their lessons; None for those that are gone."""
        sql = "SELECT time FROM lessons WHERE change = ?"
        found = (self._db.rows(sql, change) for change in changes)
        return [rows[0][0] if rows else None for rows in found]


def _parsed(place: str) -> tuple[float, int]:
    """Return the time and the change of a place.

    >>> _parsed("1793491200.5:864")
    (1793491200.5, 864)
    """
    time, _, change = place.partition(":")
    try:
        parsed = float(time), int(change)
    except ValueError:
        parsed = math.nan, 0
    if not (math.isfinite(parsed[0]) and 0 < parsed[1] <= _LARGEST):
        raise SelectionError(f"{place!r} is no place to go on after: take it from the page before")
    return parsed
