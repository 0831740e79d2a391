"""The filters behind the API, one thread each: to check, to teach, and to search lessons.

A filter belongs to the thread that opened it, and a large message must not block the event loop, so even a check runs
in a thread. A second thread for checks would gain nothing, as Python runs one at a time. But a durable lesson waits for
the disk, and a search spends most of its time in SQLite and numpy, which release the interpreter.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from priory.filter.filter import Filter
from priory.server.filter_thread import FilterThread
from priory.server.http.state import Daemon
from priory.server.spool_thread import SpoolThread
from priory.server.write_lock import write_lock

if TYPE_CHECKING:
    from priory.lab.cost_trial import CostTrial
    from priory.lab.label_errors.lessons import Suspicions
    from priory.lab.track_record import TrackRecord

Result = TypeVar("Result")
_IDLE_S: Final = 1.0


class Filters:
    """The filter for checks is always open; those to teach and to search are closed while idle."""

    def __init__(self, daemon: Daemon) -> None:
        self._home = daemon.home
        self._is_shared = daemon.options.store is not None
        self._checking = FilterThread(daemon.home, daemon.options, follows=True)
        self._teaching = FilterThread(daemon.home, daemon.options)
        self._searching = FilterThread(daemon.home, daemon.options)
        self.spool = SpoolThread(daemon.home, daemon.options.spool)  #: for checked mail
        self.analyses = AnalysisCache()  #: for functions passed to `search`

    def check(self, function: Callable[[Filter], Result]) -> "asyncio.Future[Result]":
        """Call a function with the filter for checks, in its thread."""
        return self._checking.submit(lambda: function(self._checking.filter))

    def search(self, function: Callable[[Filter], Result]) -> "asyncio.Future[Result]":
        """Call a function with the filter for searches, in its thread; it may take long."""
        return self._searching.submit(lambda: function(self._searching.filter))

    def teach(self, function: Callable[[Filter], Result]) -> "asyncio.Future[Result]":
        """Call a function with the filter for lessons, in its thread, holding the write lock of the home."""
        return self._teaching.submit(partial(self._teach, function))

    def _teach(self, function: Callable[[Filter], Result]) -> Result:
        filter_ = self._teaching.filter
        with write_lock(self._home):
            return function(filter_)

    async def maintain(self) -> None:
        """Open the filter for checks before the first request, then refresh and close filters until cancelled."""
        # An error here is not lost: the first check meets it again and reports it.
        await asyncio.wait([self.check(lambda filter_: filter_.check(b""))])
        while True:
            await asyncio.sleep(_IDLE_S)
            if self._is_shared:
                await asyncio.wait([self.check(lambda filter_: filter_.refresh())])
            self._teaching.close_if_idle()
            self._searching.close_if_idle()

    def close(self) -> None:
        """Finish the running calls, and close all filters."""
        for thread in (self._checking, self._teaching, self._searching):
            thread.close()
        self.spool.close()


class AnalysisCache:
    """Caches analyses of a filter's lessons until the journal changes; for one thread only.

    The modules of the lab take a second to load, so each is imported when it is first needed.
    """

    def __init__(self) -> None:
        self._position: tuple[object, ...] = ()
        self._results: dict[Callable[[Filter], Any], Any] = {}

    def cost_trial(self, filter_: Filter) -> "CostTrial":
        """Return the lessons prepared for trying costs on them."""
        from priory.lab.cost_trial import CostTrial  # noqa: PLC0415

        return self._from_cache(CostTrial.of, filter_)

    def suspicions(self, filter_: Filter) -> "Suspicions":
        """Return how probable it is that each label is wrong, including the confirmed ones."""
        from priory.lab.label_errors.lessons import Suspicions  # noqa: PLC0415

        return self._from_cache(Suspicions.of, filter_)

    def track_record(self, filter_: Filter) -> "TrackRecord":
        """Return how good the filter's predictions were."""
        from priory.lab.track_record import TrackRecord  # noqa: PLC0415

        return self._from_cache(TrackRecord.of, filter_)

    def used_bytes(self, filter_: Filter) -> int:
        """Return the space that the lessons use in the journal."""
        return self._from_cache(_used_bytes, filter_)

    def _from_cache(self, analyse: Callable[[Filter], Result], filter_: Filter) -> Result:
        position = filter_.journal.id, *filter_.journal.position()
        if position != self._position:
            self._position, self._results = position, {}
        if analyse not in self._results:
            self._results[analyse] = analyse(filter_)
        result: Result = self._results[analyse]
        return result


def _used_bytes(filter_: Filter) -> int:
    return filter_.journal.used_bytes()
