"""Streamed responses: the answers about an upload, and the progress of a comparison as server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, TypeAlias

from fastapi import HTTPException, Response
from fastapi.responses import StreamingResponse

from priory.journal import JournalError
from priory.processes.log import log_error
from priory.server.evaluation.run import EvaluationRun
from priory.server.evaluation.runs import EvaluationRuns
from priory.server.http.responses import INTERNAL, json_bytes
from priory.server.http.uploads import Group, Upload

#: Processes the next group of messages, and returns the answer about each as JSON; empty if there are no more groups.
Process: TypeAlias = Callable[[Iterator[Group]], Awaitable[list[bytes]]]
EVENTS: Final = "text/event-stream"
EVENT: Final = {  #: the schema of an event
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["progress", "end"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
MOST_FOLLOWERS: Final = 20  #: each keeps one of the few connections
_POLL_S: Final = 0.2
_HEARTBEAT_S: Final = 15.0  # silence after which a comment is sent: a proxy may close an idle connection
_RETRY_MS: Final = 1000


async def stream_answers(upload: Upload, process: Process) -> StreamingResponse:
    """Answer about each message of an upload while the rest is processed; memory holds one group at a time.

    An error in the first group is answered as an error. After that the answer has begun, and `stopped` says why it
    ends early.
    """
    groups = upload.groups()
    first = await process(groups)
    return StreamingResponse(_answers(upload, groups, first, process), media_type="application/json")


async def _answers(
    upload: Upload, groups: Iterator[Group], answers: list[bytes], process: Process
) -> AsyncIterator[bytes]:
    yield b'{"messages":['
    comma = b""
    while answers:
        yield comma + b",".join(answers)
        comma = b","
        answers = await _next_answers(upload, groups, process)
    tail = json_bytes({"passed_over": upload.passed_over, "stopped": upload.stopped})
    yield b"]," + tail.removeprefix(b"{")


async def _next_answers(upload: Upload, groups: Iterator[Group], process: Process) -> list[bytes]:
    try:
        return await process(groups)
    except JournalError as error:
        upload.stopped = str(error)
        log_error(error)
    except Exception as error:  # noqa: BLE001 - the answers sent so far remain true, and the lessons durable
        upload.stopped = INTERNAL
        log_error(error)
    return []


class RunEvents:
    """Streams the progress of comparisons to those who follow them.

    Each event contains the whole state, not a difference, so a client that reconnects needs only the latest event.
    """

    def __init__(self, runs: EvaluationRuns, retired: asyncio.Event, answer: Callable[[EvaluationRun], object]) -> None:
        self._runs = runs
        self._retired = retired
        self._answer = answer
        self._n_followers = 0

    def response(self, run: EvaluationRun, last_id: str) -> Response:
        """Return the events after the last one received; if there will be none, 204, on which browsers stop."""
        if run.is_over and run.version == last_id:
            return Response(status_code=204)
        if self._n_followers >= MOST_FOLLOWERS:
            raise HTTPException(503, "Too many clients follow comparisons; try again later.", {"Retry-After": "5"})
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        return StreamingResponse(self._events(run, last_id), headers=headers, media_type=EVENTS)

    async def _events(self, run: EvaluationRun, last_id: str) -> AsyncIterator[bytes]:
        self._n_followers += 1
        try:
            yield b"retry: %d\n\n" % _RETRY_MS
            sent_at = time.monotonic()
            while not self._retired.is_set():  # after that, clients reconnect to the process that takes over
                if run.version != last_id:
                    last_id, sent_at = run.version, time.monotonic()
                    yield self._event(run)
                elif time.monotonic() - sent_at > _HEARTBEAT_S:
                    sent_at = time.monotonic()
                    yield b": still there\n\n"
                if run.is_over:
                    return
                await asyncio.sleep(_POLL_S)
                latest = self._runs.find(run.id)
                if latest is None:  # it was removed
                    return
                run = latest
        finally:
            self._n_followers -= 1

    def _event(self, run: EvaluationRun) -> bytes:
        kind = b"end" if run.is_over else b"progress"
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (run.version.encode(), kind, json_bytes(self._answer(run)))
