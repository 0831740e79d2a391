"""What a journal needs of a database: its rows, by the little SQL that all databases understand in the same way.

Names that are words of SQL are quoted, values are question marks. Where databases differ they say how they put it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer

Row = tuple[Any, ...]
MOST_ASKED: Final = 500  #: values at once; some builds of SQLite take 999 at most


class SharedSnapshots(Protocol):
    """Snapshots of the counts beside a journal that several machines share, for those who start."""

    def save(self, change: int, stamp: str, labels: Sequence[str], parts: "Sequence[Buffer]") -> bool:
        """Write the counts as they stood at a change in place of older ones, and drop what the journal kept for these.

        Returns whether it was done: if somebody else is about it, or the change is no more, it is not.
        """

    def load(self, change: int, labels: Sequence[str], parts: "Sequence[memoryview[int]]") -> bool:
        """Fill the parts of empty counts with those of a change; tell whether there are any that fit."""


class Database(Protocol):
    """The rows of a journal, and how to change them. Errors say what is wrong with it, and what to do."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def stamp(self) -> str:
        """While writing: the stamp of the changes that are being made; empty where they need none."""

    @property
    def lock(self) -> str:
        """What the one who writes says to have the head of the journal for itself, where nothing else does that."""

    @property
    def stamp_column(self) -> str:
        """The stamp of the last change, as a column of the journal."""

    @property
    def features(self) -> str:
        """The columns in which the features of a lesson are, or where they are."""

    @property
    def begins(self) -> str:
        """The condition that a source begins with a value."""

    @property
    def has_user(self) -> str:
        """The condition that a user is the one given."""

    @property
    def is_marked(self) -> str:
        """The condition that a change is from one number to another, and that its byte among given ones is 1.

        The fourth value is the number before the first of these bytes.
        """

    @property
    def joined(self) -> str:
        """The changes of lessons, joined by commas, and what was predicted of each, in hexadecimal digits."""

    def now(self) -> float:
        """Return the time, by the clock of those who share it."""

    def number(self, change: int) -> None:
        """Write down the number of the last change, and tell others when it is durable."""

    def stamp_of(self, change: int) -> str:
        """Return the stamp of the changes of which a change is one; empty where they have none."""

    def version(self) -> int:
        """Return a number that differs whenever another connection has changed something; asked at every check."""

    def reading(self) -> AbstractContextManager[None]:
        """See one state of the rows, whatever others do meanwhile."""

    def writing(self, *, wait: bool) -> AbstractContextManager[None]:
        """Make changes that become durable together at the end, or not at all; one writer at a time."""

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return rows; or change something, then there are none."""

    def each_row(self, sql: str, *values: object) -> Iterator[Row]:
        """Yield rows that may be too many to hold; inside `reading` or `writing`."""

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each of these, in the transaction that is open."""

    def store(self, learned: Sequence[tuple[int, bytes]]) -> list[Row]:
        """Take in the features of lessons, given in order by the numbers of their changes.

        Returns what belongs in the columns `features` of each.
        """

    def with_features(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows, each with the features in place of the columns `features`, which come second."""

    def tidy(self, gone: Iterable[int], since: int) -> None:
        """Drop the features of lessons that are gone, and put those in order that came after a change."""

    def make(self, statements: Iterable[str]) -> None:
        """Make tables that not every journal has, as these statements say, if they are not there yet."""

    def has(self, table: str) -> bool:
        """Tell whether there is such a table."""

    def size_bytes(self) -> int:
        """Return what it takes on disk."""

    def used_bytes(self) -> int:
        """Return what the lessons take of that: not what is free to be used again."""

    def wipe(self) -> None:
        """Leave nothing of what was deleted where it could still be read."""

    def check(self) -> None:
        """Read everything and raise JournalError if it is damaged."""

    def close(self) -> None:
        """Let go of it."""
