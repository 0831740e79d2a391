"""The filters behind the API: a thread that asks, one that teaches, and one that looks through what was learned.

A filter belongs to the thread that opened it, and the event loop must not wait for a large message: so not even to ask
is done in the loop. A second thread that asks would gain nothing, as Python runs one at a time; but to be durable takes
longer, and so does to look through many lessons, most of it in SQLite and in numpy, beside which Python runs on.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from priory.filter import Filter
from priory.server.filter_thread import FilterThread
from priory.server.http.kept import Kept
from priory.server.http.state import Daemon
from priory.server.turn import turn

Done = TypeVar("Done")
_REST_S: Final = 1.0


class Filters:
    """A filter to ask, open as long as somebody may come; those to teach and to look rest when nobody does."""

    def __init__(self, daemon: Daemon) -> None:
        self._home = daemon.home
        self._is_shared = daemon.options.store is not None
        self._asked = FilterThread(daemon.home, daemon.options, follows=True)
        self._taught = FilterThread(daemon.home, daemon.options)
        self._looked = FilterThread(daemon.home, daemon.options)
        self.kept = Kept()  #: for who looks

    def ask(self, question: Callable[[Filter], Done]) -> "asyncio.Future[Done]":
        """Have a filter asked something."""
        return self._asked.do(lambda: question(self._asked.filter))

    def look(self, question: Callable[[Filter], Done]) -> "asyncio.Future[Done]":
        """Have a filter asked something about its lessons that may take a while."""
        return self._looked.do(lambda: question(self._looked.filter))

    def teach(self, lesson: Callable[[Filter], Done]) -> "asyncio.Future[Done]":
        """Have a filter taught something, in turn with all others who teach."""
        return self._taught.do(partial(self._teach, lesson))

    def _teach(self, lesson: Callable[[Filter], Done]) -> Done:
        filter_ = self._taught.filter
        with turn(self._home):
            return lesson(filter_)

    async def tend(self) -> None:
        """Open the filter that is asked before anybody comes; have the others rest now and then, for ever."""
        await asyncio.wait([self.ask(lambda filter_: filter_.check(b""))])  # what is wrong with it, who asks is told
        while True:
            await asyncio.sleep(_REST_S)
            if self._is_shared:
                await asyncio.wait([self.ask(lambda filter_: filter_.refresh())])
            self._taught.rest()
            self._looked.rest()

    def close(self) -> None:
        """Finish what was begun, and close all."""
        for each in (self._asked, self._taught, self._looked):
            each.close()
