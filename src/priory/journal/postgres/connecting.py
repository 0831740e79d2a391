"""Connections to a PostgreSQL server that end by themselves where the way to it is cut, on both sides.

A node that is gone must not keep others from writing. So the server ends a transaction that waits for its client, and
either side gives up a connection on which nothing comes any more; who waits for an answer does not wait forever.
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
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from priory.journal.address import Store
from priory.journal.postgres.errors import not_an_address, not_connected
from priory.journal.postgres.zeros import keep_zeros

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what fails is raised, and told by who catches it
CONNECT_S: Final = 5
USUAL_WAIT_S: Final = 10.0  #: for who writes, unless another time is said
STATEMENT_S: Final = 60  #: the longest that a statement may take
_ANSWER_S: Final = STATEMENT_S + 5.0  #: then the way to the server is taken to be cut
_SILENT_S: Final = 10  #: a connection on which nothing is acknowledged for so long is given up
_IDLE_S: Final = 5  #: the longest that a transaction may wait for its client: less than others wait for it
_IDLE_CHECK_S: Final = 1.0  #: a connection that was not used for so long is tried before it is used
_KEEP_S: Final = 60.0  #: a connection that was not used for so long is closed
_OURS: Final[dict[str, Any]] = {
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


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for an answer forever."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for what the server has to say."""
        try:
            return super().wait(gen, interval, _ANSWER_S if timeout is None else timeout)
        except psycopg.Error as error:
            if error.sqlstate is None and not isinstance(error, psycopg.ProgrammingError):
                self.pgconn.finish()  # what else comes on it is the answer to something else
            raise


def connect(store: Store) -> Connection:
    """Make a connection, each statement of which is a transaction unless one was begun."""
    try:
        given = conninfo_to_dict(store.url)
    except psycopg.Error as error:
        raise not_an_address(store.name, error) from None
    if store.is_torn or not re.fullmatch("[0-9,]*", str(given.get("port", ""))):
        raise not_an_address(store.name)
    try:
        connection = Connection.connect(make_conninfo(**{**_OURS, **given}), autocommit=True)
        keep_zeros(connection)
        connection.execute(_SET, [part for setting in _SETTINGS.items() for part in setting])
    except psycopg.Error as error:
        raise not_connected(error, store.name) from None
    return connection


class Connections:
    """The way to a database: a connection is made when one is needed, and kept for the next use, but not for long."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.name = store.name
        self._kept: Connection | None = None
        self._used = 0.0
        self._process = os.getpid()

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        """Give the connection that is kept, or a new one; keep it if it is still good then."""
        connection, self._kept = self._good(), None
        try:
            yield connection
        finally:
            if connection.closed or connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.close()
            else:
                self._kept, self._used = connection, time.monotonic()

    def _good(self) -> Connection:
        kept, idle_s = self._kept, time.monotonic() - self._used
        if kept is not None and self._process == os.getpid():  # else it is of who has forked us
            if idle_s <= _KEEP_S and _answers(kept, idle_s):
                return kept
            kept.close()
        self._process = os.getpid()
        return connect(self._store)

    def close(self) -> None:
        """Let go of the server."""
        if self._kept is not None and self._process == os.getpid():
            self._kept.close()


def _answers(connection: Connection, idle_s: float) -> bool:
    if connection.closed:
        return False
    if idle_s > _IDLE_CHECK_S or _has_something_to_say(connection):
        try:
            connection.execute("SELECT 1")
        except psycopg.Error:
            return False
    return True


def _has_something_to_say(connection: Connection) -> bool:
    """Tell whether something has come that nobody has asked for: most likely that the server has gone."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
