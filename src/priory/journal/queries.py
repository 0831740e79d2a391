"""Queries about lessons: selections of them, listed page by page, counted, or reduced to their predictions.

The latest lesson comes first, and a page continues after the place of the last lesson of the page before. Each page is
a short query of its own. A lesson that stays unchanged is listed once, whatever is learned and forgotten between pages.

The order is by time, not by row: rescored and merged lessons are written again. No index supports this order, because
it would slow down every lesson; reading 100,000 of them takes less than a tenth of a second
(docs/decisions/journal.md).
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from priory.journal.database import (
    MAX_PARAMETERS,
    REPAIR,
    STORED_AUTOMATIC,
    DamagedRowError,
    Database,
    Row,
    leave_out,
    loaded_user,
    require_lesson,
    require_texts,
)
from priory.journal.lesson import AUTOMATIC, JournalError, Lesson, LessonUser
from priory.journal.notes import subject_column

Thing = TypeVar("Thing")
_DIGEST_DIGITS: Final = 64
_LARGEST: Final = (1 << 63) - 1  # integer that a database takes
_LONGEST_MAP: Final = 1 << 30
_PLACES: Final = 64  # from which `sample` reads
_RUN: Final = 128  # lessons that it looks at in each place
_SUMMARY: Final = 'change, digest, label, held_out, "user", source, sender, time'


class SelectionError(ValueError):
    """A selection contradicts itself or has an invalid value; the text says which.

    It does not repeat a time, because answers over HTTP never show what a request contained.
    """

    def __init__(self, text: str, field: str = "") -> None:
        super().__init__(text)
        self.field = field  #: the name of the field with a text that is not a time


def _require_hex_digits(digest: str) -> None:
    if len(digest) > _DIGEST_DIGITS or not set(digest) <= set("0123456789abcdefABCDEF"):
        raise SelectionError(
            f"{digest!r} is not the beginning of a digest: write at most {_DIGEST_DIGITS} hexadecimal digits"
        )


def _require_probabilities(above: float | None, below: float | None) -> None:
    if not all(0 <= certainty <= 1 for certainty in (above, below) if certainty is not None):
        raise SelectionError("a certainty is a probability, from 0 to 1")
    if above is not None and below is not None and above >= below:
        raise SelectionError("certainty_above must be smaller than certainty_below")


@dataclass(frozen=True, slots=True)
class Selection:
    """The lessons that satisfy all conditions given here; None is no condition.

    >>> Selection(label="spam", sender="Mail.Example")
    Selection(label='spam', user=None, source=None, sender='mail.example', since=None, until=None, automatic=None, \
digest=None, certainty_below=None, certainty_above=None, changes=None, subject=None)
    """

    label: str | None = None
    user: str | None = None  #: the empty name selects lessons of no user in particular, without the automatic ones
    source: str | None = None  #: a prefix
    sender: str | None = None  #: the domain
    since: float | None = None  #: learned at this time or later
    until: float | None = None  #: learned before this time
    automatic: bool | None = None  #: learned by the filter itself; False: taught by people
    digest: str | None = None  #: a prefix, in hexadecimal digits
    certainty_below: float | None = None  #: the label's probability before learning, for lessons that have one
    certainty_above: float | None = None
    changes: tuple[int, ...] | None = None  #: the numbers of the changes that learned the lessons
    subject: str | None = None  #: a part of the subject, whether the letters A to Z are capital or small

    def __post_init__(self) -> None:
        if self.digest is not None:
            _require_hex_digits(self.digest)
            object.__setattr__(self, "digest", self.digest.lower())
        if self.sender is not None:
            object.__setattr__(self, "sender", self.sender.lower())
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise SelectionError("since must be earlier than until")
        _require_probabilities(self.certainty_above, self.certainty_below)

    @property
    def is_everything(self) -> bool:
        """Whether there is no condition, so that all lessons are selected."""
        texts = {name: getattr(self, name) or None for name in ("source", "digest", "subject")}
        return replace(self, **texts) == EVERYTHING

    @property
    def is_by_certainty(self) -> bool:
        """Whether the selection depends on the calibration, which the filter knows and the journal does not."""
        return not self.certainty_below is self.certainty_above is None


EVERYTHING: Final = Selection()
#: The fields that select lessons, named as in the HTTP API.
FIELDS: Final = (
    *("label", "automatic", "sender", "since", "until"),
    *("user", "source", "digest", "certainty_above", "certainty_below", "subject"),
)


def read_selection(fields: Mapping[str, str | float | bool | datetime | None]) -> Selection:
    """Return the selection that some of `FIELDS` describe, each as text or as its value. Raises SelectionError.

    A time without an offset from UTC is a local time.

    >>> read_selection({"label": "spam", "since": "1970-01-02T00:00Z", "automatic": "false"})
    Selection(label='spam', user=None, source=None, sender=None, since=86400.0, until=None, automatic=False, \
digest=None, certainty_below=None, certainty_above=None, changes=None, subject=None)
    """
    values: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    for name in ("since", "until"):
        if name in values:
            values[name] = _seconds(name, values[name])
    for name in ("certainty_above", "certainty_below"):
        if name in values:
            values[name] = _probability(values[name])
    if isinstance(values.get("automatic"), str):
        values["automatic"] = values["automatic"] == "true"
    return Selection(**values)


def require_label(label: str, labels: Sequence[str], where: str = "") -> None:
    """Raise SelectionError if a label is not one of the filter's; `where` says which input has it."""
    if label not in labels:
        place = f"{where}: " if where else ""
        raise SelectionError(f"{place}unknown label {label!r}; this filter knows {', '.join(labels)}")


