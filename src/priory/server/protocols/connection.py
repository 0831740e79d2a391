"""One client of a worker, in any protocol: which stage it is in, since when, and how long that may take."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Final

from priory.server.metrics.scoreboard import ProcessTally
from priory.server.options import DRAIN_S

LINGER_S: Final = 2.0  #: seconds for a refused client to stop sending and to read the reason


class Stage(Enum):
    """The stage of a connection."""

    RECEIVING = "receiving"
    WORKING = "working"
    SENDING = "sending"
    LINGERING = "lingering"


class Connection(asyncio.Protocol):
    """A connection to a client; `on_closed` is called once at its end."""

    protocol: str

    def __init__(self, tally: ProcessTally, on_closed: "Callable[[Connection], None]") -> None:
        self._tally = tally
        self._on_closed = on_closed
        self._transport: asyncio.Transport | None = None
        self._is_hurried = False
        self.stage = Stage.RECEIVING
        self.since = time.monotonic()  #: when this stage began

    @property
    def makes_way(self) -> bool:
        """Whether it is closed for others if there are too many and it is slow to send."""
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, by which answers are sent."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the reason does not matter
        """Report the end of the connection."""
        self._on_closed(self)

    def hurry(self) -> None:
        """Allow less time, because the daemon stops."""
        self._is_hurried = True

    def patience(self, timeout: float) -> float:
        """Return the seconds that the current stage may take."""
        return {
            Stage.RECEIVING: min(timeout, DRAIN_S) if self._is_hurried else timeout,
            Stage.WORKING: float("inf"),
            Stage.SENDING: timeout,
            Stage.LINGERING: LINGER_S,
        }[self.stage]

    def expire(self) -> None:
        """End a connection whose client takes too long."""
        if self._transport is not None:
            self._transport.abort()

    def _write(self, answer: bytes) -> None:
        assert self._transport is not None
        self._transport.write(answer)

    def _write_eof(self) -> None:
        """Close the sending side; the client may be gone already."""
        assert self._transport is not None
        with suppress(OSError):
            self._transport.write_eof()

    def _close(self) -> None:
        assert self._transport is not None
        self._transport.close()

    def _reach(self, stage: Stage) -> None:
        self.stage, self.since = stage, time.monotonic()
