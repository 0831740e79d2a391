"""Learns what clients tell: in a thread, as that waits for the disk and for other writers."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from priory.filter import Options, Prepared
from priory.server.answers import tell
from priory.server.connection import log_error
from priory.server.filter_thread import IDLE_S, FilterThread
from priory.server.log import log
from priory.server.turn import turn
from priory.wire.spamd import Request

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
        self._autolearned = autolearned
        self._thread = FilterThread(home, options, idle_s)
        self._paused_until: dict[str, float] = {}  # for each label of which there may be no more automatic lessons

    def tell(self, request: Request) -> "asyncio.Future[tuple[bytes, str]]":
        """Learn or forget a message."""
        return self._thread.do(partial(self._tell, request))

    def offer(self, message: Prepared, label: str) -> None:
        """Learn a message automatically, if there is nothing else to do: who taught something comes first."""
        if not self._thread.n_waiting and time.monotonic() >= self._paused_until.get(label, 0.0):
            self._thread.do(partial(self._autolearn, message, label)).add_done_callback(
                lambda done: self._autolearned(label) if done.result() == "learned" else None
            )

    def rest(self) -> None:
        """Close the filter if no lesson has come for a while."""
        self._thread.rest()

    def close(self) -> None:
        """Finish what was begun, and close the filter."""
        self._thread.close()

    def _tell(self, request: Request) -> tuple[bytes, str]:
        filter_ = self._thread.filter
        with turn(self._home):
            return tell(request, filter_)

    def _autolearn(self, message: Prepared, label: str) -> str:
        """Learn a message if that is possible; if there may be no more of its label, or something is wrong, pause."""
        try:
            outcome = self._thread.filter.autolearn(message, label)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            log_error(error)
            outcome = "failed"
        if outcome == "learned":
            log("autolearn", label=label)
        if outcome in {"early", "full", "failed"}:
            self._paused_until[label] = time.monotonic() + PAUSE_S
        return outcome