def _seconds(name: str, time: str | datetime) -> float:
    try:
        return (datetime.fromisoformat(time) if isinstance(time, str) else time).timestamp()
    except (ValueError, OverflowError):
        raise SelectionError(
            f"{name} is not a time: write 2026-11-01 or 2026-11-01T14:30, which are local times, or "
            "2026-11-01T14:30+01:00",
            name,
        ) from None


def _probability(value: str | float) -> float:
    try:
        return float(value)
    except ValueError:
        raise SelectionError("a certainty is a probability, from 0 to 1") from None


class Condition(NamedTuple):
    """A condition in SQL, and its values."""

    sql: str
    values: list[object]


def sql_condition(selection: Selection, *, user: str, source: str, changes: str, subject: str) -> Condition:
    """Return a selection as a condition, given the parts in which databases differ.

    `user` compares the column with a value, `source` its beginning. `changes` has four values, as `_bitmap` returns
    them: it is true where the byte of the column `change` is 1. `subject` finds a text in the subject.
    """
    if selection.is_by_certainty:
        raise ValueError("a journal knows no certainties: select by certainty through the filter")
    digest = selection.digest or ""
    digests = tuple(bytes.fromhex(digest.ljust(_DIGEST_DIGITS, filling)) for filling in "0f")
    sign = "=" if selection.automatic else "<>"
    candidates = (
        (selection.label, "label = ?", (selection.label,)),
        (selection.user, f"{user} AND \"user\" <> '{STORED_AUTOMATIC}'", (selection.user,)),
        (selection.source or None, source, (selection.source,)),
        (selection.sender, "sender = ?", (selection.sender,)),
        (selection.since, "time >= ?", (selection.since,)),
        (selection.until, "time < ?", (selection.until,)),
        (selection.automatic, f"\"user\" {sign} '{STORED_AUTOMATIC}'", ()),
        (digest or None, "digest BETWEEN ? AND ?", digests),
        (selection.changes, changes, _bitmap(selection.changes or ())),
        (selection.subject or None, subject, (selection.subject,)),
    )
    parts = [(sql, values) for field, sql, values in candidates if field is not None]
    return Condition(" AND ".join(sql for sql, _ in parts) or "TRUE", [v for _, values in parts for v in values])


