"""The thread in which a worker learns, forgets, and applies the retention limits.

Writing waits for the disk and for other writers, so it must not happen in the event loop.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import partial
from pathlib import Path
from typing import IO, Final

from priory.filter.counts import SNAPSHOT_EVERY
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.silence import MAIL
from priory.journal import JournalAwayError, JournalBusyError
from priory.journal.checked import checked_files_due
from priory.journal.shared.outbox import is_waiting
from priory.processes.log import log, log_error
from priory.server.filter_thread import IDLE_S, FilterThread
from priory.server.protocols.spamd_answers import tell
from priory.server.write_lock import write_lock
from priory.wire.spamd import Request

RETENTION_PAUSE_S: Final = 300.0  #: seconds between two complete passes over the limits
RETENTION_STEP_S: Final = 0.5  #: seconds between two steps of a pass; each step forgets a few lessons
RETENTION_LOCK: Final = "ageing.lock"
SHARED_TASKS_S: Final = 5.0  #: seconds between two looks for tasks that a shared journal needs
CONCLUSION_S: Final = 600.0  #: seconds between two looks for checked mail that silence can be concluded from
PAUSE_S: Final = 60.0  #: seconds without a pass over the limits after an error


class RetentionTask:
    """Forgets lessons beyond the limits, a few at a time and while there is nothing to learn.

    Only the process that holds the lock file does this. The file's modification time says when the last pass was
    completed. Checks never wait, as readers do not wait for a writer.
    """

    def __init__(self, home: Path, pause_s: float = RETENTION_PAUSE_S) -> None:
        self._path = home / RETENTION_LOCK
        self._pause_s = pause_s
        self._lock: IO[bytes] | None = None  # held during a pass
        self._n_forgotten = 0

    def acquire(self) -> bool:
        """Tell whether a pass is due and this process has the lock for it."""
        if self._lock is not None:
            return True
        try:
            lock = self._path.open("ab")
        except OSError:  # without the right to write here, there is nothing to forget either
            return False
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            status = os.fstat(lock.fileno())
        except OSError:
            lock.close()
            return False
        # An empty file was created a moment ago: its time says nothing about a pass.
        if status.st_size and time.time() - status.st_mtime < self._pause_s:
            lock.close()
            return False
        self._lock = lock
        return True

    def step(self, filter_: Filter) -> float:
        """Forget a few lessons; return the seconds until the next step."""
        try:
            n_forgotten = filter_.ageing.forget_some(filter_.journal.now(), wait=False)
        except JournalBusyError:
            return RETENTION_STEP_S
        if n_forgotten is not None:
            self._n_forgotten += n_forgotten
            return RETENTION_STEP_S
        if self._n_forgotten:
            log("aged", lessons=self._n_forgotten)
        self.release()
        return self._pause_s

    def release(self) -> None:
        """Note the time, and leave the next pass to any process."""
        if self._lock is not None:
            with suppress(OSError):
                self._lock.truncate(0)
                self._lock.write(b"\n")
                self._lock.flush()
            self._lock.close()
            self._lock, self._n_forgotten = None, 0


class LessonThread:
    """A thread with its own filter, opened for the first lesson and closed when idle.

    The threads of all workers take turns by `write_lock`.
    """

    def __init__(
        self,
        home: Path,
        options: Options,
        idle_s: float = IDLE_S,
        autolearned: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self._home = home
        self._autolearned = autolearned
        self._thread = FilterThread(home, options, idle_s)
        self._is_shared = options.store is not None
        self._silence_days = options.silence.days
        self._shared_tasks_at = 0.0
        self._saved_change = 0  # the journal's change at which a snapshot was last written
        self._retention = RetentionTask(home) if options.limits else None
        self._retention_at = 0.0
        self._conclusion_at = 0.0

    def tell(self, request: Request) -> "asyncio.Future[tuple[bytes, str]]":
        """Learn or forget the message of a TELL request."""
        return self._thread.submit(partial(self._tell, request))

    def run_idle_tasks(self, change: int = 0) -> None:
        """Do due tasks while there is nothing to learn, and close the filter after a while.

        With a shared journal, deliver the lessons that were kept while it could not be reached, and write a snapshot if
        other machines have taught much since the last one. Conclude what silence says about mail that was checked some
        days ago. `change` is the journal's number for the latest change.
        """
        if self._is_shared and not self._thread.n_waiting and time.monotonic() >= self._shared_tasks_at:
            self._shared_tasks_at = time.monotonic() + SHARED_TASKS_S
            if is_waiting(self._home):
                self._thread.submit(self._deliver).add_done_callback(_log_failure)
            if change - self._saved_change >= SNAPSHOT_EVERY:
                self._saved_change = change
                self._thread.submit(self._save).add_done_callback(_log_failure)
        if not self._thread.n_waiting and time.monotonic() >= self._conclusion_at:
            self._conclusion_at = time.monotonic() + CONCLUSION_S
            self._thread.submit(self._conclude).add_done_callback(_log_failure)
        self._thread.close_if_idle()

    def apply_retention(self) -> None:
        """Forget a few of the oldest lessons if that is due and there is nothing to learn."""
        if self._retention is None or self._thread.n_waiting or time.monotonic() < self._retention_at:
            return
        self._retention_at = time.monotonic() + RETENTION_STEP_S
        if self._retention.acquire():
            self._thread.submit(partial(self._retention_step, self._retention))

    def close(self) -> None:
        """Finish the lessons that were submitted, and close the filter."""
        self._thread.close()
        if self._retention is not None:
            self._retention.release()

    # The methods below run in the thread.

    def _retention_step(self, retention: RetentionTask) -> None:
        try:
            self._retention_at = time.monotonic() + retention.step(self._thread.filter)
        except Exception as error:  # noqa: BLE001 - no client waits for the result
            if not isinstance(error, JournalAwayError):
                log_error(error)
            self._retention_at = time.monotonic() + PAUSE_S

    def _deliver(self) -> None:
        """Send the lessons that were kept while the shared journal could not be reached."""
        with write_lock(self._home), suppress(JournalAwayError):
            n_delivered = self._thread.filter.deliver()
            if n_delivered:
                log("delivered", kept=n_delivered)

    def _save(self) -> None:
        with write_lock(self._home), suppress(JournalAwayError):
            self._thread.filter.refresh()
            self._thread.filter.save_if_due()

    def _tell(self, request: Request) -> tuple[bytes, str]:
        filter_ = self._thread.filter  # opened before the lock is taken: that may take long
        with write_lock(self._home):
            return tell(request, filter_)

    def _conclude(self) -> None:
        if not checked_files_due(self._home, MAIL, self._silence_days):
            return  # without opening the filter
        filter_ = self._thread.filter
        with write_lock(self._home), suppress(JournalAwayError):
            conclusion = filter_.silence.conclude_due()
            for error in conclusion.errors:
                log("error", what=repr(error))
            if any(conclusion.figures.values()):  # otherwise another worker was first
                log("concluded", **conclusion.figures)
            for label, n in conclusion.learned.items():
                self._autolearned(label, n)


def _log_failure(future: "asyncio.Future[None]") -> None:
    error = future.exception()
    if isinstance(error, Exception):
        log_error(error)
