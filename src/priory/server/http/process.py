"""The process that answers over HTTP: uvicorn, on sockets that the master has bound."""

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

from priory.server.connection import DRAIN_S, log_error
from priory.server.http.app import application
from priory.server.http.filters import Filters
from priory.server.http.problems import problem
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.recording import Recording
from priory.server.worker import RETIRE

#: At a time, with those who have gone and left work behind; more are hung up on, and no more are taken at once:
#: asyncio without descriptors fills the log.
MOST_CLIENTS: Final = 100


def show(daemon: Daemon, sockets: list[socket.socket], ready: int, alive: int) -> None:
    """Answer until told to stop; say so on `ready`, and stop, too, when nobody holds `alive` any more."""
    logging.getLogger().addHandler(_Log(logging.WARNING))
    filters = Filters(daemon)
    config = uvicorn.Config(
        application(daemon, filters),
        http=_connection(daemon.serving.timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[("Connection", "close")],  # who has been answered could hold one for ever, by a byte now and then
        proxy_headers=False,
        backlog=MOST_CLIENTS,
        timeout_graceful_shutdown=int(DRAIN_S),
    )
    recording = Recording(daemon.home, daemon.board, daemon.started)
    asyncio.run(_serve(_Server(config, ready, alive, daemon.retired), filters, recording, sockets))


async def _serve(server: uvicorn.Server, filters: Filters, recording: Recording, sockets: list[socket.socket]) -> None:
    beside = [asyncio.create_task(each) for each in (filters.tend(), recording.go_on())]
    try:
        await server.serve(sockets)
    finally:
        for each in beside:
            each.cancel()
        filters.close()


def _connection(timeout: float) -> type[asyncio.Protocol]:
    """Return what answers one client, who is let go if no request has come in time, or they do not take the answer.

    Uvicorn would wait for ever.
    """

    class Connection(H11Protocol):
        _let_go: asyncio.TimerHandle | None = None  # while the answer waits to be taken

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if max(len(self.connections), len(self.tasks)) > MOST_CLIENTS:
                transport.abort()
            self.loop.call_later(timeout, self._let_go_if_silent)

        def pause_writing(self) -> None:
            """Wait for the client to take some of the answer."""
            super().pause_writing()
            self._let_go = self.loop.call_later(timeout, self.transport.abort)

        def resume_writing(self) -> None:
            """Go on, as they have."""
            if self._let_go is not None:
                self._let_go.cancel()
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            """Say that this is no HTTP, as all other problems are said."""
            said = problem(400, msg, {"Connection": "close"})
            self.transport.write(self.conn.send(h11.Response(status_code=400, headers=said.raw_headers)) or b"")
            self.transport.write(self.conn.send(h11.Data(data=bytes(said.body))) or b"")
            self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
            self.transport.close()

        def _let_go_if_silent(self) -> None:
            if self.conn.their_state is h11.IDLE:
                self.transport.abort()

    return Connection


class _Server(uvicorn.Server):
    """A server that hears its master's signals, and says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: int, alive: int, retired: asyncio.Event) -> None:
        super().__init__(config)
        self._ready = ready
        self._alive = alive
        self._retired = retired

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop when told to, and be done then: uvicorn would send itself the signal once more."""
        loop = asyncio.get_running_loop()
        for number in (RETIRE, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        loop.add_reader(self._alive, self._stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin."""
        await super().startup(sockets)
        os.write(self._ready, b"r")

    def _stop(self) -> None:
        """Take nobody more; those who were taken have some time to ask, as uvicorn looks only now and then."""
        asyncio.get_running_loop().remove_reader(self._alive)
        for server in self.servers:
            server.close()
        self.should_exit = True
        self._retired.set()  # answers that would not end, do


class _Log(logging.Handler):
    """Has what others log as a warning or worse stand in our log, but for what they quote."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            log_error(error)
        else:
            log("http", what=repr(record.msg))
