"""One process that answers clients: an event loop, a filter that it alone has open, and a second one to learn with.

A message takes some 0.2 ms to check, so that is done between two turns of the loop: to hand it to a thread would take
longer than most messages do. While it checks a large one this worker's other clients wait; those of the other workers
do not.

To learn takes longer, as what is learned is durable when it is answered, and one process after the other may write. So
that is done in a thread, with a filter of its own, for a filter belongs to the thread that opened it.

A worker that is to retire takes no new clients and leaves when those it has are gone: a mail server would check nothing
more of a conversation whose milter hangs up. One that is to stop hurries them.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import priory.evidence  # noqa: F401 - which is loaded when it is needed: here it is, and once for all workers
from priory.filter import Filter
from priory.journal import JournalError
from priory.options import Options
from priory.reading import Prepared
from priory.server.answers import answer
from priory.server.connection import Connection, Stage, log_error
from priory.server.counted import CONNECTED
from priory.server.learner import Learner
from priory.server.listeners import BACKLOG
from priory.server.log import log
from priory.server.milter import MilterConnection
from priory.server.options import Serving
from priory.server.scoreboard import Tally
from priory.server.spamd import SpamdConnection
from priory.wire.spamd import Request

RETIRE: Final = signal.SIGUSR1
SWEEP_S: Final = 0.5
SWEEP_FULL_S: Final = 0.1  #: somebody may be waiting
SLOW_S: Final = 0.5  #: a client that has taken longer to send its request goes first if there are too many


def work(  # noqa: PLR0913, PLR0917 - all that a worker is given
    home: Path,
    options: Options,
    serving: Serving,
    listeners: Mapping[socket.socket, str],
    tally: Tally,
    ready: int,
    alive: int,
) -> None:
    """Answer clients until told to stop; say so on `ready`, and stop, too, when nobody holds `alive` any more."""
    try:
        with Filter.open(home, options) as filter_:
            filter_.check(b"")  # what takes long once, or is wrong with the filter, comes before any client
            filter_.follow()
            asyncio.run(_Worker(filter_, serving, listeners, tally).run(ready, alive))
    except JournalError as error:
        log("error", what=repr(str(error)))


class _Worker:
    def __init__(self, filter_: Filter, serving: Serving, listeners: Mapping[socket.socket, str], tally: Tally) -> None:
        self._filter = filter_
        self._learner = Learner(
            filter_.home, filter_.options, autolearned=lambda label: tally.add(("autolearned", label))
        )
        self._serving = serving
        self._listeners = listeners
        self._tally = tally
        self._most = serving.connections_each
        self._connections: dict[Connection, None] = {}  # the oldest first
        self._beginning: set[asyncio.Task[object]] = set()
        self._trouble: Exception | None = None  # that was told
        self._is_accepting = False
        self._is_retiring = False
        self._is_stopping = False
        self._done = asyncio.Event()

    async def run(self, ready: int, alive: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(RETIRE, self._retire)
        loop.add_signal_handler(signal.SIGTERM, self._stop, alive)
        loop.add_reader(alive, self._stop, alive)
        self._accept_more()
        os.write(ready, b"r")
        while not self._done.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), SWEEP_FULL_S if self._is_full else SWEEP_S)
            self._sweep()
            self._keep_up()
            self._learner.age()
            self._learner.rest(self._filter.change)
        self._learner.close()

    def _keep_up(self) -> None:
        """Take in what other machines have taught, so that no check has a night of it to take in."""
        if self._filter.options.store is None:
            return
        try:
            self._filter.refresh()
            trouble = self._filter.trouble
        except JournalError as error:
            trouble = error
        if trouble is not None and self._trouble is None:
            log("cut off", change=self._filter.change, why=repr(str(trouble)))
        elif trouble is None and self._trouble is not None:
            log("following again")
        self._trouble = trouble

    def _stop(self, alive: int) -> None:
        """Retire soon: whoever is here is hurried."""
        asyncio.get_running_loop().remove_reader(alive)
        self._is_stopping = True
        for connection in list(self._connections):
            connection.hurry()
        self._retire()

    def _retire(self) -> None:
        """Take those who wait already, and nobody else."""
        if self._is_retiring:
            return
        self._accept_no_more()
        self._is_retiring = True
        for listener in self._listeners:
            for _ in range(BACKLOG):
                if not self._accept(listener):
                    break
            listener.close()
        self._end_if_idle()

    def _gone(self, connection: Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            self._tally.add(CONNECTED[connection.protocol], -1)
        self._accept_more()
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_retiring and not self._connections:
            self._done.set()

    @property
    def _is_full(self) -> bool:
        return len(self._connections) >= self._most

    def _accept_more(self) -> None:
        if not (self._is_accepting or self._is_retiring or self._is_full):
            for listener in self._listeners:
                asyncio.get_running_loop().add_reader(listener, self._accept, listener)
            self._is_accepting = True

    def _accept_no_more(self) -> None:
        if self._is_accepting:
            for listener in self._listeners:
                asyncio.get_running_loop().remove_reader(listener)
            self._is_accepting = False

    def _accept(self, listener: socket.socket) -> bool:
        """Take one client and leave the next to whichever worker is free first."""
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:  # out of descriptors: the sweep tries again
            log("error", what=repr(f"no connection can be taken: {error.strerror}"))
            self._tally.add(("errors", "connection"))
            self._accept_no_more()
            return False
        client.setblocking(False)
        connection = self._connection(self._listeners[listener])
        if self._is_stopping:
            connection.hurry()
        self._connections[connection] = None
        self._tally.add(("connections", connection.protocol))
        self._tally.add(CONNECTED[connection.protocol])
        begun = asyncio.get_running_loop().connect_accepted_socket(lambda: connection, client)
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(begun)
        self._beginning.add(task)
        task.add_done_callback(lambda done: self._begun(connection, done))
        if self._is_full:
            self._accept_no_more()
        return True

    def _connection(self, protocol: str) -> Connection:
        most_bytes = self._serving.max_bytes
        if protocol == "milter":
            policy = self._serving.policy
            return MilterConnection(most_bytes, self._filter, policy, self._tally, self._gone, self._certain)
        return SpamdConnection(most_bytes, self._answering, self._tally, self._gone)

    def _begun(self, connection: Connection, task: "asyncio.Task[object]") -> None:
        self._beginning.discard(task)
        if task.cancelled() or task.exception():  # it was gone before it was here
            self._gone(connection)

    def _answering(self, request: Request) -> "tuple[bytes, str] | asyncio.Future[tuple[bytes, str]]":
        return self._learner.tell(request) if request.verb == "TELL" else answer(request, self._filter, self._certain)

    def _certain(self, read: Prepared, label: str) -> None:
        """Have a message learned automatically, once this turn of the loop has sent its answer."""
        asyncio.get_running_loop().call_soon(self._learner.offer, read, label)

    def _sweep(self) -> None:
        """Let go of who takes too long; if there are too many, of all who are slow to send."""
        now, timeout, is_full = time.monotonic(), self._serving.timeout, self._is_full
        for connection in list(self._connections):
            makes_way = is_full and connection.makes_way and connection.stage is Stage.RECEIVING
            if now - connection.since > (SLOW_S if makes_way else connection.patience(timeout)):
                self._expire(connection)
        self._accept_more()

    def _expire(self, connection: Connection) -> None:
        """Let go of a client; whatever goes wrong with one of them, the others stay."""
        try:
            connection.expire()
        except Exception as error:  # noqa: BLE001
            log_error(error)
