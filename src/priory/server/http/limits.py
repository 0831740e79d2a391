"""What is taken from a client: how large a message, for how long, how often."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MESSAGE: Final = "message/rfc822"
LINGER_S: Final = 5.0  #: for who is refused to send the rest


class Rates:
    """How often each token may be used: a bucket of `rate` requests, into which as many flow each second.

    >>> clock = iter([0.0, 0.0, 0.0, 0.25, 0.75])
    >>> rates = Rates(2, lambda: next(clock))
    >>> [rates.wait("ann") for _ in range(5)]
    [0, 0, 1, 1, 0]
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is in it, and when that was so

    def wait(self, who: str) -> int:
        """Take one request from a bucket and return 0; if it is empty, return the whole seconds to wait."""
        now = self._clock()
        held, since = self._buckets.get(who, (self._rate, now))
        held = min(self._rate, held + (now - since) * self._rate)
        is_there = held >= 1
        self._buckets[who] = (held - 1 if is_there else held, now)
        return 0 if is_there else math.ceil((1 - held) / self._rate)


async def message(request: Request, most_bytes: int, patience_s: float) -> bytes:
    """Return the message that a request carries, whatever the request says about its length."""
    if not is_plainly(request, MESSAGE):
        raise HTTPException(415, f"The body must be a message as it came: Content-Type: {MESSAGE}, not compressed.")
    too_large = f"The message has more than {most_bytes} bytes, the most that max_bytes of [serve] allows."
    return await received(request, "message", most_bytes, patience_s, too_large)


def is_plainly(request: Request, kind: str) -> bool:
    """Tell whether what a request carries is said to be of a kind, and not compressed."""
    said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return said == kind and "content-encoding" not in request.headers


async def received(request: Request, what: str, most_bytes: int, patience_s: float, too_large: str) -> bytes:
    """Return all that a request carries, if it comes in time and is not too large."""
    async with coming(patience_s, what):
        raw = bytearray()
        async for piece in bounded(request, most_bytes, too_large):
            raw += piece
        return bytes(raw)


async def bounded(request: Request, most_bytes: int, refusal: str) -> AsyncGenerator[bytes, None]:
    """Yield what a request carries, piece by piece; one that has more, or says so, is refused."""
    too_large = HTTPException(413, refusal)
    if int(request.headers.get("content-length", 0)) > most_bytes:
        raise too_large
    left = most_bytes
    async for piece in request.stream():
        left -= len(piece)
        if left < 0:
            raise too_large
        yield piece


@asynccontextmanager
async def coming(patience_s: float, what: str) -> AsyncIterator[None]:
    """Wait for something to come, but not for ever."""
    try:
        async with asyncio.timeout(patience_s):
            yield
    except TimeoutError:
        raise HTTPException(408, f"The {what} did not come within {patience_s} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, f"The {what} ended too soon.") from None


def has_body(request: Request) -> bool:
    """Tell whether a request carries anything."""
    return "transfer-encoding" in request.headers or int(request.headers.get("content-length", 0)) > 0


class Lingering:
    """Has who is refused in the middle of sending send the rest, to nowhere: or the answer would never reach them.

    To close a connection on which something waits to be read is to reset it.
    """

    def __init__(self, app: ASGIApp, most_bytes: int) -> None:
        self._app = app
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer when all has come."""
        waits = any(name == b"expect" for name, _ in scope["headers"])  # it sends nothing before it is told to
        is_whole = False

        async def heard() -> Message:
            nonlocal is_whole
            said = await receive()
            is_whole = not said.get("more_body", False)
            return said

        async def answered(said: Message) -> None:
            is_refused = said.get("status", 200) >= 400 and said["status"] != 408  # who is that slow had time enough
            if is_refused and not (is_whole or waits):
                await self._discard(receive)
            await send(said)

        await self._app(scope, heard, answered)

    async def _discard(self, receive: Receive) -> None:
        left = self._most_bytes
        try:
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (said := await receive()).get("more_body", False):
                    left -= len(said.get("body", b""))
        except TimeoutError:
            pass
