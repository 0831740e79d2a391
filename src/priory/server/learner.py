"""Learns what clients tell: in a thread, as that waits for the disk and for other writers."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from priory.journal import JournalAwayError
from priory.journal.outbox import is_waiting
from priory.journal.view import SNAPSHOT_EVERY
from priory.options import Options
from priory.reading import Prepared
from priory.server.ager import SOON_S, Ager
from priory.server.answers import tell
from priory.server.connection import log_error
from priory.server.filter_thread import IDLE_S, FilterThread
from priory.server.log import log
from priory.server.turn import turn
from priory.wire.spamd import Request

DUE_S: Final = 5.0  #: between two looks at what is due
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
        self._is_shared = options.store is not None
        self._due_at = 0.0  # what is to be seen to now and then
        self._saved = 0  # the change up to which a snapshot was seen to
        self._ager = Ager(home) if options.limits else None
        self._ages_at = 0.0
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

    def rest(self, change: int = 0) -> None:
        """Close the filter if no lesson has come for a while.

        Where several machines share a journal, see to what is due: what was kept for it, and a snapshot if by now
        other machines have taught much, up to this change.
        """
        if self._is_shared and not self._thread.n_waiting and time.monotonic() >= self._due_at:
            self._due_at = time.monotonic() + DUE_S
            if is_waiting(self._home):
                self._thread.do(self._deliver).add_done_callback(_log_failure)
            if change - self._saved >= SNAPSHOT_EVERY:
                self._saved = change
                self._thread.do(self._save).add_done_callback(_log_failure)
        self._thread.rest()

    def age(self) -> None:
        """Forget a few of the oldest lessons if that is due, and nobody teaches anything."""
        if self._ager is None or self._thread.n_waiting or time.monotonic() < self._ages_at:
            return
        self._ages_at = time.monotonic() + SOON_S
        if self._ager.is_ours():
            self._thread.do(partial(self._age, self._ager))

    def _age(self, ager: Ager) -> None:
        try:
            self._ages_at = time.monotonic() + ager.some(self._thread.filter)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            if not isinstance(error, JournalAwayError):
                log_error(error)
            self._ages_at = time.monotonic() + PAUSE_S

    def _deliver(self) -> None:
        """Hand over what was kept while the journal could not be reached, if it can be."""
        with turn(self._home), suppress(JournalAwayError):
            n = self._thread.filter.deliver()
            if n:
                log("delivered", kept=n)

    def _save(self) -> None:
        with turn(self._home), suppress(JournalAwayError):
            self._thread.filter.refresh()
            self._thread.filter.save_if_due()

    def close(self) -> None:
        """Finish what was begun, and close the filter."""
        self._thread.close()
        if self._ager is not None:
            self._ager.let_go()

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


def _log_failure(done: "asyncio.Future[None]") -> None:
    error = done.exception()
    if isinstance(error, Exception):
        log_error(error)
