"""Follows what others learn, so that no check waits for a server: a thread asks it, who checks takes what has come.

The thread hears from the server that something has changed, and asks now and then in case it does not hear. What it has
fetched is whole: a connection that breaks leaves nothing half done. While there is none, who checks goes on with what
was there; the thread tries again, ever more rarely, and catches up.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final

import psycopg

from priory.journal.address import Store
from priory.journal.journal import Journal
from priory.journal.news import Mark, News
from priory.journal.postgres.connecting import Connection, Connections, connect
from priory.journal.postgres.database import CHANNEL, PostgresDatabase
from priory.journal.postgres.errors import named

PAGE: Final = 500  #: changes that are fetched together
MOST_WAITING: Final = 4  #: pages that nobody has taken yet
POLL_S: Final = 1.0  #: after which the server is asked, though nothing was heard
#: Between two looks. The first lesson after a while is taken in at once; of many, those of a moment together: after
#: each look a check draws the lines of calibration anew, which costs it more than a lesson does.
PAUSE_S: Final = 0.2
FIRST_RETRY_S: Final = 0.25
LONGEST_RETRY_S: Final = 15.0
_WAIT_S: Final = 10.0
_CLOSE_S: Final = 2.0  #: a thread that waits for a silent server is left to itself


class Follower:
    """A thread that fetches news for counts that stand at a mark."""

    def __init__(self, store: Store, mark: Mark, trouble: Exception | None = None) -> None:
        self._store = store
        self._mark = mark  # where the counts stand when all news is taken
        self._news: deque[News] = deque()
        self._lock = threading.Lock()
        self._is_closing = False
        self._woken, self._waking = os.pipe()
        os.set_blocking(self._waking, False)
        self.is_lost = False  #: whether no news leads from where the counts stand: they must start afresh
        self.trouble = trouble  #: why nothing comes now
        self._thread = threading.Thread(target=self._run, name="priory-follower", daemon=True)
        self._thread.start()

    def take(self) -> list[News]:
        """Return the news that has come, in order; costs next to nothing if there is none."""
        if not self._news:
            return []
        with self._lock:
            news = list(self._news)
            self._news.clear()
        if len(news) == MOST_WAITING:
            self._wake()
        return news

    def seek(self, mark: Mark) -> None:
        """Follow from another mark: the counts were brought there by somebody else."""
        with self._lock:
            self._mark, self.is_lost = mark, False
            self._news.clear()
        self._wake()

    def close(self) -> None:
        """Stop following."""
        self._is_closing = True
        self._wake()
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            os.close(self._woken)
            os.close(self._waking)

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._waking, b".")

    def _run(self) -> None:
        retry_s = FIRST_RETRY_S
        while not self._is_closing:
            try:
                with _connected(self._store) as connection:
                    self._follow(connection)
            except Exception as error:  # noqa: BLE001 - whatever is wrong, it may be mended
                retry_s = FIRST_RETRY_S if self.trouble is None else min(2 * retry_s, LONGEST_RETRY_S)
                self.trouble = error
                self._sleep(retry_s)

    def _follow(self, connection: Connection) -> None:
        heard = _Heard(connection, self._woken)
        journal = Journal(PostgresDatabase(_Always(self._store, connection), _WAIT_S))
        while not self._is_closing:
            self._fetch(journal)
            is_woken = self._sleep(PAUSE_S)
            heard.wait(0.0 if is_woken else POLL_S)

    def _sleep(self, seconds: float) -> bool:
        """Do nothing for a while, unless it is closed; tell whether somebody has tried to wake it meanwhile."""
        end, is_woken = time.monotonic() + seconds, False
        while not self._is_closing and (left := end - time.monotonic()) > 0:
            if _ready([self._woken], left):
                os.read(self._woken, 4096)
                is_woken = True
        return is_woken

    def _fetch(self, journal: Journal) -> None:
        """Fetch what is new, page by page, as long as somebody takes it."""
        while not (self._is_closing or self.is_lost or len(self._news) >= MOST_WAITING):
            mark = self._mark
            news, is_lost = self._page(journal, mark)
            self.trouble = None
            with self._lock:
                if self._mark is not mark:  # somebody has sought another meanwhile
                    continue
                self.is_lost = is_lost
                if news is None:
                    return
                self._news.append(news)
                self._mark = news.end

    def _page(self, journal: Journal, mark: Mark) -> tuple[News | None, bool]:
        """Return what comes next after a mark, if anything does, and whether nothing can lead on from there."""
        with journal.reading():
            position = journal.position()
            is_known = position.settled <= mark.change <= position.change
            if not is_known or journal.stamp_of(mark.change) != mark.stamp:
                return None, True
            if mark.change == position.change:
                return None, False
            end = min(position.change, mark.change + PAGE)
            changes = list(journal.changes_between(mark.change, end))
            is_all = end == position.change
            stamp = position.stamp if is_all else journal.stamp_of(end)
            return News(mark, Mark(end, stamp), changes, journal.tallies() if is_all else None), False


class _Heard:
    """What a server says without being asked, and what wakes its listener."""

    def __init__(self, connection: Connection, woken: int) -> None:
        self._connection = connection
        self._woken = woken
        self._is_heard = False
        connection.add_notify_handler(self._hear)  # for what comes while something else is asked
        connection.execute(f"LISTEN {CHANNEL}")

    def _hear(self, _notice: object) -> None:
        self._is_heard = True

    def wait(self, seconds: float) -> None:
        """Wait until something is heard, or somebody wakes the listener, but not for long."""
        if not self._is_heard and self._woken in _ready([self._connection.fileno(), self._woken], seconds):
            os.read(self._woken, 4096)
        self._connection.pgconn.consume_input()
        while self._connection.pgconn.notifies():
            pass
        self._is_heard = False


def _ready(descriptors: list[int], seconds: float) -> list[int]:
    """Wait for descriptors, also such above 1023, and return those on which something has come, or ended."""
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return [each for each, _ in poll.poll(seconds * 1000)]


class _Always(Connections):
    """The connection that is there, for whoever asks for one."""

    def __init__(self, store: Store, connection: Connection) -> None:
        super().__init__(store)
        self._connection = connection

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        """Give the connection."""
        yield self._connection


@contextmanager
def _connected(store: Store) -> Iterator[Connection]:
    with closing(connect(store)) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise named(error, store.name) from None
