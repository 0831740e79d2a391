"""A worker process: an event loop that answers clients, a filter to check with, and a thread to learn in.

Checking a message takes about 0.2 ms, so it is done in the event loop: handing it to a thread would take longer than
most messages do. Long messages are read by a process of their own (`long_messages`), so that no client waits for them.

Learning takes longer: a lesson is durable before it is confirmed, and only one process at a time may write. So it is
done in a thread, which has a filter of its own because a filter belongs to the thread that opened it.

A worker that retires accepts no new clients and exits when the last one has gone: if a milter hung up, the mail server
would check no further message of that SMTP connection. A worker that stops also hurries its clients.
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

# Loaded lazily elsewhere; loaded before the fork, their memory is shared by all workers.
import priory.filter.attribution
import priory.filter.evidence
import priory.filter.forget
import priory.filter.learn
import priory.filter.retention
import priory.filter.sentence
import priory.filter.silence  # noqa: F401
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.filter.verdict import Verdict
from priory.journal import JournalError
from priory.processes.confinement import ConfinementError
from priory.processes.log import log, log_error
from priory.server.daemon.lesson_thread import LessonThread
from priory.server.daemon.listeners import BACKLOG
from priory.server.daemon.long_messages import LONG_BYTES, Job, LongMessages, length
from priory.server.daemon.mail_check import MailCheck
from priory.server.daemon.worker_rights import drop_rights
from priory.server.metrics.names import CONNECTED
from priory.server.metrics.scoreboard import ProcessTally
from priory.server.options import RETIRE, ServeOptions
from priory.server.protocols.connection import Connection, Stage
from priory.server.protocols.milter import MilterConnection
from priory.server.protocols.milter_answer import MilterAnswer
from priory.server.protocols.spamd import SpamdConnection
from priory.server.spool_thread import SpoolThread
from priory.wire.milter import MilterMessage
from priory.wire.spamd import EX_TEMPFAIL, Refused, Request

SWEEP_S: Final = 0.5  #: seconds between two looks at all connections
SWEEP_FULL_S: Final = 0.1  #: while the worker has as many clients as it may: others may be waiting
SLOW_S: Final = 0.5  #: if there are too many clients, those that have been sending for longer are disconnected


def work(  # noqa: PLR0913, PLR0917 - all that a worker gets from its master
    home: Path,
    options: Options,
    serving: ServeOptions,
    listeners: Mapping[socket.socket, str],
    tally: ProcessTally,
    long_queue: socket.socket,
    ready: int,
    alive: int,
) -> None:
    """Answer clients until told to stop. Long messages are put into the queue.

    A byte is written to `ready` once clients are accepted. End of file on `alive` means that the master is gone.
    """
    try:
        drop_rights(home, options)
        with Filter.open(home, options) as filter_:
            filter_.check(b"")  # the first check is slow, and shows errors of the filter before any client comes
            filter_.follow()
            asyncio.run(_Worker(filter_, serving, listeners, tally, long_queue).run(ready, alive))
    except (JournalError, ConfinementError) as error:
        log("error", what=repr(str(error)))


class _Worker:
    def __init__(
        self,
        filter_: Filter,
        serving: ServeOptions,
        listeners: Mapping[socket.socket, str],
        tally: ProcessTally,
        long_queue: socket.socket,
    ) -> None:
        self._filter = filter_
        self._lesson_thread = LessonThread(
            filter_.home, filter_.options, autolearned=lambda label, n: tally.add(("autolearned", label), n)
        )
        self._spool_thread = SpoolThread(filter_.home, filter_.options.spool)
        self._check = MailCheck(filter_, serving.policy, self._spool)
        self._serving = serving
        self._listeners = listeners
        self._tally = tally
        self._max_connections = serving.connections_per_worker
        # The other half of the connections is for short messages, however many long ones wait.
        self._long_messages = LongMessages(long_queue, max(1, self._max_connections // 2))
        self._connections: dict[Connection, None] = {}  # in the order in which they came
        self._starting: set[asyncio.Task[object]] = set()
        self._trouble: Exception | None = None  # why the shared journal cannot be followed, as last logged
        self._is_accepting = False
        self._is_retiring = False
        self._is_stopping = False
        self._is_done = asyncio.Event()

    async def run(self, ready: int, alive: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(RETIRE, self._retire)
        loop.add_signal_handler(signal.SIGTERM, self._stop, alive)
        loop.add_reader(alive, self._stop, alive)
        self._accept_more()
        os.write(ready, b"r")  # the master tells the previous generation to retire once all workers have said this
        while not self._is_done.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_done.wait(), SWEEP_FULL_S if self._is_full else SWEEP_S)
            self._sweep()
            self._follow_journal()
            self._lesson_thread.apply_retention()
            self._lesson_thread.run_idle_tasks(self._filter.change)
            self._spool_thread.tidy()
        self._lesson_thread.close()
        self._spool_thread.close()

    def _follow_journal(self) -> None:
        """Apply the lessons of other machines now, so that no check has to apply many at once."""
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
        """Retire, and hurry the clients."""
        asyncio.get_running_loop().remove_reader(alive)
        self._is_stopping = True
        for connection in list(self._connections):
            connection.hurry()
        self._retire()

    def _retire(self) -> None:
        """Accept the clients that are already in the backlog, and no others."""
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

    def _on_closed(self, connection: Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            self._tally.add(CONNECTED[connection.protocol], -1)
        self._accept_more()
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_retiring and not self._connections:
            self._is_done.set()

    @property
    def _is_full(self) -> bool:
        return len(self._connections) >= self._max_connections

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
        """Accept one client; leave the next to whichever worker is free first."""
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:  # no descriptors left; the next sweep tries again
            log("error", what=repr(f"cannot accept a connection: {error.strerror}"))
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
        accepting = asyncio.get_running_loop().connect_accepted_socket(lambda: connection, client)
        task: asyncio.Task[object] = asyncio.get_running_loop().create_task(accepting)
        self._starting.add(task)
        task.add_done_callback(lambda done: self._on_started(connection, done))
        if self._is_full:
            self._accept_no_more()
        return True

    def _connection(self, protocol: str) -> Connection:
        max_bytes = self._serving.max_bytes
        if protocol == "milter":
            checks_authenticated = self._serving.policy.checks_authenticated
            return MilterConnection(
                max_bytes, self._judge, self._tally, self._on_closed, checks_authenticated=checks_authenticated
            )
        return SpamdConnection(max_bytes, self._answer, self._tally, self._on_closed)

    def _on_started(self, connection: Connection, task: "asyncio.Task[object]") -> None:
        self._starting.discard(task)
        if task.cancelled() or task.exception():  # the client was gone before its connection started
            self._on_closed(connection)

    def _answer(self, request: Request) -> "tuple[bytes, str] | asyncio.Future[tuple[bytes, str]]":
        if self._hands_on(request):
            return self._long_messages.submit(request)
        most_read = LONG_BYTES if length(request) > LONG_BYTES else None
        if request.verb != "TELL":
            return self._check.answer(request, most_read)
        if most_read is not None:
            raise Refused(EX_TEMPFAIL, "Temporary failure: too many long messages; try again later")
        return self._lesson_thread.tell(request)

    def _judge(self, message: MilterMessage) -> "MilterAnswer | asyncio.Future[MilterAnswer]":
        if self._hands_on(message):
            return self._long_messages.submit(message)
        return self._check.judge(message, LONG_BYTES if length(message) > LONG_BYTES else None)

    def _hands_on(self, job: Job) -> bool:
        """Tell whether a message is for the process for long messages; if too many wait, its beginning is read here."""
        return length(job) > LONG_BYTES and not self._long_messages.is_full

    def _spool(self, raw: bytes, verdict: Verdict) -> None:
        """Offer a checked message to the spool, after the event loop has sent its answer."""
        asyncio.get_running_loop().call_soon(self._spool_thread.offer, raw, verdict)

    def _sweep(self) -> None:
        """Disconnect clients that take too long and, if there are too many, all that are slow to send."""
        now, timeout, is_full = time.monotonic(), self._serving.timeout, self._is_full
        for connection in list(self._connections):
            makes_way = is_full and connection.makes_way and connection.stage is Stage.RECEIVING
            if now - connection.since > (SLOW_S if makes_way else connection.patience(timeout)):
                self._expire(connection)
        self._accept_more()

    def _expire(self, connection: Connection) -> None:
        """Disconnect a client; an error with one client must not affect the others."""
        try:
            connection.expire()
        except Exception as error:  # noqa: BLE001
            log_error(error)
