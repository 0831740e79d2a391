"""The feed of changes: a thread fetches what other machines learn, so that no check waits for the server.

The server notifies the thread of changes (LISTEN, NOTIFY); the thread also polls, in case a notification is lost. Each
batch is complete, so a broken connection leaves nothing half done. Without a connection, checks use the counts that
they have; the thread retries at growing intervals, and catches up.
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

from priory.journal.journal import Journal
from priory.journal.lesson import ChangeBatch, SyncPoint
from priory.journal.postgres.connection import CachedConnection, PostgresConnection, connect, translated_error
from priory.journal.postgres.database import CHANNEL, PostgresDatabase
from priory.journal.rules import NO_RULES
from priory.journal.shared.store import StoreAddress

PAGE: Final = 500  #: changes per batch
MOST_WAITING: Final = 4  #: batches that were fetched and not taken yet
POLL_S: Final = 1.0  #: how often to ask without a notification
#: Between two queries. The first lesson after a quiet time is fetched at once; lessons that follow quickly are fetched
#: together, because the first check after each batch fits the calibration again, which takes longer than a lesson.
PAUSE_S: Final = 0.2
FIRST_RETRY_S: Final = 0.25
LONGEST_RETRY_S: Final = 15.0
_WAIT_S: Final = 10.0
_CLOSE_S: Final = 2.0  #: how long `close` waits for a thread that waits for a silent server


class Follower:
    """A thread that fetches changes for counts that stand at a point of the journal."""

    def __init__(self, store: StoreAddress, point: SyncPoint, trouble: Exception | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()  # guards the next two, and `is_lost`: `seek` replaces them all
        self._point = point  # where the counts stand when they have taken all batches
        self._batches: deque[ChangeBatch] = deque()
        self._is_closing = False
        self._woken, self._waking = os.pipe()  # a pipe, as the thread waits for it and for the server in one poll
        os.set_blocking(self._waking, False)
        self.is_lost = False  #: whether no batch can lead on from where the counts stand: they must start afresh
        self.trouble = trouble  #: why nothing can be fetched now
        self._rules = NO_RULES  # those fetched last
        # A daemon thread: a server that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="priory-follower", daemon=True)
        self._thread.start()

    def take(self) -> list[ChangeBatch]:
        """Return the batches that have arrived, in order; without any this costs next to nothing."""
        if not self._batches:
            return []
        with self._lock:
            batches = list(self._batches)
            self._batches.clear()
        if len(batches) == MOST_WAITING:
            self._wake()  # the thread has stopped fetching
        return batches

    def seek(self, point: SyncPoint) -> None:
        """Follow from another point, to which the counts were brought by other means."""
        with self._lock:
            self._point, self.is_lost = point, False
            self._batches.clear()
        self._wake()

    def close(self) -> None:
        """Stop the thread."""
        self._is_closing = True
        self._wake()
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():  # else it still polls them
            os.close(self._woken)
            os.close(self._waking)

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # the pipe is full: the thread will wake anyway
            os.write(self._waking, b".")

    def _run(self) -> None:
        retry_s = FIRST_RETRY_S
        while not self._is_closing:
            try:
                with _open_connection(self._store) as connection:
                    self._follow(connection)
            except Exception as error:  # noqa: BLE001 - the thread must survive all errors, which may be temporary
                retry_s = FIRST_RETRY_S if self.trouble is None else min(2 * retry_s, LONGEST_RETRY_S)
                self.trouble = error
                self._sleep(retry_s)

    def _follow(self, connection: PostgresConnection) -> None:
        # LISTEN comes before the first query: a change between the two is notified, and none is missed.
        notifications = _Notifications(connection, self._woken)
        journal = Journal(PostgresDatabase(CachedConnection(self._store, connection), _WAIT_S))
        while not self._is_closing:
            self._fetch(journal)
            is_woken = self._sleep(PAUSE_S)
            notifications.wait(0.0 if is_woken else POLL_S)

    def _sleep(self, seconds: float) -> bool:
        """Sleep unless the follower is closed; return whether another thread has called `_wake` meanwhile."""
        end, is_woken = time.monotonic() + seconds, False
        while not self._is_closing and (left := end - time.monotonic()) > 0:
            if _ready([self._woken], left):
                os.read(self._woken, 4096)
                is_woken = True
        return is_woken

    def _fetch(self, journal: Journal) -> None:
        """Fetch batches until there is nothing new, or too many wait to be taken."""
        if self.is_lost:
            # Nothing is fetched, but the server answers. The counts start afresh only when there is no trouble.
            self.trouble = None
        while not (self._is_closing or self.is_lost or len(self._batches) >= MOST_WAITING):
            point = self._point
            batch, is_lost = self._next_batch(journal, point)
            self.trouble = None
            with self._lock:
                if self._point is not point:  # `seek` was called meanwhile: the batch does not fit any more
                    continue
                self.is_lost = is_lost
                if batch is None:
                    return
                self._batches.append(batch)
                self._point = batch.end

    def _next_batch(self, journal: Journal, point: SyncPoint) -> tuple[ChangeBatch | None, bool]:
        """Return the batch after a point, None if there is no change, and whether no batch can lead on from there."""
        with journal.reading():
            position = journal.position()
            is_known = position.settled <= point.change <= position.change
            if not is_known or journal.stamp_of(point.change) != point.stamp:
                return None, True
            if point.change == position.change:
                return None, False
            end = min(position.change, point.change + PAGE)
            changes = list(journal.changes_between(point.change, end))
            is_last = end == position.change
            stamp = position.stamp if is_last else journal.stamp_of(end)
            if not is_last:
                return ChangeBatch(point, SyncPoint(end, stamp), changes, None), False
            silence = journal.silence.load()
            estimate = silence.estimate if silence else b""
            self._rules = journal.rules.load(self._rules)
            end_point = SyncPoint(end, stamp)
            return ChangeBatch(point, end_point, changes, journal.tallies(), estimate, self._rules), False


class _Notifications:
    """The notifications of a server, and the pipe that wakes their listener."""

    def __init__(self, connection: PostgresConnection, woken: int) -> None:
        self._connection = connection
        self._woken = woken
        self._has_come = False
        connection.add_notify_handler(self._receive)  # for those that arrive with the answer to a query
        connection.execute(f"LISTEN {CHANNEL}")

    def _receive(self, _notify: object) -> None:
        self._has_come = True

    def wait(self, seconds: float) -> None:
        """Wait until a notification arrives or the listener is woken, at most for some seconds."""
        if not self._has_come and self._woken in _ready([self._connection.fileno(), self._woken], seconds):
            os.read(self._woken, 4096)
        self._connection.pgconn.consume_input()
        while self._connection.pgconn.notifies():
            pass
        self._has_come = False


def _ready(descriptors: list[int], seconds: float) -> list[int]:
    """Wait for descriptors and return the readable ones; by `poll`, as `select` takes none above 1023."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(seconds * 1000)]


@contextmanager
def _open_connection(store: StoreAddress) -> Iterator[PostgresConnection]:
    with closing(connect(store)) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise translated_error(error, store.name) from None
