"""Connections to a PostgreSQL server, and its errors in our words.

A machine that is gone must not keep others from writing. So the server ends a transaction whose client is silent, both
sides close a connection on which nothing is acknowledged any more, and a client never waits for an answer forever.
"""

import logging
import os
import re
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumper

from priory.journal.lesson import JournalAwayError, JournalBusyError, JournalError
from priory.journal.shared.store import StoreAddress

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # errors are raised, and logged where they are caught
CONNECT_S: Final = 5
USUAL_WAIT_S: Final = 10.0  #: default for how long a writer waits for the lock
STATEMENT_S: Final = 60  #: the longest that a statement may take
_ANSWER_S: Final = STATEMENT_S + 5.0  #: after which the connection is taken to be broken
_SILENT_S: Final = 10  #: a connection on which nothing is acknowledged for this long is closed
_IDLE_S: Final = 5  #: the longest that a transaction may wait for its client: less than other writers wait for it
_IDLE_CHECK_S: Final = 1.0  #: a connection that was idle for this long is tested before use
_CACHE_S: Final = 60.0  #: a connection that was idle for this long is replaced
_PARAMETERS: Final[dict[str, Any]] = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": _SILENT_S // 2,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": _SILENT_S * 1000,
    "application_name": "priory",
}
_SETTINGS: Final = {
    "search_path": "priory",
    "statement_timeout": f"{STATEMENT_S}s",
    "lock_timeout": f"{USUAL_WAIT_S:g}s",
    "idle_in_transaction_session_timeout": f"{_IDLE_S}s",
    "tcp_keepalives_idle": f"{_SILENT_S // 2}",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": f"{_SILENT_S * 1000}",
    "timezone": "UTC",
}
_SET: Final = f"SELECT {', '.join('set_config(%s, %s, false)' for _ in _SETTINGS)}"


class PostgresConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for an answer forever."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server's answer."""
        try:
            return super().wait(gen, interval, _ANSWER_S if timeout is None else timeout)
        except psycopg.Error as error:
            if error.sqlstate is None and not isinstance(error, psycopg.ProgrammingError):
                # The answer may still come, and this connection would take it for the answer to its next statement.
                self.pgconn.finish()
            raise


def connect(store: StoreAddress) -> PostgresConnection:
    """Connect to a server; each statement is a transaction of its own unless one was begun."""
    try:
        parameters = conninfo_to_dict(store.url)
    except psycopg.Error as error:
        raise not_an_address(store.name, error) from None
    if store.has_broken_password or not re.fullmatch("[0-9,]*", str(parameters.get("port", ""))):
        raise not_an_address(store.name)
    try:
        connection = PostgresConnection.connect(make_conninfo(**{**_PARAMETERS, **parameters}), autocommit=True)
        _keep_nul(connection)
        connection.execute(_SET, [part for setting in _SETTINGS.items() for part in setting])
    except psycopg.Error as error:
        raise not_connected(error, store.name) from None
    return connection


class CachedConnection:
    """One connection, made when it is needed and reused for a minute; or a fixed one, made by the caller."""

    def __init__(self, store: StoreAddress, fixed: PostgresConnection | None = None) -> None:
        self._store = store
        self.name = store.name
        self._fixed = fixed
        self._idle: PostgresConnection | None = None
        self._used = 0.0
        self._process = os.getpid()

    @contextmanager
    def borrow(self) -> Iterator[PostgresConnection]:
        """Take the idle connection or a new one; return it to the cache if it is still usable at the end."""
        if self._fixed is not None:
            yield self._fixed
            return
        connection, self._idle = self._good(), None
        try:
            yield connection
        finally:
            if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.close()
            else:
                self._idle, self._used = connection, time.monotonic()

    def _good(self) -> PostgresConnection:
        idle, idle_s = self._idle, time.monotonic() - self._used
        # After a fork the connection belongs to the parent: even closing it would end the parent's session.
        if idle is not None and self._process == os.getpid():
            if idle_s <= _CACHE_S and _answers(idle, idle_s):
                return idle
            idle.close()
        self._process = os.getpid()
        return connect(self._store)

    def close(self) -> None:
        """Close the connection."""
        if self._idle is not None and self._process == os.getpid():
            self._idle.close()


def _answers(connection: PostgresConnection, idle_s: float) -> bool:
    if connection.closed:
        return False
    if idle_s > _IDLE_CHECK_S or _has_input(connection):
        try:
            connection.execute("SELECT 1")
        except psycopg.Error:
            return False
    return True


