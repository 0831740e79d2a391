"""One answer about many messages, written as it is computed: neither all of them nor all that is said is in memory."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeAlias

from fastapi.responses import StreamingResponse

from priory.journal import JournalError
from priory.server.connection import log_error
from priory.server.http.json import json_bytes
from priory.server.http.uploads import Upload

Group: TypeAlias = list[tuple[str, bytes]]
#: Does its work with the next group of messages, and returns what is said of each as JSON; nothing if all are done.
Work: TypeAlias = Callable[[Iterator[Group]], Awaitable[list[bytes]]]


async def about_each(upload: Upload, work: Work) -> StreamingResponse:
    """Answer about each message of an upload.

    If the first cannot be answered about, an error is answered. Later, an answer has begun: it says why it ends.
    """
    groups = upload.groups()
    first = await work(groups)
    return StreamingResponse(_said(upload, groups, first, work), media_type="application/json")


async def _said(upload: Upload, groups: Iterator[Group], said: list[bytes], work: Work) -> AsyncIterator[bytes]:
    yield b'{"messages":['
    comma = b""
    while said:
        yield comma + b",".join(said)
        comma = b","
        said = await _next(upload, groups, work)
    tail = json_bytes({"passed_over": upload.passed_over, "stopped": upload.stopped})
    yield b"]," + tail.removeprefix(b"{")


async def _next(upload: Upload, groups: Iterator[Group], work: Work) -> list[bytes]:
    try:
        return await work(groups)
    except JournalError as error:
        upload.stopped = str(error)
        log_error(error)
    except Exception as error:  # noqa: BLE001 - what was said before stays true, and durable
        upload.stopped = "Something is wrong inside; the log of the daemon says what."
        log_error(error)
    return []
