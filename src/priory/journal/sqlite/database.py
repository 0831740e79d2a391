"""The rows of a journal in an SQLite database that is open."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from priory.journal.database import Row
from priory.journal.lesson import JournalBusyError, JournalError
from priory.journal.sqlite import in_use
from priory.journal.sqlite.bundles import Bundles
from priory.journal.sqlite.errors import errors_named, named


class SqliteDatabase:
    """A connection to the file of a journal."""

    stamp: Final = ""
    lock: Final = ""
    stamp_column: Final = "''"
    features: Final = "start, size"
    begins: Final = "instr(source, ?) = 1"
    has_user: Final = '+"user" = ?'  #: through the index of digests, which the + prevents, it takes five times as long
    is_marked: Final = "change BETWEEN ? AND ? AND substr(?, change - ?, 1) = x'01'"
    joined: Final = "group_concat(change), group_concat(hex(held_out), '')"

    def __init__(self, path: Path, file: in_use.File, connection: sqlite3.Connection, wait_s: float) -> None:
        self.path = path
        self.name = str(path)
        self._file: in_use.File | None = file
        self._db = connection
        self._wait_s = wait_s
        self._cursor = connection.cursor()  # for what is asked at every check
        self._bundles = Bundles(connection)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()
        if self._file is not None:
            in_use.leave(self._file)
            self._file = None

    def now(self) -> float:
        """Return the time."""
        return time.time()

    def number(self, change: int) -> None:
        """Write down the number of the last change; others see by the version that there is something new."""
        self._db.execute("UPDATE journal SET change = ?", (change,))

    def stamp_of(self, _change: int) -> str:
        """Return nothing: numbers come once here."""
        return ""

    def version(self) -> int:
        """Return a number that differs whenever another connection has changed something; asked at every check."""
        try:
            (number,) = self._cursor.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise named(error, self.path, self._wait_s) from None
        return int(number)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the rows, whatever others do meanwhile."""
        with errors_named(self.path, self._wait_s):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.ProgrammingError):  # closed meanwhile
                    self._rollback()

    @contextmanager
    def writing(self, *, wait: bool) -> Iterator[None]:
        """Make changes that become durable together at the end, or not at all; one writer at a time."""
        wait_s = self._wait_s if wait else 0.0
        with errors_named(self.path, wait_s):
            self._begin_writing(wait_s)
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise

    def _begin_writing(self, wait_s: float) -> None:
        self._db.execute(f"PRAGMA busy_timeout = {wait_s * 1000:.0f}")
        try:
            self._db.execute("BEGIN IMMEDIATE")
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {self._wait_s * 1000:.0f}")

    def _rollback(self) -> None:
        """Undo what is open; on a full disk SQLite has done so itself."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return rows; or change something, then there are none."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise named(error, self.path, self._wait_s) from None

    def each_row(self, sql: str, *values: object) -> Iterator[Row]:
        """Yield rows that may be too many to hold; inside `reading` or `writing`."""
        return self._db.execute(sql, values)

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each of these."""
        self._db.executemany(sql, values)

    def store(self, learned: Sequence[tuple[int, bytes]]) -> list[Row]:
        """Take in the features of lessons; return where in its bundle each begins, and its bytes."""
        starts = self._bundles.append(learned)
        return [(start, len(features)) for start, (_, features) in zip(starts, learned, strict=True)]

    def with_features(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows, each with the features in place of where they are."""
        for (change, _, _, *rest), features in self._bundles.read(rows):
            yield change, features, *rest

    def tidy(self, gone: Iterable[int], since: int) -> None:
        """Drop the features of lessons that are gone, and join the small bundles that came after a change."""
        self._bundles.tidy(gone, since)

    def make(self, statements: Iterable[str]) -> None:
        """Make tables that not every journal has, as these statements say, if they are not there yet."""
        for statement in statements:
            self._db.execute(statement)

    def has(self, table: str) -> bool:
        """Tell whether there is such a table."""
        return bool(self.rows("SELECT 1 FROM sqlite_schema WHERE name = ?", table))

    def size_bytes(self) -> int:
        """Return what the journal takes on disk, with the log in which the latest changes are."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return sum(path.stat().st_size for path in (self.path, log) if path.exists())

    def used_bytes(self) -> int:
        """Return what the lessons take: neither room that is free, nor what was forgotten and is still there."""
        pages, free, size = (
            self.rows(f"PRAGMA {each}")[0][0] for each in ("page_count", "freelist_count", "page_size")
        )
        ((forgotten,),) = self.rows("SELECT coalesce(sum(size), 0) FROM forgotten")
        return int((pages - free) * size - forgotten)

    def wipe(self) -> None:
        """Take over what is in the log, and empty it: in the file itself what is deleted is overwritten."""
        ((is_busy, *_),) = self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if is_busy:
            raise JournalBusyError(f"{self.path} is in use, so its log keeps traces of what was deleted: try again.")

    def check(self) -> None:
        """Read the whole file and raise JournalError if it is damaged."""
        ((said,),) = self.rows("PRAGMA integrity_check(1)")
        if said != "ok":
            raise JournalError(f"{self.path} is damaged ({' '.join(said.split())}). Restore it from a backup.")