def _has_input(connection: PostgresConnection) -> bool:
    """Tell whether something unrequested has arrived: most likely that the server has closed the connection."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


_FOR_NUL: Final = "\U0010fffe"  # a code point that is no character, so no text has it


class _NulDumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", _FOR_NUL) if "\0" in obj else obj)


class _NulLoader(Loader):
    def load(self, data: Buffer) -> str:
        return bytes(data).decode().replace(_FOR_NUL, "\0")


def _keep_nul(connection: psycopg.Connection[Any]) -> None:
    """Store NUL, which hostile mail may contain, as another code point: PostgreSQL refuses it in text."""
    connection.adapters.register_dumper(str, _NulDumper)
    connection.adapters.register_loader("text", _NulLoader)


#: How a server refuses us for good; psycopg has no code for these errors. After any other failure to connect (the
#: server starts, stops, recovers or has no connection left) we try again.
_REFUSED: Final = {
    "authentication failed": "Give the right password, in the address, in PGPASSWORD or in ~/.pgpass.",
    "no password supplied": "Give a password, in the address, in PGPASSWORD or in ~/.pgpass.",
    'role ".*" (does not exist|is not permitted)': "Name an account that the server has, and that may log in.",
    'database ".*" does not exist': "Create it with createdb, or name another.",
    "permission denied for database": "Let its owner GRANT this account CONNECT.",
    r"pg_hba\.conf": "Allow this machine in the server's pg_hba.conf.",
    "support SSL|certificate|SSL error: (?!unexpected eof)": "Check sslmode in the address and the certificates.",
}
_HINT: Final = re.compile(r"\s*Is the server running [^?]*\?")  # our remedy says the same
_WRONG: Final[tuple[tuple[tuple[type[psycopg.Error], ...], str], ...]] = (
    (
        (errors.ReadOnlySqlTransaction,),
        "{name} is a replica that can only be read: mail is checked, but to learn, name the primary server.",
    ),
    (
        (errors.InsufficientPrivilege,),
        "{name}: {reason}. Let the owner of the tables GRANT it to this account, or do this as the owner.",
    ),
    (
        (errors.UndefinedTable, errors.InvalidSchemaName),
        "{name} has no Priory tables: create them with priory store prepare.",
    ),
    ((errors.DiskFull,), "{name}: {reason}. Free disk space on the server."),
    ((errors.QueryCanceled,), "{name} took too long to answer ({reason}). Try again, or ask for less."),
)
_BUSY: Final = (errors.LockNotAvailable, errors.DeadlockDetected)
_MISTAKES: Final = (psycopg.ProgrammingError, psycopg.IntegrityError, psycopg.DataError)


def not_connected(error: psycopg.Error, name: str) -> JournalError:
    """Return our error for a failed connection."""
    reason = _plain(_HINT.sub("", str(error)))
    for pattern, remedy in _REFUSED.items():
        if re.search(pattern, reason):
            return JournalError(f"{name} does not let us in: {reason.rpartition('FATAL:')[2].strip()}. {remedy}")
    return JournalAwayError(f"{name} cannot be reached: {reason}. Check the server and the network.")


def not_an_address(name: str, error: psycopg.Error | None = None) -> JournalError:
    """Return our error for an invalid address; most of psycopg's texts are left out, as they may show a password."""
    reason = _plain(str(error))
    why = f": {reason}" if reason.startswith("invalid URI query parameter") else ""
    return JournalError(
        f"{name} is not the address of a database{why}. Write postgresql://account@host/database; in a password "
        "@ is written %40, / %2F, % %25 and a space %20, or give it in PGPASSWORD or in ~/.pgpass."
    )


def translated_error(error: psycopg.Error, name: str, wait_s: float = 0.0) -> Exception:
    """Return our error for one of PostgreSQL's; a mistake in the calling code stays what it is."""
    reason = _plain(error.diag.message_primary or str(error))
    if isinstance(error, _BUSY):
        return JournalBusyError(
            f"{name} is being written to by another process, which did not finish within {wait_s:g} s: try again later."
        )
    for kinds, text in _WRONG:
        if isinstance(error, kinds):
            return JournalError(text.format(name=name, reason=reason))
    if isinstance(error, _MISTAKES):
        return error
    if isinstance(error, psycopg.OperationalError | errors.IdleInTransactionSessionTimeout) or error.sqlstate is None:
        return JournalAwayError(f"{name} was cut off: {reason}. Lessons that were not acknowledged are not learned.")
    return JournalError(f"{name}: {reason}. See the log of the server.")


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
