"""One client of the daemon, whatever it speaks: how far it has come, since when, and how long that may take."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Final

from priory.server.log import log
from priory.server.scoreboard import Tally

DRAIN_S: Final = 5.0  #: for requests that have not come whole when the daemon is told to stop
LINGER_S: Final = 2.0  #: for a client that is refused to stop sending and read why


class Stage(Enum):
    """How far a connection has come."""

    RECEIVING = "receiving"
    WORKING = "working"
    SENDING = "sending"
    LINGERING = "lingering"


class Connection(asyncio.Protocol):
    """A connection from a client, from when it was taken until it is `gone`."""

    protocol: str  #: that is spoken
    makes_way: bool = True  #: for others, if there are too many and it is slow to send

    def __init__(self, tally: Tally, gone: "Callable[[Connection], None]") -> None:
        self._tally = tally
        self._gone = gone
        self._transport: asyncio.Transport | None = None
        self._is_hurried = False
        self.stage = Stage.RECEIVING
        self.since = time.monotonic()  #: when it came to this stage

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whoever went, went
        """End."""
        self._gone(self)

    def hurry(self) -> None:
        """Be done soon: the daemon stops."""
        self._is_hurried = True

    def patience(self, timeout: float) -> float:
        """Return how many seconds the client may take for the stage it is in."""
        return {
            Stage.RECEIVING: min(timeout, DRAIN_S) if self._is_hurried else timeout,
            Stage.WORKING: float("inf"),
            Stage.SENDING: timeout,
            Stage.LINGERING: LINGER_S,
        }[self.stage]

    def expire(self) -> None:
        """Let go of a client that takes too long."""
        if self._transport is not None:
            self._transport.abort()

    def _write(self, answer: bytes) -> None:
        assert self._transport is not None
        self._transport.write(answer)

    def _write_eof(self) -> None:
        """Let the client know that this was all; it may be gone already."""
        assert self._transport is not None
        with suppress(OSError):
            self._transport.write_eof()

    def _close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    def _reach(self, stage: Stage) -> None:
        self.stage, self.since = stage, time.monotonic()


def log_error(error: Exception, **figures: object) -> None:
    """Say what went wrong, and in which line; what others than us say about it may quote a message."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else "nowhere"
    said = repr(str(error)) if type(error).__module__.startswith("priory.") else ""
    log("error", **figures, what=f"{type(error).__name__}({said}) at {place}")
