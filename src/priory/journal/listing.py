"""Which lessons there are: looked through by who taught them, what, when and from where, page after page.

The latest lesson comes first, and a page goes on below the place of the last lesson of the page before. So a page is a
short look of its own, and whatever is learned and forgotten between two pages, a lesson that stays as it is comes once,
in its place.

The order is that of time, not that in which the rows were written: lessons are written anew when they are scored later,
and others come from another journal. There is no index for this: it would cost every lesson, and to look through all of
them takes less than a tenth of a second for 100,000 (docs/decisions/journal.md).
"""

import math
import sqlite3
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from priory.journal.lesson import AUTOMATIC

_DIGITS: Final = 64  # of a digest
_LARGEST: Final = (1 << 63) - 1  # number that SQLite takes
_ENTRY: Final = "change, digest, label, held_out, user, source, sender, time"


class SelectionError(ValueError):
    """Nothing can be selected so; the text says why."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which lessons are meant: those for which all that is said here is true; None says nothing.

    >>> Selection(label="spam", sender="Mail.Example")
    Selection(label='spam', user=None, source=None, sender='mail.example', since=None, until=None, automatic=None, \
digest=None, certainty_below=None, certainty_above=None, changes=None)
    """

    label: str | None = None
    user: str | None = None  #: the empty name is nobody in particular; what was learned automatically is nobody's
    source: str | None = None  #: how it begins
    sender: str | None = None  #: the domain
    since: float | None = None  #: learned then or later
    until: float | None = None  #: learned before
    automatic: bool | None = None  #: learned by the filter itself; False: taught by people
    digest: str | None = None  #: the digits with which it begins
    certainty_below: float | None = None  #: its label had a probability below this before, as far as one is known
    certainty_above: float | None = None
    changes: tuple[int, ...] | None = None  #: the numbers of the changes that learned them

    def __post_init__(self) -> None:
        if self.digest is not None:
            _refuse_no_digits(self.digest)
            object.__setattr__(self, "digest", self.digest.lower())
        if self.sender is not None:
            object.__setattr__(self, "sender", self.sender.lower())
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise SelectionError("no time is both since the one and before the other: let the first be the earlier")
        _refuse_no_probabilities(self.certainty_above, self.certainty_below)

    @property
    def is_everything(self) -> bool:
        """Whether nothing is said, so that all lessons are meant."""
        return not (self.is_by_certainty or self._said())

    @property
    def is_by_certainty(self) -> bool:
        """Whether it must be known how scores are read, to know which lessons are meant: the journal does not."""
        return not self.certainty_below is self.certainty_above is None

    def where(self) -> tuple[str, list[object]]:
        """Return this as a condition of SQL, and its values."""
        if self.is_by_certainty:
            raise ValueError("a journal knows no certainties: ask the filter which changes are meant")
        said = self._said()
        return " AND ".join(condition for condition, _ in said) or "TRUE", [v for _, values in said for v in values]

    def _said(self) -> list[tuple[str, tuple[object, ...]]]:
        digest = self.digest or ""
        between = tuple(bytes.fromhex(digest.ljust(_DIGITS, filling)) for filling in "0f")
        sign = "=" if self.automatic else "<>"
        # The + keeps SQLite from going through the index of digests to find a user, which takes five times as long.
        every = (
            (self.label, "label = ?", (self.label,)),
            (self.user, f"+user = ? AND user <> '{AUTOMATIC}'", (self.user,)),
            (self.source or None, "instr(source, ?) = 1", (self.source,)),
            (self.sender, "sender = ?", (self.sender,)),
            (self.since, "time >= ?", (self.since,)),
            (self.until, "time < ?", (self.until,)),
            (self.automatic, f"user {sign} '{AUTOMATIC}'", ()),
            (digest or None, "digest BETWEEN ? AND ?", between),
            (self.changes, "change BETWEEN ? AND ? AND substr(?, change - ?, 1) = x'01'", _marked(self.changes or ())),
        )
        return [(condition, values) for value, condition, values in every if value is not None]