def _bitmap(changes: tuple[int, ...]) -> tuple[int, int, bytes, int]:
    """Return the first and the last of some changes, a map of one byte per number, and the number before the first.

    The byte is 1 if the number is one of the changes. To look up a byte takes a database a third of the time that it
    takes to find a number in a long list.

    >>> _bitmap((7, 9))
    (7, 9, b'\\x01\\x00\\x01', 6)
    """
    first, last = min(changes, default=1), max(changes, default=0)
    if last - first > _LONGEST_MAP:
        raise JournalError(f"a lesson has the impossible number {last if last > _LONGEST_MAP else first}: {REPAIR}.")
    marks = bytearray(last - first + 1)
    for change in changes:
        marks[change - first] = 1
    return first, last, bytes(marks), first - 1


def evenly(things: Sequence[Thing], most: int) -> list[Thing]:
    """Return up to `most` things, at equal distances.

    >>> evenly("abcdefgh", 3), evenly("ab", 3)
    (['a', 'c', 'f'], ['a', 'b'])
    """
    n = min(len(things), most)
    return [things[i * len(things) // n] for i in range(n)]


class LessonSummary(NamedTuple):
    """A lesson without its features."""

    change: int
    digest: bytes
    label: str
    held_out: bytes | None
    user: LessonUser
    source: str
    sender: str
    time: float
    subject: str = ""

    @property
    def is_automatic(self) -> bool:
        """Whether the filter learned this by itself."""
        return self.user is AUTOMATIC

    @property
    def place(self) -> str:
        """The place in the order of lessons; a page can continue after it even when the lesson is gone."""
        return f"{self.time!r}:{self.change}"


class LessonQueries:
    """Queries about the lessons of a journal."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def page(self, selection: Selection, most: int, after: str | None = None) -> list[LessonSummary]:
        """Return the latest lessons of a selection, or the latest of those after a place."""
        where, values = self._db.condition(selection)
        if after is not None:
            where, values = f"(time, change) < (?, ?) AND {where}", [*_parse_place(after), *values]
        return self._summaries(where, "time DESC, change DESC", most, values)

    def oldest(self, most: int) -> list[LessonSummary]:
        """Return the lessons that were learned first, the oldest first."""
        return self._summaries("TRUE", "time, change", most, [])

    def _summaries(self, where: str, order: str, most: int, values: list[object]) -> list[LessonSummary]:
        # To sort the numbers alone takes a third of the time of sorting whole rows.
        numbers = f"SELECT change FROM lessons WHERE {where} ORDER BY {order} LIMIT ?"  # noqa: S608
        columns = f"{_SUMMARY}, {subject_column(self._db)}"
        sql = f"SELECT {columns} FROM lessons WHERE change IN ({numbers}) ORDER BY {order}"  # noqa: S608
        rows = self._db.rows(sql, *values, min(most, _LARGEST))
        return [summary for summary in map(self._summary, rows) if summary is not None]

    def _summary(self, row: Row) -> LessonSummary | None:
        """Return the summary of a lesson; None if it is damaged."""
        number, digest, label, held_out, user, source, sender, time, subject = row
        try:
            require_lesson(digest, label, held_out, time)
            require_texts(user=user, source=source, sender=sender, subject=subject)
        except DamagedRowError as error:
            leave_out(self._db, number, str(error))
            return None
        return LessonSummary(number, digest, label, held_out, loaded_user(user), source, sender, time, subject)

    def sample(self, most: int) -> list[Lesson]:
        """Return up to `most` lessons of each label, spread over the journal, in the order of their numbers.

        They come from a bounded number of places, so the size of the journal makes no difference.
        """
        by_label: dict[str, list[int]] = {}
        with self._db.reading():
            ((first, last),) = self._db.rows("SELECT min(change), max(change) FROM lessons")
            if first is None:
                return []
            step = max(-(-(last - first + 1) // _PLACES), _RUN)
            sql = "SELECT change, label FROM lessons WHERE change >= ? AND change < ? ORDER BY change LIMIT ?"
            for place in range(first, last + 1, step):
                for change, label in self._db.rows(sql, place, place + step, _RUN):
                    by_label.setdefault(label, []).append(change)
            chosen = sorted(change for changes in by_label.values() for change in evenly(changes, most))
            lessons: list[Lesson] = []
            for i in range(0, len(chosen), MAX_PARAMETERS):
                some = chosen[i : i + MAX_PARAMETERS]
                where = f"change IN ({', '.join('?' * len(some))}) ORDER BY change"
                lessons += [lesson for _, lesson in self._db.lessons(where, *some)]
            return lessons

    def n_of(self, selection: Selection) -> int:
        """Return how many lessons a selection has."""
        where, values = self._db.condition(selection)
        ((n,),) = self._db.rows(f"SELECT count(*) FROM lessons WHERE {where}", *values)  # noqa: S608
        return int(n)

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        where, values = self._db.condition(selection)
        sql = f"SELECT change FROM lessons WHERE {where} ORDER BY change"  # noqa: S608
        return [change for (change,) in self._db.rows(sql, *values)]

    def predictions(self, label: str, size: int) -> tuple["array[int]", bytes]:
        """Return the changes that learned the lessons of a label, and the predictions for them, concatenated.

        Lessons without predictions, or with predictions of another size, are left out.
        """
        changes, held_out = self._db.predictions(label, size)
        if changes is None or held_out is None:
            return array("q"), b""
        return array("q", map(int, changes.split(","))), bytes.fromhex(held_out)

    def nodes(self) -> list[tuple[str, int, float]]:
        """Return the machines that have learned lessons, each with the number of lessons and the time of the last."""
        rows = self._db.rows("SELECT node, count(*), max(time) FROM lessons GROUP BY node ORDER BY node")
        return [(node, n, last) for node, n, last in rows if isinstance(node, str) and isinstance(last, float)]

    def existing(self, changes: Iterable[int]) -> list[tuple[bytes, LessonUser]]:
        """Return digest and user of the lessons that these changes learned and that still exist."""
        remaining = iter(changes)
        lessons: list[tuple[bytes, LessonUser]] = []
        while group := list(islice(remaining, MAX_PARAMETERS)):
            condition = f"change IN ({', '.join('?' * len(group))})"
            sql = f'SELECT digest, "user" FROM lessons WHERE {condition} ORDER BY change'  # noqa: S608
            rows = self._db.rows(sql, *group)
            lessons += [(digest, loaded_user(user)) for digest, user in rows if isinstance(digest, bytes)]
        return lessons

    def numbers(self) -> list[int]:
        """Return the numbers of the changes that learned the lessons that exist, in order."""
        return [change for (change,) in self._db.rows("SELECT change FROM lessons ORDER BY change")]

    def lessons_after(self, change: int) -> Iterator[tuple[int, Lesson]]:
        """Yield the lessons learned after a change, in order, each with the number of its change."""
        with self._db.reading():
            yield from self._db.each_lesson("change > ? ORDER BY change", change)

    def lessons_of(self, changes: Sequence[int]) -> dict[int, Lesson]:
        """Return the lessons that these changes learned and that still exist, by number."""
        lessons: dict[int, Lesson] = {}
        with self._db.reading():
            for i in range(0, len(changes), MAX_PARAMETERS):
                some = changes[i : i + MAX_PARAMETERS]
                where = f"change IN ({', '.join('?' * len(some))}) ORDER BY change"
                lessons.update(self._db.lessons(where, *some))
        return lessons

    def times_of(self, changes: Iterable[int]) -> list[float | None]:
        """Return when these changes learned their lessons; None for lessons that no longer exist."""
        sql = "SELECT time FROM lessons WHERE change = ?"
        results = (self._db.rows(sql, change) for change in changes)
        times = (rows[0][0] if rows else None for rows in results)
        return [time if isinstance(time, float) and math.isfinite(time) else None for time in times]


def _parse_place(place: str) -> tuple[float, int]:
    """Return the time and the change of a place.

    >>> _parse_place("1793491200.5:864")
    (1793491200.5, 864)
    """
    time, _, change = place.partition(":")
    try:
        parsed = float(time), int(change)
    except ValueError:
        parsed = math.nan, 0
    if not (math.isfinite(parsed[0]) and 0 < parsed[1] <= _LARGEST):
        raise SelectionError(f"{place!r} is not a place in the list: take it from the page before")
    return parsed
