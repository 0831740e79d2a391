"""The rows of a journal in a PostgreSQL database.

To save round trips, BEGIN travels with the first statement of a transaction, and statements without an answer are held
back and sent in one pipeline before the next statement that has one, or with the COMMIT.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

import psycopg

from priory.journal.database import (
    CHANGE_COLUMNS,
    LESSON_COLUMNS,
    DamagedRowError,
    Row,
    leave_out,
    loaded_change,
    loaded_lesson,
    loaded_tallies,
    stored_lesson,
)
from priory.journal.lesson import Change, JournalError, Lesson, Position
from priory.journal.notes import subject_column
from priory.journal.postgres.connection import USUAL_WAIT_S, CachedConnection, PostgresConnection, translated_error
from priory.journal.queries import Condition, Selection, sql_condition

CHANNEL: Final = "priory"  #: on which the number of each last change is sent to listeners
# PostgreSQL delivers the notification when the transaction is committed, so a listener always finds the change.
_NUMBER: Final = (
    "WITH now AS (UPDATE journal SET change = ?, stamp = ? RETURNING change, stamp), "
    "kept AS (INSERT INTO stamps SELECT change, stamp FROM now) SELECT pg_notify(?, change::text) FROM now"
)
_INSERT: Final = f"INSERT INTO lessons (change, features, {LESSON_COLUMNS}) VALUES ({', '.join('?' * 11)})"  # noqa: S608
_MOVED: Final = f"features, {CHANGE_COLUMNS}"
_SELECT_MOVED: Final = f"SELECT ?, change, {_MOVED} FROM lessons WHERE change = ?"  # noqa: S608
_MOVE: Final = f"INSERT INTO forgotten (change, learned, {_MOVED}) {_SELECT_MOVED}"
_ROWS_AT_ONCE: Final = 500
_MAX_PENDING: Final = 2_000  # rows of held back statements: about 6 MB
_ROW_BYTES: Final = 400  # of a lesson beside its features: the row, and its part of the indexes
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LONG_READING: Final = "SET LOCAL idle_in_transaction_session_timeout = '10min'"  # a reader does not block others


class PostgresDatabase:
    """The tables of a journal, and the connection of the open transaction."""

    def __init__(self, connection: CachedConnection, wait_s: float, *, is_away: bool = False) -> None:
        self.name = connection.name
        self.stamp = ""  #: of the changes in this transaction
        self.unreadable: set[int] = set()  #: lessons that were found to be damaged and left out
        self.read_features: Callable[[bytes], object] = len
        self._cache = connection
        self._wait_s = wait_s
        self._waits = True  # whether this writer waits for another
        self._version = 0
        self._begin = ""  # how the transaction begins, as long as it has sent nothing
        self._open: PostgresConnection | None = None  # of the transaction
        self._pending: list[tuple[str, Sequence[Sequence[object]]]] = []  # statements that were held back
        self._clock = None if is_away else self._clock_difference()  # the server's clock minus ours, once known

    def close(self) -> None:
        """Close the connection."""
        self._cache.close()

    def now(self) -> float:
        """Return the time by the server's clock, which all nodes share; by ours until the server was reached."""
        return time.time() + (self._clock or 0.0)

    def _clock_difference(self) -> float:
        asked = time.time()
        ((theirs,),) = self.rows("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(theirs) - (asked + time.time()) / 2

    def head(self, *, lock: bool) -> tuple[Position, str] | None:
        """Return the position and the labels; `lock` keeps other writers out until the transaction ends."""
        for_update = f" FOR UPDATE{'' if self._waits else ' NOWAIT'}" if lock else ""
        sql = f"SELECT change, settled, stamp, labels FROM journal{for_update}"  # noqa: S608
        for *position, labels in self.rows(sql):
            return Position(*position), str(labels)
        return None

    def version(self) -> int:
        """Return a number that differs after another connection has changed something."""
        ((stamp,),) = self.rows("SELECT stamp FROM journal")
        if stamp != self.stamp:
            self._version = int.from_bytes(stamp.encode())  # any text: another machine may have written what it likes
        return self._version

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Begin a transaction that sees one state of the rows, whatever others write meanwhile."""
        with self._transaction(0.0, _READING):
            yield

    @contextmanager
    def writing(self, *, wait: bool) -> Iterator[None]:
        """Begin a transaction that is committed at the end, or rolled back on an error.

        Writers are serialised by `head(lock=True)`, which locks the only row of the table `journal`.
        """
        wait_s = self._wait_s if wait else 0.0
        self.stamp = uuid.uuid4().hex
        self._waits = wait
        limit = f"SET LOCAL lock_timeout = {wait_s * 1000:.0f}"
        with self._transaction(wait_s, "BEGIN", *[limit] * (wait and wait_s != USUAL_WAIT_S)):
            yield

    @contextmanager
    def beside_others(self) -> Iterator[None]:
        """Begin a transaction that writes without the lock of the journal."""
        with self._transaction(0.0, "BEGIN"):
            yield

    @contextmanager
    def _transaction(self, wait_s: float, *begin: str) -> Iterator[None]:
        if self._clock is None:
            self._clock = self._clock_difference()
        with self._translate_errors(wait_s), self._cache.borrow() as connection:
            try:
                self._open = connection
                self._begin = "; ".join(begin)
                yield
                self._send_begin(connection)
                self._pending.append(("COMMIT", [()]))
                self._send_pending(connection)
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                raise
            finally:
                self._open = None
                self._begin = ""
                self._pending.clear()

    @contextmanager
    def _translate_errors(self, wait_s: float) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise translated_error(error, self.name, wait_s) from None

    @contextmanager
    def _connection(self) -> Iterator[PostgresConnection]:
        """Yield the connection of the transaction, or one for a single statement."""
        if self._open is not None:
            yield self._open
        else:
            with self._cache.borrow() as connection:
                yield connection

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement and return its rows, if it has any."""
        with self._translate_errors(self._wait_s), self._connection() as connection:
            if self._begin and not values:
                begin, self._begin = self._begin, ""
                result = connection.execute(f"{begin}; {sql}".encode())  # one round trip for both
                while result.nextset():
                    pass
            else:
                self._send_begin(connection)
                self._send_pending(connection)
                result = connection.execute(_with_psycopg_marks(sql), values, prepare=True)
            return result.fetchall() if result.description else []

    def _send_begin(self, connection: PostgresConnection) -> None:
        """Begin the transaction if it has sent nothing yet."""
        begin, self._begin = self._begin, ""
        if begin:
            connection.execute(begin.encode())

    def _send_pending(self, connection: PostgresConnection) -> None:
        """Send the statements that were held back in a pipeline, in one round trip.

        What follows them must not be in a pipeline: the server would not end the transaction of a client that falls
        silent. (Its timer for idle transactions starts after it has answered a command, and a pipeline stops it.)
        """
        if self._pending:
            pending, self._pending = self._pending, []
            with connection.pipeline(), connection.cursor() as cursor:
                for sql, values in pending:
                    cursor.executemany(sql, values)

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each tuple of values, in the open transaction; it may be held back."""
        self._pending.append((_with_psycopg_marks(sql), list(values)))
        if self._open is not None and sum(len(rows) for _, rows in self._pending) > _MAX_PENDING:
            with self._translate_errors(self._wait_s):
                self._send_begin(self._open)
                self._send_pending(self._open)

    def _each_row(self, sql: str, *values: object) -> Iterator[Row]:
        """Yield rows that may be too many for memory, in a transaction by a cursor on the server."""
        with self._translate_errors(self._wait_s), self._connection() as connection:
            self._send_begin(connection)
            self._send_pending(connection)
            if self._open is None:
                yield from connection.execute(_with_psycopg_marks(sql), values)
                return
            connection.execute(_LONG_READING)
            with connection.cursor(f"c{uuid.uuid4().hex}") as cursor:
                cursor.itersize = _ROWS_AT_ONCE
                cursor.execute(_with_psycopg_marks(sql), values)
                yield from cursor

    def insert_lessons(self, lessons: Sequence[tuple[int, Lesson]]) -> None:
        """Insert lessons, each with its features in its row."""
        self.run_many(_INSERT, [(change, lesson.features, *stored_lesson(lesson)) for change, lesson in lessons])

    def lessons(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Return the lessons that a condition selects, each with its number."""
        return self._load_lessons(self.rows(self._select(where), *values))

    def each_lesson(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Yield lessons that may be too many for memory; inside `reading` or `writing`."""
        return self._load_lessons(self._each_row(self._select(where), *values))

    def _load_lessons(self, rows: Iterable[Row]) -> Iterator[tuple[int, Lesson]]:
        for number, features, *columns in rows:
            try:
                self.read_features(features)
                lesson = loaded_lesson(columns, features)
            except ValueError as error:
                leave_out(self, number, str(error))
            else:
                yield number, lesson

    def _select(self, where: str) -> str:
        return f"SELECT change, features, {LESSON_COLUMNS}, {subject_column(self)} FROM lessons WHERE {where}"  # noqa: S608

    def changes(
        self, sign: int, table: Literal["lessons", "forgotten"], where: str, *values: object
    ) -> Iterator[Change]:
        """Return the effects of lessons, present or forgotten, in the order in which they were learned."""
        number = "change" if table == "lessons" else "learned"
        sql = f"SELECT {number}, features, {CHANGE_COLUMNS} FROM {table} WHERE {where} ORDER BY {number}"  # noqa: S608
        for learned, features, *columns in self.rows(sql, *values):
            try:
                yield loaded_change(learned, sign, columns, features)
            except DamagedRowError as error:
                leave_out(self, learned, str(error))

    def move_to_forgotten(self, learned: int, change: int) -> None:
        """Move the lesson that a change learned to the forgotten ones."""
        self.run_many(_MOVE, [(change, learned)])
        self.run_many("DELETE FROM lessons WHERE change = ?", [(learned,)])

    def condition(self, selection: Selection) -> Condition:
        """Return the condition for a selection of lessons."""
        return sql_condition(
            selection,
            user='"user" = ?',
            source="starts_with(source, ?)",
            changes="change BETWEEN ? AND ? AND get_byte(?, (change - ?)::integer - 1) = 1",
            subject=f'strpos(lower({subject_column(self)}), lower(? COLLATE "C")) > 0',
        )

    def predictions(self, label: str, size: int) -> tuple[str | None, str | None]:
        """Return the changes of a label's lessons with predictions of a size, and these predictions, in one row."""
        columns = "string_agg(change::text, ','), string_agg(encode(held_out, 'hex'), '')"
        sql = f"SELECT {columns} FROM lessons WHERE label = ? AND length(held_out) = ?"  # noqa: S608
        ((changes, held_out),) = self.rows(sql, label, size)
        return changes, held_out

    def number(self, change: int) -> None:
        """Write the number of the last change and its stamp, and notify listeners at the commit."""
        self.run_many(_NUMBER, [(change, self.stamp, CHANNEL)])

    def stamp_of(self, change: int) -> str:
        """Return the stamp of a change, which is that of the last change of its transaction; empty if unknown."""
        rows = self.rows("SELECT stamp FROM stamps WHERE change >= ? ORDER BY change LIMIT 1", change)
        return str(rows[0][0]) if rows else ""

    def tidy(self, _gone: Iterable[int], _since: int) -> None:
        """Do nothing: features are deleted with their rows."""

    def make(self, _statements: Iterable[str]) -> None:
        """Do nothing: all tables exist from the start."""

    def has(self, _table: str) -> bool:
        """Return True: all tables exist from the start."""
        return True

    def size_bytes(self) -> int:
        """Return the size of the tables on disk, with their indexes."""
        tables = "FROM pg_class WHERE relnamespace = 'priory'::regnamespace AND relkind = 'r'"
        sql = f"SELECT sum(pg_total_relation_size(oid))::bigint {tables}"
        ((size,),) = self.rows(sql)
        return int(size)

    def used_bytes(self) -> int:
        """Return an estimate of the part that lessons use, with their indexes, without free space."""
        ((used,),) = self.rows("SELECT sum(length(features) + ?)::bigint FROM lessons", _ROW_BYTES)
        return int(used or 0)

    def wipe(self) -> None:
        """Do nothing: the server vacuums by itself."""

    def check(self) -> None:
        """Compare the tally with the lessons, and raise JournalError if they differ."""
        with self.reading():
            counted: dict[str, int] = dict(self.rows("SELECT label, count(*) FROM lessons GROUP BY label"))
            tallies = loaded_tallies(self.rows("SELECT label, n FROM tally WHERE n > 0"))
        if counted != tallies.every:
            raise JournalError(f"{self.name} is damaged: its tally and its lessons differ. Restore it from a backup.")


def _with_psycopg_marks(sql: str) -> Any:
    return sql.replace("?", "%s")
