"""The rows of a journal in an open SQLite database, and the files that this process has open.

No other code of the process may open and close such a file, even to read. POSIX locks belong to the process, and
closing any descriptor of a file releases all of them, SQLite's included
(https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_). Another process
that then closes the journal would take itself for the last user, and delete the write-ahead log that this one still
writes.
"""

import os
import sqlite3
import time
from _thread import allocate_lock  # `threading` is slow to load
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from priory.journal.database import (
    CHANGE_COLUMNS,
    LESSON_COLUMNS,
    DamagedRowError,
    Row,
    leave_out,
    lenient_text,
    loaded_change,
    loaded_lesson,
    stored_lesson,
)
from priory.journal.lesson import Change, JournalBusyError, JournalError, Lesson, Position
from priory.journal.notes import subject_column
from priory.journal.queries import Condition, Selection, sql_condition
from priory.journal.sqlite.bundles import FULL, Bundles

_INSERT: Final = f"INSERT INTO lessons (change, start, size, {LESSON_COLUMNS}) VALUES ({', '.join('?' * 12)})"  # noqa: S608
_IS_PREDICTION: Final = "length(held_out) = ? AND typeof(held_out) = 'blob'"
_MOVED: Final = f"start, size, {CHANGE_COLUMNS}"
_SELECT_MOVED: Final = f"SELECT ?, change, {_MOVED} FROM lessons WHERE change = ?"  # noqa: S608
_MOVE: Final = f"INSERT INTO forgotten (change, learned, {_MOVED}) {_SELECT_MOVED}"

_SALVAGED_AT_ONCE: Final = 512  # lessons, about 1.6 MB

FileId: TypeAlias = tuple[int, int]  #: device and inode: a file may have several names
_open: Final[Counter[FileId]] = Counter()
_open_lock: Final = allocate_lock()


def register_open(path: Path, inspect: Callable[[Path], None]) -> FileId:
    """Register a journal before it is opened; unless it is open already, call `inspect`, which must leave a file."""
    with _open_lock:
        # The lock covers the inspection too: another thread could open the journal while its descriptor is open here.
        if not (path.exists() and _open[_id_of(path)]):
            inspect(path)
        file = _id_of(path)
        _open[file] += 1
        return file


def register_closed(file: FileId) -> None:
    """Remove a journal from the register after it was closed."""
    with _open_lock:
        _open[file] -= 1


def _id_of(path: Path) -> FileId:
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino


