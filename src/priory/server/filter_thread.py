"""A thread with its own filter, for work that would block the event loop.

A filter belongs to the thread that opened it: its SQLite connection may be used in no other.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.processes.log import log_error

Result = TypeVar("Result")
IDLE_S: Final = 10.0  #: seconds without work after which the filter is closed, which writes a snapshot if one is due


class FilterThread:
    """Runs one call after the other, with a filter that is opened for the first and closed when idle.

    The caller has to call `close_if_idle` regularly.
    """

    def __init__(self, home: Path, options: Options, idle_s: float = IDLE_S, *, follows: bool = False) -> None:
        self._home = home
        self._options = options
        self._idle_s = idle_s
        self._follows = follows  # follow the shared journal in the background
        self._thread = ThreadPoolExecutor(1)
        self._filter: Filter | None = None  # used in the thread only
        self._last_submitted: float | None = None  # None if nothing was submitted since the filter was last closed
        self.n_waiting = 0  #: calls that have not ended; changed in the event loop only

    @property
    def filter(self) -> Filter:
        """The filter, opened if necessary; only for calls that run in this thread."""
        if self._filter is None:
            self._filter = Filter.open(self._home, self._options)
            if self._follows:
                self._filter.follow()
        return self._filter

    def submit(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Run a call in the thread, after those submitted before it."""
        self._last_submitted = time.monotonic()
        self.n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, call)
        future.add_done_callback(self._on_done)
        return future

    def _on_done(self, _future: object) -> None:
        self.n_waiting -= 1

    def close_if_idle(self) -> None:
        """Close the filter if nothing was submitted for a while."""
        if self._last_submitted is not None and time.monotonic() - self._last_submitted > self._idle_s:
            self._last_submitted = None
            self._thread.submit(self._close)

    def close(self) -> None:
        """Wait for all calls, close the filter, and end the thread."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._filter is not None:
            filter_, self._filter = self._filter, None
            try:
                filter_.close()
            except Exception as error:  # noqa: BLE001 - the lessons are durable, only the snapshot is missing
                log_error(error)
