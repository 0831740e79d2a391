"""One client: its request comes in pieces, its answer goes out, and it can take as long as it likes, up to a limit."""

import asyncio
import time
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from priory.server.log import log
from priory.wire.spamd import EX_SOFTWARE, EX_TIMEOUT, Incoming, Refused, Request

LINGER_S: Final = 2.0  #: for a client that is refused to stop sending and read why

#: What answers a request: now, or later where that takes longer.
Answering: TypeAlias = Callable[[Request], "tuple[bytes, str] | asyncio.Future[tuple[bytes, str]]"]


class Stage(Enum):
    """How far a connection has come."""

    RECEIVING = "receiving"
    WORKING = "working"
    SENDING = "sending"
    LINGERING = "lingering"


class Connection(asyncio.Protocol):
    """A connection from a client, from when it was taken until it is `gone`."""

    def __init__(self, most_bytes: int, answering: Answering, gone: "Callable[[Connection], None]") -> None:
        self._incoming = Incoming(most_bytes)
        self._answering = answering
        self._gone = gone
        self._transport: asyncio.Transport | None = None
        self.stage = Stage.RECEIVING
        self.since = time.monotonic()  #: when it came to this stage

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take a piece of the request; what comes after it is dropped."""
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.receive(data)
            except Refused as refused:
                self._refuse(refused)
            else:
                if request is not None:
                    self._answer(request)

    def eof_received(self) -> bool:
        """The client sends no more, but may wait for its answer."""
        if self.stage is Stage.LINGERING:
            return False
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.finish()
            except Refused as refused:
                self._refuse(refused)
                return False
            self._answer(request)
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whoever went, went
        """End."""
        self._gone(self)

    def expire(self) -> None:
        """Let go of a client that takes too long."""
        if self._transport is None:
            return
        if self.stage is Stage.RECEIVING:
            self._refuse(Refused(EX_TIMEOUT, "Timeout: (the request did not come in time)"))
            self._transport.close()
        else:
            self._transport.abort()

    def _answer(self, request: Request) -> None:
        self._reach(Stage.WORKING)
        try:
            answer = self._answering(request)
        except Exception as error:  # noqa: BLE001 - a request that fails is one request
            self._fail(request, error)
            return
        if isinstance(answer, tuple):
            self._send(request, *answer)
        else:
            answer.add_done_callback(lambda done: self._came_later(request, done))

    def _came_later(self, request: Request, done: "asyncio.Future[tuple[bytes, str]]") -> None:
        error = done.exception()
        if isinstance(error, Exception):
            self._fail(request, error)
        else:
            self._send(request, *done.result())

    def _send(self, request: Request, answer: bytes, said: str) -> None:
        us = round((time.monotonic() - self.since) * 1e6)
        log("request", verb=request.verb, bytes=len(request.body), verdict=said, us=us)
        self._reach(Stage.SENDING)
        assert self._transport is not None
        self._transport.write(answer)
        self._transport.close()

    def _fail(self, request: Request, error: Exception) -> None:
        if not isinstance(error, Refused):
            log("error", verb=request.verb, bytes=len(request.body), what=_where(error))
            error = Refused(EX_SOFTWARE, "Internal software error: the log of the daemon says more")
        self._refuse(error)

    def _refuse(self, refused: Refused) -> None:
        """Say why, and give the client time to read it: to close while it sends would throw away what it was told."""
        log("refused", why=repr(str(refused)))
        self._reach(Stage.LINGERING)
        assert self._transport is not None
        self._transport.write(refused.answer)
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _reach(self, stage: Stage) -> None:
        self.stage, self.since = stage, time.monotonic()


def _where(error: Exception) -> str:
    """What went wrong, and in which line; what others than us say about it may quote a message."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else "nowhere"
    said = repr(str(error)) if type(error).__module__.startswith("priory.") else ""
    return f"{type(error).__name__}({said}) at {place}"
