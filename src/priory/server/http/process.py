"""The process that serves HTTP: uvicorn, on sockets that the master has bound."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from priory.processes.log import log, log_error
from priory.server.http.app import application
from priory.server.http.filters import Filters
from priory.server.http.responses import problem
from priory.server.http.state import Daemon
from priory.server.metrics.history import HistoryRecorder
from priory.server.options import DRAIN_S, RETIRE

#: Connections at a time. A further one takes the place of the oldest without a token; if all have one, it is aborted,
#: and also while as many requests of closed connections are still being processed. It is the backlog, too: an asyncio
#: server that runs out of file descriptors floods the log.
MOST_CLIENTS: Final = 100


def serve(daemon: Daemon, sockets: list[socket.socket], ready: int, alive: int) -> None:
    """Serve until a signal, or until `alive` is closed by the end of the master; write to `ready` when ready."""
    logging.getLogger().addHandler(_Log(logging.WARNING))
    filters = Filters(daemon)
    config = uvicorn.Config(
        application(daemon, filters),
        http=_protocol(daemon.serving.timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[("Connection", "close")],  # a client could keep an idle one for ever, with a byte now and then
        proxy_headers=False,
        backlog=MOST_CLIENTS,
        timeout_graceful_shutdown=int(DRAIN_S),
    )
    recording = HistoryRecorder(daemon.home, daemon.board, daemon.started)
    asyncio.run(_run(_Server(config, ready, alive, daemon.retired), filters, recording, sockets))


async def _run(
    server: uvicorn.Server, filters: Filters, recording: HistoryRecorder, sockets: list[socket.socket]
) -> None:
    tasks = [asyncio.create_task(coroutine) for coroutine in (filters.maintain(), recording.run())]
    try:
        await server.serve(sockets)
    finally:
        for task in tasks:
            task.cancel()
        filters.close()


def _protocol(timeout: float) -> type[asyncio.Protocol]:
    """Return the protocol of a connection with timeouts: for the request to arrive, and for the answer to be read.

    Uvicorn has none.
    """

    class TimedProtocol(H11Protocol):
        _abort: asyncio.TimerHandle | None = None  # while the client does not read
        _silence: asyncio.TimerHandle | None = None  # until the request has come
        _since = 0.0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._since = self.loop.time()
            others = [other for other in self.connections if isinstance(other, TimedProtocol) and other is not self]
            others = [other for other in others if not other.transport.is_closing()]
            if len(self.tasks) - sum(other._is_working for other in others) > MOST_CLIENTS:
                transport.abort()
            elif len(others) >= MOST_CLIENTS:
                strangers = [other for other in others if not other._has_token]
                min(strangers, key=lambda other: other._since, default=self).transport.abort()
            self._silence = self.loop.call_later(timeout, self._abort_if_silent)

        def connection_lost(self, exc: Exception | None) -> None:
            """Stop the timeouts, which would keep closed connections in memory."""
            for timer in (self._silence, self._abort):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        @property
        def _is_working(self) -> bool:
            """Whether a request is being processed."""
            return self.cycle is not None and not self.cycle.response_complete

        @property
        def _has_token(self) -> bool:
            """Whether the guard has accepted the token of the request."""
            return self.scope is not None and "priory.token" in self.scope

        def pause_writing(self) -> None:
            """Start the timeout for the client to read some of the answer."""
            super().pause_writing()
            self._abort = self.loop.call_later(timeout, self.transport.abort)

        def resume_writing(self) -> None:
            """Stop the timeout."""
            if self._abort is not None:
                self._abort.cancel()
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            """Answer a malformed request with a problem, as every other error."""
            answer = problem(400, msg, {"Connection": "close"})
            self.transport.write(self.conn.send(h11.Response(status_code=400, headers=answer.raw_headers)) or b"")
            self.transport.write(self.conn.send(h11.Data(data=bytes(answer.body))) or b"")
            self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
            self.transport.close()

        def _abort_if_silent(self) -> None:
            if self.conn.their_state is h11.IDLE:
                self.transport.abort()

    return TimedProtocol


class _Server(uvicorn.Server):
    """A server that obeys the signals of its master, and tells it when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: int, alive: int, retired: asyncio.Event) -> None:
        super().__init__(config)
        self._ready = ready
        self._alive = alive
        self._retired = retired

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal, once: uvicorn would raise the signal again after it has stopped."""
        loop = asyncio.get_running_loop()
        for number in (RETIRE, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        loop.add_reader(self._alive, self._stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell the master."""
        await super().startup(sockets)
        os.write(self._ready, b"r")

    def _stop(self) -> None:
        """Stop accepting connections at once; uvicorn polls `should_exit`, so open ones still have some time."""
        asyncio.get_running_loop().remove_reader(self._alive)
        for server in self.servers:
            server.close()
        self.should_exit = True
        self._retired.set()  # ends the streams of events, which would not end by themselves


class _Log(logging.Handler):
    """Copies warnings and errors of other packages into our log, without the values they quote."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log it."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            log_error(error)
        else:
            log("http", what=repr(record.msg))
