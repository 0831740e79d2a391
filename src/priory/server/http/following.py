"""Follows a comparison: server-sent events, from now to its end, that go on where they broke off.

Each event is all that there is to say, not what has changed: who comes back needs only the latest.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from fastapi import HTTPException, Response
from fastapi.responses import StreamingResponse

from priory.server.evaluation.run import Run
from priory.server.evaluation.runs import Runs
from priory.server.http.json import json_bytes

EVENTS: Final = "text/event-stream"
EVENT: Final = {  #: for the documentation
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["progress", "end"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
MOST: Final = 20  #: who follow at a time: each keeps a connection, of which there are not many
_LOOK_S: Final = 0.2
_BEAT_S: Final = 15.0  #: after which something is sent, or a proxy may think that nobody is there
_RETRY_MS: Final = 1000


class Following:
    """Those who follow comparisons."""

    def __init__(self, runs: Runs, retired: asyncio.Event, said: Callable[[Run], dict[str, Any]]) -> None:
        self._runs = runs
        self._retired = retired
        self._said = said
        self._n_following = 0

    def response(self, run: Run, last: str) -> Response:
        """Return the events of a comparison after the last that came; 204 if none will, which browsers understand."""
        if run.is_over and run.version == last:
            return Response(status_code=204)
        if self._n_following >= MOST:
            raise HTTPException(503, "Too many follow comparisons already; try again later.", {"Retry-After": "5"})
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        return StreamingResponse(self._events(run, last), headers=headers, media_type=EVENTS)

    async def _events(self, run: Run, last: str) -> AsyncIterator[bytes]:
        self._n_following += 1
        try:
            yield b"retry: %d\n\n" % _RETRY_MS
            sent_at = time.monotonic()
            while not self._retired.is_set():  # then who follows comes to the next process
                if run.version != last:
                    last, sent_at = run.version, time.monotonic()
                    yield self._event(run)
                elif time.monotonic() - sent_at > _BEAT_S:
                    sent_at = time.monotonic()
                    yield b": still there\n\n"
                if run.is_over:
                    return
                await asyncio.sleep(_LOOK_S)
                found = self._runs.find(run.id)
                if found is None:  # it was removed
                    return
                run = found
        finally:
            self._n_following -= 1

    def _event(self, run: Run) -> bytes:
        kind = b"end" if run.is_over else b"progress"
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (run.version.encode(), kind, json_bytes(self._said(run)))
