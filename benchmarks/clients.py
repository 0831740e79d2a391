"""Many concurrent clients of a daemon with SpamAssassin's protocol, each with one request after the other."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Seconds without data after which a request counts as lost.
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request."""

    verb: str
    seconds: float  #: seconds from before connecting until after closing
    is_whole: bool  #: it reports success and is complete
    did_set: bool  #: a new lesson was accepted


class _Exchange(asyncio.Protocol):
    """One request and its answer."""

    def __init__(self, request: bytes, done: "asyncio.Future[bytes]") -> None:
        self._request = request
        self._done = done
        self._received: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(b"" if exc else b"".join(self._received))


def ask_all(socket: Path, requests: Sequence[tuple[str, bytes]], n_clients: int) -> list[Answer]:
    """Send all requests with `n` concurrent clients; return the outcome of each."""
    return asyncio.run(_ask_all(str(socket), requests, n_clients))


async def _ask_all(socket: str, requests: Iterable[tuple[str, bytes]], n_clients: int) -> list[Answer]:
    waiting, answers = iter(requests), []

    async def keep_asking(waiting: Iterator[tuple[str, bytes]]) -> None:
        for verb, request in waiting:
            answers.append(await _ask(socket, verb, request))

    async with asyncio.TaskGroup() as clients:
        for _ in range(n_clients):
            clients.create_task(keep_asking(waiting))
    return answers


async def _ask(socket: str, verb: str, request: bytes) -> Answer:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()
    start = time.perf_counter()
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await loop.create_unix_connection(lambda: _Exchange(request, done), socket)
            answer = await done
    except OSError:  # and a timeout, which is one
        answer = b""
    return Answer(verb, time.perf_counter() - start, is_whole(answer), b"\r\nDidSet:" in answer)


def is_whole(answer: bytes) -> bool:
    """Tell whether an answer reports success and is complete.

    >>> is_whole(b"SPAMD/1.1 0 EX_OK\\r\\nContent-length: 2\\r\\n\\r\\nok")
    True
    >>> is_whole(b"SPAMD/1.1 0 EX_OK\\r\\nContent-length: 3\\r\\n\\r\\nok")
    False
    >>> is_whole(b"SPAMD/1.1 0 EX_OK\\r\\nDidSet: local\\r\\n\\r\\n")
    True
    """
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *fields = head.lower().split(b"\r\n")
    if first.split()[1:2] != [b"0"]:
        return False
    lengths = [field for field in fields if field.startswith(b"content-length:")]
    return lengths == [f"content-length: {len(body)}".encode()] if lengths else answer.endswith(b"\r\n\r\n")


def request(verb: str, raw: bytes, *fields: str) -> tuple[str, bytes]:
    """Return a request, and its verb."""
    lines = [f"{verb} SPAMC/1.5", *fields, f"Content-length: {len(raw)}", "", ""]
    return verb, "\r\n".join(lines).encode() + raw
