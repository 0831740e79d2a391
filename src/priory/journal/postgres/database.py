"""The rows of a journal in a PostgreSQL database."""

import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from priory.journal.database import Row
from priory.journal.lesson import JournalError
from priory.journal.postgres.connecting import USUAL_WAIT_S, Connection, Connections
from priory.journal.postgres.errors import named

CHANNEL: Final = "priory"  #: where the number of each last change is told to who listens
_NUMBER: Final = (
    "WITH now AS (UPDATE journal SET change = ?, stamp = ? RETURNING change, stamp), "
    "kept AS (INSERT INTO stamps SELECT change, stamp FROM now) SELECT pg_notify(?, change::text) FROM now"
)
_ROWS_AT_ONCE: Final = 500
_MOST_PENDING: Final = 2_000  # changes of rows that are held back: some 6 MB
_ROW_BYTES: Final = 400  # of a lesson beside its features: the row, and what its indexes have of it
_READING: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LONG_READING: Final = "SET LOCAL idle_in_transaction_session_timeout = '10min'"  # it keeps nobody from anything


class PostgresDatabase:
    """The tables of a journal, and the connection of a transaction while there is one."""

    features: Final = "features"
    begins: Final = "starts_with(source, ?)"
    has_user: Final = '"user" = ?'
    is_marked: Final = "change BETWEEN ? AND ? AND get_byte(?, (change - ?)::integer - 1) = 1"
    joined: Final = "string_agg(change::text, ','), string_agg(encode(held_out, 'hex'), '')"
    stamp_column: Final = "stamp"

    def __init__(self, connections: Connections, wait_s: float, *, is_away: bool = False) -> None:
        self.name = connections.name
        self.stamp = ""  #: of the changes that are being made
        self.lock = ""  #: how the one who writes reads the head of the journal, so that nobody else does
        self._connections = connections
        self._wait_s = wait_s
        self._version = 0
        self._begin = ""  # how the transaction begins, if nothing was asked in it yet
        self._open: Connection | None = None  # in a transaction
        self._pending: list[tuple[str, Sequence[Sequence[object]]]] = []  # statements that nobody waits for
        self._clock = None if is_away else self._behind()  # how far our clock is behind the server's, if that is known

    def close(self) -> None:
        """Let go of the server."""
        self._connections.close()

    def now(self) -> float:
        """Return the time by the server's clock, which all nodes share; by ours, as long as it was never reached."""
        return time.time() + (self._clock or 0.0)

    def _behind(self) -> float:
        asked = time.time()
        ((theirs,),) = self.rows("SELECT extract(epoch FROM clock_timestamp())::double precision")
        return float(theirs) - (asked + time.time()) / 2

    def version(self) -> int:
        """Return a number that differs whenever somebody else has changed something."""
        ((stamp,),) = self.rows("SELECT stamp FROM journal")
        if stamp != self.stamp:
            self._version = int(stamp or "0", 16)
        return self._version

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See one state of the rows, whatever others do meanwhile."""
        with self._transaction(0.0, _READING):
            yield

    @contextmanager
    def writing(self, *, wait: bool) -> Iterator[None]:
        """Make changes that become durable together at the end, or not at all; one writer at a time."""
        wait_s = self._wait_s if wait else 0.0
        self.stamp = uuid.uuid4().hex
        self.lock = f"FOR UPDATE{'' if wait else ' NOWAIT'}"
        limit = f"SET LOCAL lock_timeout = {wait_s * 1000:.0f}"
        with self._transaction(wait_s, "BEGIN", *[limit] * (wait and wait_s != USUAL_WAIT_S)):
            yield

    @contextmanager
    def beside_others(self) -> Iterator[None]:
        """Make changes without being the one who writes."""
        with self._transaction(0.0, "BEGIN"):
            yield

    @contextmanager
    def _transaction(self, wait_s: float, *begin: str) -> Iterator[None]:
        if self._clock is None:
            self._clock = self._behind()
        with self._errors_named(wait_s), self._connections.taken() as connection:
            try:
                self._open = connection
                self._begin = "; ".join(begin)
                yield
                self._begun(connection)
                self._pending.append(("COMMIT", [()]))
                self._send(connection)
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                raise
            finally:
                self._open = None
                self._begin = ""
                self._pending.clear()

    @contextmanager
    def _errors_named(self, wait_s: float) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise named(error, self.name, wait_s) from None

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """The connection of the transaction, or else one for a statement."""
        if self._open is not None:
            yield self._open
        else:
            with self._connections.taken() as connection:
                yield connection

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return rows; or change something, then there are none."""
        with self._errors_named(self._wait_s), self._connection() as connection:
            if self._begin and not values:
                begin, self._begin = self._begin, ""
                found = connection.execute(f"{begin}; {sql}".encode())  # one way there and back for both
                while found.nextset():
                    pass
            else:
                self._begun(connection)
                self._send(connection)
                found = connection.execute(_ours(sql), values, prepare=True)
            return found.fetchall() if found.description else []

    def _begun(self, connection: Connection) -> None:
        """Begin the transaction if nothing was asked in it yet."""
        begin, self._begin = self._begin, ""
        if begin:
            connection.execute(begin.encode())

    def _send(self, connection: Connection) -> None:
        """Send the statements that nobody has waited for in a pipeline, so that all take one way there and back.

        What comes after them must not be in a pipeline: the server would not end the transaction of a client that
        stops then. (It has a timer for the next command after it has answered one, which a pipeline stops.)
        """
        if self._pending:
            pending, self._pending = self._pending, []
            with connection.pipeline(), connection.cursor() as cursor:
                for sql, values in pending:
                    cursor.executemany(sql, values)

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each of these, in the transaction that is open."""
        self._pending.append((_ours(sql), list(values)))
        if self._open is not None and sum(len(each) for _, each in self._pending) > _MOST_PENDING:
            with self._errors_named(self._wait_s):
                self._begun(self._open)
                self._send(self._open)

    def each_row(self, sql: str, *values: object) -> Iterator[Row]:
        """Yield rows that may be too many to hold; inside `reading` or `writing`."""
        with self._errors_named(self._wait_s), self._connection() as connection:
            self._begun(connection)
            self._send(connection)
            if self._open is None:
                yield from connection.execute(_ours(sql), values)
                return
            connection.execute(_LONG_READING)
            with connection.cursor(f"c{uuid.uuid4().hex}") as cursor:
                cursor.itersize = _ROWS_AT_ONCE
                cursor.execute(_ours(sql), values)
                yield from cursor

    def store(self, learned: Sequence[tuple[int, bytes]]) -> list[Row]:
        """Return the features of each lesson: they are in its row."""
        return [(features,) for _, features in learned]

    def with_features(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, which have their features."""
        return iter(rows)

    def number(self, change: int) -> None:
        """Write down the number of the last change and its stamp, and tell who listens when all is durable."""
        self.run_many(_NUMBER, [(change, self.stamp, CHANNEL)])

    def stamp_of(self, change: int) -> str:
        """Return the stamp of the changes of which a change is one; empty if there is none."""
        rows = self.rows("SELECT stamp FROM stamps WHERE change >= ? ORDER BY change LIMIT 1", change)
        return str(rows[0][0]) if rows else ""

    def tidy(self, _gone: Iterable[int], _since: int) -> None:
        """Leave it to the server, which does so by itself."""

    def make(self, _statements: Iterable[str]) -> None:
        """Do nothing: all tables are there from the beginning."""

    def has(self, _table: str) -> bool:
        """Tell that it is there, as all are."""
        return True

    def size_bytes(self) -> int:
        """Return what the tables take on disk, with their indexes."""
        tables = "FROM pg_class WHERE relnamespace = 'priory'::regnamespace AND relkind = 'r'"
        sql = f"SELECT sum(pg_total_relation_size(oid))::bigint {tables}"
        ((size,),) = self.rows(sql)
        return int(size)

    def used_bytes(self) -> int:
        """Return what the lessons take, with their indexes: not what is free, nor what was forgotten."""
        ((used,),) = self.rows("SELECT sum(length(features) + ?)::bigint FROM lessons", _ROW_BYTES)
        return int(used or 0)

    def wipe(self) -> None:
        """Do nothing: the server vacuums by itself."""

    def check(self) -> None:
        """Compare the tally with the lessons, and raise JournalError if they differ."""
        with self.reading():
            counted: dict[str, int] = dict(self.rows("SELECT label, count(*) FROM lessons GROUP BY label"))
            tally: dict[str, int] = dict(
                self.rows("SELECT label, n FROM tally WHERE n > 0 AND strpos(label, E'\\n') = 0")
            )
        if counted != tally:
            raise JournalError(f"{self.name} is damaged: its tally and its lessons differ. Restore it from a backup.")


def _ours(sql: str) -> Any:
    return sql.replace("?", "%s")