class SqliteDatabase:
    """A connection to the file of a journal."""

    stamp: Final = ""

    def __init__(self, path: Path, file: FileId, connection: sqlite3.Connection, wait_s: float) -> None:
        self.path = path
        self.name = str(path)
        self.unreadable: set[int] = set()  #: lessons that were found to be damaged and left out
        self.read_features: Callable[[bytes], object] = len
        self._file: FileId | None = file
        self._db = connection
        self._wait_s = wait_s
        self._cursor = connection.cursor()  # for `version`, which every check calls
        self._bundles = Bundles(connection)

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._file is not None:
            register_closed(self._file)
            self._file = None

    def now(self) -> float:
        """Return the time."""
        return time.time()

    def head(self, *, lock: bool) -> tuple[Position, str] | None:  # noqa: ARG002 - `writing` has the lock already
        """Return the position and the labels."""
        for change, settled, labels in self.rows("SELECT change, settled, labels FROM journal"):
            return Position(change, settled, ""), labels
        return None

    def number(self, change: int) -> None:
        """Write the number of the last change; others notice by the version."""
        self._db.execute("UPDATE journal SET change = ?", (change,))

    def stamp_of(self, _change: int) -> str:
        """Return nothing: numbers never repeat in a file, so changes have no stamps."""
        return ""

    def version(self) -> int:
        """Return a number that differs after another connection has changed something; called at every check."""
        try:
            (number,) = self._cursor.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise translated_error(error, self.path, self._wait_s) from None
        return int(number)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Begin a transaction that sees one state of the rows, whatever others write meanwhile."""
        with translate_errors(self.path, self._wait_s):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.ProgrammingError):  # the connection was closed meanwhile
                    self._rollback()

    @contextmanager
    def writing(self, *, wait: bool) -> Iterator[None]:
        """Begin a transaction that is committed at the end, or rolled back on an error; one writer at a time."""
        wait_s = self._wait_s if wait else 0.0
        with translate_errors(self.path, wait_s):
            self._begin_writing(wait_s)
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise

    def _begin_writing(self, wait_s: float) -> None:
        """Take the write lock at once: a lock taken at the first write could fail after others have written."""
        self._db.execute(f"PRAGMA busy_timeout = {wait_s * 1000:.0f}")
        try:
            self._db.execute("BEGIN IMMEDIATE")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {self._wait_s * 1000:.0f}")

    def _rollback(self) -> None:
        """Roll back the open transaction; after an error such as a full disk, SQLite has done so itself."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Run a statement and return its rows, if it has any."""
        with translate_errors(self.path, self._wait_s):
            return self._fetch(sql, values)

    def _fetch(self, sql: str, values: Sequence[object]) -> list[Row]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise
        self._db.text_factory = lenient_text  # a Python function for each text, so only if there is damage
        return self._db.execute(sql, values).fetchall()

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each tuple of values."""
        self._db.executemany(sql, values)

    def insert_lessons(self, lessons: Sequence[tuple[int, Lesson]]) -> None:
        """Insert lessons; their features go into bundles."""
        starts = self._bundles.append((change, lesson.features) for change, lesson in lessons)
        rows = (
            (change, start, len(lesson.features), *stored_lesson(lesson))
            for start, (change, lesson) in zip(starts, lessons, strict=True)
        )
        self._db.executemany(_INSERT, rows)

    def lessons(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Return the lessons that a condition selects, each with its number."""
        return self._with_features(self.rows(self._select(where), *values))

    def each_lesson(self, where: str, *values: object) -> Iterator[tuple[int, Lesson]]:
        """Yield lessons that may be too many for memory; inside `reading` or `writing`."""
        self._db.text_factory = lenient_text  # it cannot start again in the middle
        return self._with_features(self._db.execute(self._select(where), values))

    def salvaged_lessons(self, last: int) -> Iterator[tuple[int, Lesson]]:
        """Yield all lessons up to a number that can be read, also from a file with damaged pages."""
        ranges = [(start, min(start + _SALVAGED_AT_ONCE, last + 1)) for start in range(0, last + 1, _SALVAGED_AT_ONCE)]
        ranges.reverse()
        sql = self._select("change >= ? AND change < ? ORDER BY change")
        while ranges:
            start, end = ranges.pop()
            try:
                rows = self._fetch(sql, (start, end))
                yield from list(self._with_features(rows))
            except sqlite3.OperationalError:
                raise  # this says nothing about the rows
            except sqlite3.DatabaseError:
                middle = (start + end) // 2
                if start < middle:
                    ranges += [(middle, end), (start, middle)]
                else:
                    self.unreadable.add(start)

    def _select(self, where: str) -> str:
        return f"SELECT change, start, size, {LESSON_COLUMNS}, {subject_column(self)} FROM lessons WHERE {where}"  # noqa: S608

    def _with_features(self, rows: Iterable[Row]) -> Iterator[tuple[int, Lesson]]:
        for (number, _, _, *columns), features in self._bundles.read(rows):
            try:
                self.read_features(_whole(features))
                lesson = loaded_lesson(columns, _whole(features))
            except ValueError as error:
                leave_out(self, number, str(error))
            else:
                yield number, lesson

    def changes(
        self, sign: int, table: Literal["lessons", "forgotten"], where: str, *values: object
    ) -> Iterator[Change]:
        """Return the effects of lessons, present or forgotten, in the order in which they were learned."""
        number = "change" if table == "lessons" else "learned"
        sql = f"SELECT {number}, start, size, {CHANGE_COLUMNS} FROM {table} WHERE {where} ORDER BY {number}"  # noqa: S608
        for (learned, _, _, *columns), features in self._bundles.read(self.rows(sql, *values)):
            try:
                yield loaded_change(learned, sign, columns, _whole(features))
            except DamagedRowError as error:
                leave_out(self, learned, str(error))

    def move_to_forgotten(self, learned: int, change: int) -> None:
        """Move the lesson that a change learned to the forgotten ones; its features stay in their bundle."""
        self._db.execute(_MOVE, (change, learned))
        self._db.execute("DELETE FROM lessons WHERE change = ?", (learned,))

    def condition(self, selection: Selection) -> Condition:
        """Return the condition for a selection of lessons."""
        return sql_condition(
            selection,
            user='+"user" = ?',  # the + keeps SQLite from the index of digests, with which it takes five times as long
            source="instr(source, ?) = 1",
            changes="change BETWEEN ? AND ? AND substr(?, change - ?, 1) = x'01'",
            subject=f"instr(lower({subject_column(self)}), lower(?)) > 0" if selection.subject else "",
        )

    def predictions(self, label: str, size: int) -> tuple[str | None, str | None]:
        """Return the changes of a label's lessons with predictions of a size, and these predictions, in one row."""
        columns = "group_concat(change), group_concat(hex(held_out), '')"
        sql = f"SELECT {columns} FROM lessons WHERE label = ? AND {_IS_PREDICTION}"  # noqa: S608
        ((changes, held_out),) = self.rows(sql, label, size)
        return changes, held_out

    def tidy(self, gone: Iterable[int], since: int) -> None:
        """Drop the features of deleted lessons, and join the small bundles stored after a change."""
        self._bundles.tidy(gone, since)

    def make(self, statements: Iterable[str]) -> None:
        """Create optional tables by these statements."""
        for statement in statements:
            self._db.execute(statement)

    def has(self, table: str) -> bool:
        """Tell whether a table exists."""
        return bool(self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", table))

    def size_bytes(self) -> int:
        """Return the size on disk, including the write-ahead log."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(path.stat().st_size for path in (self.path, log) if path.exists())

    def used_bytes(self) -> int:
        """Return the part of the size on disk that lessons use, without free pages and forgotten lessons.

        Forgotten lessons will free whole pages, so up to one page of their bytes stays in use.
        """
        pages, free, size = (
            self.rows(f"PRAGMA {pragma}")[0][0] for pragma in ("page_count", "freelist_count", "page_size")
        )
        ((forgotten,),) = self.rows("SELECT coalesce(sum(min(max(size, 0), ?)), 0) FROM forgotten", FULL)
        return int((pages - free) * size - max(forgotten - size, 0))

    def wipe(self) -> None:
        """Copy the write-ahead log into the file and empty it; in the file itself, deleted rows are overwritten."""
        ((is_busy, *_),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise JournalBusyError(f"{self.path} is in use, so its log keeps traces of deleted lessons: try again.")

    def check(self) -> None:
        """Read the whole file and raise JournalError if it is damaged."""
        ((result,),) = self.rows("PRAGMA integrity_check(1)")
        if result != "ok":
            raise JournalError(f"{self.path} is damaged ({' '.join(result.split())}). Restore it from a backup.")


def _whole(features: bytes | None) -> bytes:
    if features is None:
        raise DamagedRowError("features")
    return features


@contextmanager
def translate_errors(path: Path, wait_s: float) -> Iterator[None]:
    """Replace SQLite's errors by ours, which say which file is wrong, why, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated_error(error, path, wait_s) from None
    except UnicodeDecodeError:  # SQLite's own text quotes damaged bytes
        raise translated_error(sqlite3.DatabaseError("text is not UTF-8"), path, wait_s) from None


def translated_error(error: sqlite3.Error, path: Path, wait_s: float) -> Exception:
    """Return our error for one of SQLite's; a mistake in the calling code stays what it is."""
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
        return error
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in str(error) or "busy" in str(error):
            return JournalBusyError(
                f"{path} is being written to by another process, which did not finish within {wait_s:g} s: "
                "try again later."
            )
        return JournalError(f"{path}: {error}. Check that the folder is writable and the disk is not full.")
    return JournalError(f"{path} is damaged ({error}). It was left as it is; restore it from a backup.")
