"""Learns what clients tell: in a thread, as that waits for the disk and for other writers."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from priory.filter import Filter, Options, Prepared
from priory.server.answers import tell
from priory.server.connection import log_error
from priory.server.log import log
from priory.server.turn import turn
from priory.wire.spamd import Request

Done = TypeVar("Done")
IDLE_S: Final = 10.0  #: after which a filter is closed, which leaves a snapshot of the counts if one is due
PAUSE_S: Final = 60.0  #: for which nothing is offered to a filter that may not learn by itself now


class Learner:
    """A thread with a filter of its own, opened when a lesson comes and closed when none has come for a while.

    The learners of all workers take turns. Who waits for SQLite's own lock asks for it ever more rarely, so whoever has
    just had it gets it again.
    """

    def __init__(
        self,
        home: Path,
        options: Options,
        idle_s: float = IDLE_S,
        autolearned: Callable[[str], None] = lambda _label: None,
    ) -> None:
        self._home = home
        self._options = options
        self._idle_s = idle_s
        self._autolearned = autolearned
        self._thread = ThreadPoolExecutor(1)
        self._filter: Filter | None = None  # the thread's alone
        self._last_told: float | None = None  # None if nothing has been told since it rested
        self._n_waiting = 0  # lessons that are not learned yet
        self._paused_until: dict[str, float] = {}  # for each label of which there may be no more automatic lessons

    def tell(self, request: Request) -> "asyncio.Future[tuple[bytes, str]]":
        """Learn or forget a message."""
        return self._begin(partial(self._tell, request))

    def offer(self, message: Prepared, label: str) -> None:
        """Learn a message automatically, if there is nothing else to do: who taught something comes first."""
        if not self._n_waiting and time.monotonic() >= self._paused_until.get(label, 0.0):
            self._begin(partial(self._autolearn, message, label)).add_done_callback(
                lambda done: self._autolearned(label) if done.result() == "learned" else None
            )

    def _begin(self, act: Callable[[], Done]) -> "asyncio.Future[Done]":
        self._last_told = time.monotonic()
        self._n_waiting += 1
        done = asyncio.get_running_loop().run_in_executor(self._thread, act)
        done.add_done_callback(self._ended)
        return done

    def _ended(self, _done: object) -> None:
        self._n_waiting -= 1

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
        filter_ = self._opened()
        with turn(self._home):
            return tell(request, filter_)

    def _autolearn(self, message: Prepared, label: str) -> str:
        """Learn a message if that is possible; if there may be no more of its label, or something is wrong, pause."""
        try:
            outcome = self._opened().autolearn(message, label)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            log_error(error)
            outcome = "failed"
        if outcome == "learned":
            log("autolearn", label=label)
        if outcome in {"early", "full", "failed"}:
            self._paused_until[label] = time.monotonic() + PAUSE_S
        return outcome

    def _opened(self) -> Filter:
        if self._filter is None:
            self._filter = Filter.open(self._home, self._options)
        return self._filter

    def _close(self) -> None:
        if self._filter is not None:
            filter_, self._filter = self._filter, None
            try:
                filter_.close()
            except Exception as error:  # noqa: BLE001 - what was learned is durable; the snapshot can wait
                log_error(error)