def _marked(changes: tuple[int, ...]) -> tuple[int, int, bytes, int]:
    """Return the first and the last of some changes, a byte for each from the first on, and the number before it.

    To ask SQLite whether a byte is set takes a third of the time that it takes to look many numbers up in a list.

    >>> _marked((7, 9))
    (7, 9, b'\\x01\\x00\\x01', 6)
    """
    first, last = min(changes, default=1), max(changes, default=0)
    marks = bytearray(last - first + 1)
    for change in changes:
        marks[change - first] = 1
    return first, last, bytes(marks), first - 1


def _refuse_no_digits(digest: str) -> None:
    if len(digest) > _DIGITS or not set(digest) <= set("0123456789abcdefABCDEF"):
        raise SelectionError(f"{digest!r} is not how a digest begins: it has up to {_DIGITS} digits, 0 to 9 and a to f")


def _refuse_no_probabilities(above: float | None, below: float | None) -> None:
    if not all(0 <= each <= 1 for each in (above, below) if each is not None):
        raise SelectionError("a certainty is a probability, from 0 to 1")
    if above is not None and below is not None and above >= below:
        raise SelectionError("no certainty is both above the one and below the other: let the first be the smaller")


EVERYTHING: Final = Selection()


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
    def place(self) -> str:
        """Where it stands among the others: a page can go on after it, also when it is gone."""
        return f"{self.time!r}:{self.change}"


class Listing:
    """The lessons of a journal, to be looked through."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def page(self, selection: Selection, most: int, after: str | None = None) -> list[Entry]:
        """Return the latest lessons of a selection, or the latest of those after a place."""
        where, values = selection.where()
        if after is not None:
            where, values = f"(time, change) < (?, ?) AND {where}", [*_parsed(after), *values]
        # To sort the numbers alone takes a third of the time.
        order = "ORDER BY time DESC, change DESC"
        numbers = f"SELECT change FROM lessons WHERE {where} {order} LIMIT ?"  # noqa: S608
        sql = f"SELECT {_ENTRY} FROM lessons WHERE change IN ({numbers}) {order}"  # noqa: S608
        return [Entry(*row) for row in self._db.execute(sql, [*values, min(most, _LARGEST)])]

    def n_of(self, selection: Selection) -> int:
        """Return how many lessons a selection has."""
        where, values = selection.where()
        (n,) = self._db.execute(f"SELECT count(*) FROM lessons WHERE {where}", values).fetchone()  # noqa: S608
        return int(n)

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        where, values = selection.where()
        sql = f"SELECT change FROM lessons WHERE {where} ORDER BY change"  # noqa: S608
        return [change for (change,) in self._db.execute(sql, values)]

    def predicted(self, label: str, size: int) -> tuple["array[int]", bytes]:
        """Return the changes that learned the lessons of a label, and one after the other what was predicted of each.

        Those of which something else was predicted, or nothing, are left out. SQLite puts all into one row: a row for
        each lesson takes twice the time, and Python's lock each time.
        """
        sql = (
            "SELECT group_concat(change), group_concat(hex(held_out), '') FROM lessons "
            "WHERE label = ? AND length(held_out) = ?"
        )
        changes, held_out = self._db.execute(sql, (label, size)).fetchone()
        if changes is None:
            return array("q"), b""
        return array("q", map(int, changes.split(","))), bytes.fromhex(held_out)

    def still(self, changes: Iterable[int]) -> list[tuple[bytes, str]]:
        """Return digest and user of the lessons that these changes learned and that are still there."""
        sql = "SELECT digest, user FROM lessons WHERE change = ?"
        rows = (self._db.execute(sql, (change,)).fetchone() for change in changes)
        return [row for row in rows if row]

    def times_of(self, changes: Iterable[int]) -> list[float | None]:
        """Return when these changes learned their lessons; None for those that are gone."""
        sql = "SELECT time FROM lessons WHERE change = ?"
        rows = (self._db.execute(sql, (change,)).fetchone() for change in changes)
        return [row[0] if row else None for row in rows]


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
