"""Learns what clients tell: in a thread, as that waits for the disk and for other writers."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from priory.filter import Filter, Options
from priory.server.answers import tell
from priory.server.connection import log_error
from priory.server.turn import turn
from priory.wire.spamd import Request

IDLE_S: Final = 10.0  #: after which a filter is closed, which leaves a snapshot of the counts if one is due


class Learner:
    """A thread with a filter of its own, opened when a lesson comes and closed when none has come for a while.

    The learners of all workers take turns. Who waits for SQLite's own lock asks for it ever more rarely, so whoever has
    just had it gets it again.
    """

    def __init__(self, home: Path, options: Options, idle_s: float = IDLE_S) -> None:
        self._home = home
        self._options = options
        self._idle_s = idle_s
        self._thread = ThreadPoolExecutor(1)
        self._filter: Filter | None = None  # the thread's alone
        self._last_told: float | None = None  # None if nothing has been told since it rested

    def tell(self, request: Request) -> "asyncio.Future[tuple[bytes, str]]":
        """Learn or forget a message."""
        self._last_told = time.monotonic()
        return asyncio.get_running_loop().run_in_executor(self._thread, self._tell, request)

    def rest(self) -> None:
        """Close the filter if no lesson has come for a while."""
        if self._last_told is not None and time.monotonic() - self._last_told > self._idle_s:
            self._last_told = None
            self._thread.submit(self._close)

    def close(self) -> None:
        """Finish what was begun, and close the filter."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _tell(self, request: Request) -> tuple[bytes, str]:
        if self._filter is None:
            self._filter = Filter.open(self._home, self._options)
        with turn(self._home):
            return tell(request, self._filter)

    def _close(self) -> None:
        if self._filter is not None:
            filter_, self._filter = self._filter, None
            try:
                filter_.close()
            except Exception as error:  # noqa: BLE001 - what was learned is durable; the snapshot can wait
                log_error(error)
