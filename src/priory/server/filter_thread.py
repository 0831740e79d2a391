"""A thread with a filter of its own: a filter belongs to the thread that opened it."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from priory.filter import Filter
from priory.options import Options
from priory.server.connection import log_error

Done = TypeVar("Done")
IDLE_S: Final = 10.0  #: after which a filter is closed, which leaves a snapshot of the counts if one is due


class FilterThread:
    """Does one thing after the other, with a filter that is opened when there is something to do.

    It is closed when there was nothing to do for a while, if `rest` is called now and then.
    """

    def __init__(self, home: Path, options: Options, idle_s: float = IDLE_S, *, follows: bool = False) -> None:
        self._home = home
        self._options = options
        self._idle_s = idle_s
        self._follows = follows  # what other machines teach, for who is asked all the time
        self._thread = ThreadPoolExecutor(1)
        self._filter: Filter | None = None  # the thread's alone
        self._last_begun: float | None = None  # None if nothing has been begun since it rested
        self.n_waiting = 0  #: things that are not done yet

    @property
    def filter(self) -> Filter:
        """The filter: for what is done in the thread, and nobody else."""
        if self._filter is None:
            self._filter = Filter.open(self._home, self._options)
            if self._follows:
                self._filter.follow()
        return self._filter

    def do(self, act: Callable[[], Done]) -> "asyncio.Future[Done]":
        """Do something in the thread, once all that came before is done."""
        self._last_begun = time.monotonic()
        self.n_waiting += 1
        done = asyncio.get_running_loop().run_in_executor(self._thread, act)
        done.add_done_callback(self._ended)
        return done

    def _ended(self, _done: object) -> None:
        self.n_waiting -= 1

    def rest(self) -> None:
        """Close the filter if nothing has been begun for a while."""
        if self._last_begun is not None and time.monotonic() - self._last_begun > self._idle_s:
            self._last_begun = None
            self._thread.submit(self._close)

    def close(self) -> None:
        """Finish what was begun, and close the filter."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._filter is not None:
            filter_, self._filter = self._filter, None
            try:
                filter_.close()
            except Exception as error:  # noqa: BLE001 - what was learned is durable; the snapshot can wait
                log_error(error)
