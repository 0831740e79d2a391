"""What a journal needs of a database, and how values are stored as rows.

The journal's own SQL is the small part that SQLite and PostgreSQL share: names that are SQL keywords are quoted, and
values are question marks. Where the two differ, the database has a method with its own statement.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from priory.bayes.counts import PREDICTION_BYTES
from priory.journal.lesson import AUTOMATIC, Change, Lesson, LessonUser, Position, ReservedUserError, Tallies, TallyKind
from priory.processes.log import log

if TYPE_CHECKING:
    from priory.journal.queries import Condition, Selection

Row: TypeAlias = tuple[Any, ...]
MAX_PARAMETERS: Final = 500  #: per statement; some builds of SQLite take 999 at most
STORED_AUTOMATIC: Final = "\tauto"  #: the column `user` of automatic lessons
LESSON_COLUMNS: Final = 'digest, label, held_out, "user", source, sender, time, shared, node'
CHANGE_COLUMNS: Final = 'label, held_out, "user", shared'
REPAIR: Final = "priory doctor --repair takes out what is damaged, after a copy"
_DIGEST_BYTES: Final = 32
_ANY_DIGEST: Final = bytes(_DIGEST_BYTES)
_END_OF_TIME: Final = 253_402_300_000.0  # the year 9999: no calendar has later dates
_TALLY_MARK: Final = "\n"  # labels have none; it follows the label once per number of the tally


class DamagedRowError(ValueError):
    """A row has a value that is never stored."""

    def __init__(self, column: str) -> None:
        super().__init__(f"its column {column} is damaged")


class Database(Protocol):
    """The rows of a journal. Errors are `JournalError`s that say what is wrong, and what to do."""

    @property
    def name(self) -> str:
        """The name for messages."""

    @property
    def stamp(self) -> str:
        """While writing: the stamp of the changes in this transaction; empty if changes have none."""

    def head(self, *, lock: bool) -> tuple[Position, str] | None:
        """Return the position and the labels; `lock` keeps other writers out until the transaction ends."""

    def now(self) -> float:
        """Return the time by the clock that all users of the database share."""

    def number(self, change: int) -> None:
        """Write the number of the last change, and notify others when the transaction is committed."""

    def stamp_of(self, change: int) -> str:
        """Return the stamp of a change; empty if changes have none."""

    def version(self) -> int:
        """Return a number that differs after another connection has changed something; called at every check."""

    def reading(self) -> AbstractContextManager[None]:
        """Begin a transaction that sees one state of the rows, whatever others write meanwhile."""

    def writing(self, *, wait: bool) -> AbstractContextManager[None]:
        """Begin a transaction that is committed at the end, or rolled back on an error; one writer at a time."""

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement and return its rows, if it has any."""

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each tuple of values, in the open transaction."""

    def insert_lessons(self, lessons: Sequence[tuple[int, Lesson]]) -> None:
        """Insert lessons, each with the number of its change, in ascending order."""

    @property
    def unreadable(self) -> set[int]:
        """The numbers of the lessons that were found to be damaged and left out."""

    read_features: Callable[[bytes], object]  #: raises ValueError for features that are damaged

    def lessons(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Return the lessons that a condition selects, each with its number."""

    def each_lesson(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Yield lessons that may be too many for memory; inside `reading` or `writing`."""

    def changes(
        self, sign: int, table: Literal["lessons", "forgotten"], where: str, *values: object
    ) -> Iterator[Change]:
        """Return the effects of lessons, present or forgotten, in the order in which they were learned."""

    def move_to_forgotten(self, learned: int, change: int) -> None:
        """Move the lesson that a change learned to the forgotten ones, with the number of the change that forgets."""

    def condition(self, selection: "Selection") -> "Condition":
        """Return the condition for a selection of lessons."""

    def predictions(self, label: str, size: int) -> tuple[str | None, str | None]:
        """Return the changes of a label's lessons with predictions of a size, and these predictions.

        Both come in one row: changes joined by commas, predictions as hexadecimal digits. One row per lesson would
        take twice the time, and Python's global lock each time.
        """

    def tidy(self, gone: Iterable[int], since: int) -> None:
        """Drop the features of deleted lessons, and compact the features stored after a change."""

    def make(self, statements: Iterable[str]) -> None:
        """Create optional tables by these statements, if the database does not have them from the start."""

    def has(self, table: str) -> bool:
        """Tell whether a table exists."""

    def size_bytes(self) -> int:
        """Return the size on disk."""

    def used_bytes(self) -> int:
        """Return the part of the size on disk that lessons use, without free space."""

    def wipe(self) -> None:
        """Overwrite deleted rows wherever they could still be read."""

    def check(self) -> None:
        """Read everything and raise JournalError if it is damaged."""

    def close(self) -> None:
        """Close the connection."""


def stored_user(user: LessonUser) -> str:
    """Return the column `user` of a lesson.

    >>> stored_user("ann"), stored_user(AUTOMATIC)
    ('ann', '\\tauto')
    """
    if user is AUTOMATIC:
        return STORED_AUTOMATIC
    if user == STORED_AUTOMATIC:
        raise ReservedUserError(f"{user!r} cannot be the name of a user: it marks automatic lessons. Use another name.")
    return user


def loaded_user(text: str) -> LessonUser:
    """Return who taught a lesson, from its column `user`."""
    return AUTOMATIC if text == STORED_AUTOMATIC else text


def stored_lesson(lesson: Lesson) -> Row:
    """Return the LESSON_COLUMNS of a lesson; its subject has a table of its own."""
    digest, label, _, held_out, user, source, sender, time, shared, node, _ = lesson
    return digest, label, held_out, stored_user(user), source, sender, time, shared, node


def loaded_lesson(columns: Sequence[Any], features: bytes) -> Lesson:
    """Return a lesson from its LESSON_COLUMNS and its subject, and its features. Raises DamagedRowError."""
    digest, label, held_out, user, source, sender, time, shared, node, subject = columns
    require_lesson(digest, label, held_out, time)
    require_texts(user=user, source=source, sender=sender, node=node)
    who = loaded_user(user)
    if not (isinstance(subject, str) and is_text(subject)):  # it has a row of its own, which costs no lesson
        subject = ""
    return Lesson(digest, label, features, held_out, who, source, sender, time, bool(shared), node, subject)


def loaded_change(number: int, sign: int, columns: Sequence[Any], features: bytes) -> Change:
    """Return the effect of a lesson from its number, its CHANGE_COLUMNS and its features. Raises DamagedRowError."""
    label, held_out, user, shared = columns
    require_lesson(_ANY_DIGEST, label, held_out, 0.0)
    require_texts(user=user)
    return Change(sign, label, features, held_out, loaded_user(user), bool(shared), number)


def require_lesson(digest: object, label: object, held_out: object, time: object) -> None:
    """Raise DamagedRowError if a lesson has a value that is never stored."""
    if not (isinstance(digest, bytes) and len(digest) == _DIGEST_BYTES):
        raise DamagedRowError("digest")
    if not (isinstance(label, str) and label and is_text(label)):
        raise DamagedRowError("label")
    if not (held_out is None or (isinstance(held_out, bytes) and len(held_out) % PREDICTION_BYTES == 0)):
        raise DamagedRowError("held_out")
    require_time(time)


def require_time(time: object) -> None:
    """Raise DamagedRowError if a time is one that no calendar has."""
    if not (isinstance(time, float) and 0 <= time < _END_OF_TIME):
        raise DamagedRowError("time")


def require_texts(**columns: object) -> None:
    """Raise DamagedRowError unless all columns are texts."""
    for name, value in columns.items():
        if not (isinstance(value, str) and is_text(value)):
            raise DamagedRowError(name)


def is_text(value: str) -> bool:
    """Tell whether a text was stored as UTF-8; `lenient_text` marks all other bytes.

    >>> is_text("Prüfung"), is_text(lenient_text(b"Pr\\xfcfung"))
    (True, False)
    """
    return value.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in value)


def leave_out(database: Database, number: int, why: str) -> None:
    """Note that a lesson is damaged and left out, and log it once."""
    if number not in database.unreadable:
        database.unreadable.add(number)
        log(f"lesson {number} of {database.name} is left out ({why}): {REPAIR}")


def lenient_text(stored: bytes) -> str:
    """Return a stored text, also if it is damaged."""
    return stored.decode("utf-8", "surrogateescape")


def tally_rows(label: str, user: LessonUser, *, shared: bool = True) -> list[tuple[str, TallyKind]]:
    """Return the rows of the tally in which a lesson is counted.

    >>> tally_rows("ham", "ann"), tally_rows("ham", "ann", shared=False)
    ([('ham', <TallyKind.EVERY: 0>)], [('ham', <TallyKind.EVERY: 0>), ('ham', <TallyKind.UNSHARED: 2>)])
    """
    rows = [(label, TallyKind.EVERY)]
    if user is AUTOMATIC:
        rows.append((label, TallyKind.AUTOMATIC))
    if not shared:
        rows.append((label, TallyKind.UNSHARED))
    return rows


def stored_tally(differences: Mapping[tuple[str, TallyKind], int]) -> list[tuple[str, int]]:
    """Return rows of the table `tally`.

    >>> stored_tally({("ham", TallyKind.EVERY): 3, ("ham", TallyKind.UNSHARED): 1})
    [('ham', 3), ('ham\\n\\n', 1)]
    """
    return [(label + tally * _TALLY_MARK, n) for (label, tally), n in differences.items()]


def loaded_tallies(rows: Iterable[Row]) -> Tallies:
    """Return the numbers from the rows of the table `tally`.

    >>> loaded_tallies([("ham", 3), ("ham\\n", 1), ("ham\\n\\n", 2)])
    Tallies(every={'ham': 3}, automatic={'ham': 1}, unshared={'ham': 2})
    """
    tallies = Tallies({}, {}, {})
    rows = list(rows)
    for row, n in rows:
        require_texts(label=row)
        if not (isinstance(n, int) and n >= 0 and row.count(_TALLY_MARK) < len(tallies)):
            raise DamagedRowError("n")
    for row, n in sorted(rows):
        tallies[row.count(_TALLY_MARK)][row.rstrip(_TALLY_MARK)] = n
    return tallies
