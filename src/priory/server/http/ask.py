"""The routes that ask about a message, and change nothing: check and explain."""

import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Response

from priory.filter import Filter
from priory.server.counted import CHECK_TIMES, HTTP
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.carried import ERRORS, carried, takes_message
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.problems import documented
from priory.server.http.state import Daemon
from priory.verdict import MOST_EVIDENCE


def ask_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who asks."""
    router = APIRouter(tags=["ask"], dependencies=[needs("check")])
    taken, tally = carried(daemon.serving), daemon.tally

    @router.post(
        "/check", responses=schemas.answered(schemas.Verdict) | documented(*ERRORS), openapi_extra=takes_message()
    )
    async def check(raw: Annotated[bytes, taken]) -> Response:
        """Say what a message is, how probable that is, and the weightiest evidence: as `priory check --json` does."""
        begun = time.perf_counter()
        label, said = await filters.ask(_checked(raw))
        tally.add(("checked", HTTP, label))
        tally.add(("bytes", HTTP), len(raw))
        tally.time(CHECK_TIMES[HTTP], time.perf_counter() - begun)
        return json_response(said)

    @router.post(
        "/explain", responses=schemas.answered(schemas.Explanation) | documented(*ERRORS), openapi_extra=takes_message()
    )
    async def explain(raw: Annotated[bytes, taken]) -> Response:
        """Say why: all evidence, and the message in spans coloured by what they add to the log-odds."""
        return json_response(await filters.ask(_explained(raw)))

    return router


def _checked(raw: bytes) -> Callable[[Filter], tuple[str, bytes]]:
    def checked(filter_: Filter) -> tuple[str, bytes]:
        verdict = filter_.check(raw)
        return verdict.label, json_bytes(verdict.as_dict(MOST_EVIDENCE))

    return checked


def _explained(raw: bytes) -> Callable[[Filter], bytes]:
    return lambda filter_: json_bytes(filter_.explain(raw).as_dict())
