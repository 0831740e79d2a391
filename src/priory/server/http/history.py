"""The route that tells what the daemon has done over time."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import Field

from priory.server.counted import CHECK_TIMES
from priory.server.history import DAY_S, HOUR_S, HOURS_KEPT_S, MINUTE_S, MINUTES_KEPT_S, HistoryError, chosen_step
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import greenwich, json_bytes, json_response
from priory.server.http.problems import documented
from priory.server.http.schemas import Answer
from priory.server.http.state import Daemon
from priory.server.recording import Recording
from priory.server.scoreboard import Key
from priory.server.times import times_of

_MOST_STEPS: Final = 3000
_BY_TWO: Final = ("checked", "unchecked", "refused")  # first the protocol
_BY_ONE: Final = ("lessons", "autolearned", "errors", "bytes")


class CheckTimes(Answer):
    """How long checks took, in seconds."""

    count: int = Field(examples=[17])
    mean: float = Field(examples=[0.0008])
    median: float = Field(examples=[0.0006])
    p99: float = Field(description="99 of a hundred took less.", examples=[0.0024])


class Step(Answer):
    """What was counted from one time up to the next; what is not named did not happen."""

    begin: str = Field(examples=["2026-11-01T12:00:00Z"])
    checked: dict[str, dict[str, int]] = Field(
        description="Messages by protocol and verdict.", examples=[{"milter": {"ham": 12, "spam": 5}}]
    )
    unchecked: dict[str, dict[str, int]] = Field(description="Messages by protocol and reason.")
    refused: dict[str, dict[str, int]] = Field(description="Requests by protocol and reason.")
    lessons: dict[str, int] = Field(examples=[{"learned": 1}])
    autolearned: dict[str, int]
    errors: dict[str, int]
    bytes: dict[str, int] = Field(description="Bytes of messages by protocol.", examples=[{"milter": 64120}])
    check_seconds: dict[str, CheckTimes] = Field(description="By protocol.")


class OverTime(Answer):
    """What was counted over time."""

    begin: str = Field(description="Of the first step.", examples=["2026-11-01T00:00:00Z"])
    end: str = Field(description="When this was told.", examples=["2026-11-02T00:00:00Z"])
    step: int = Field(description="Seconds.", examples=[900])
    steps: list[Step] = Field(description="Those in which something was counted.")


def history_routes(daemon: Daemon, _filters: Filters) -> APIRouter:
    """Return the route for who wants to know how it went."""
    router = APIRouter(tags=["health"], dependencies=[needs("check")])
    recording = Recording(daemon.home, daemon.board, daemon.started)

    @router.get("/history", responses=schemas.answered(OverTime) | documented(422, 503))
    async def history(
        span: Annotated[int, Query(ge=MINUTE_S, le=HOURS_KEPT_S, description="Seconds back from now.")] = DAY_S,
        step: Annotated[
            int | None, Query(ge=MINUTE_S, le=HOURS_KEPT_S, description="Seconds, in whole minutes or hours.")
        ] = None,
    ) -> Response:
        """Tell what was counted over time, through restarts: minutes for two days, hours for 400."""
        chosen = chosen_step(span) if step is None else step
        _refuse_step(span, chosen)
        try:
            return json_response(await asyncio.to_thread(lambda: json_bytes(_told(recording, span, chosen))))
        except HistoryError as error:
            raise HTTPException(503, str(error)) from None

    return router


def _refuse_step(span: int, step: int) -> None:
    if step % MINUTE_S or (span > MINUTES_KEPT_S and step % HOUR_S):
        raise HTTPException(422, "step: whole minutes (60, 120, …) up to two days back, whole hours (3600, …) beyond")
    if span > step * _MOST_STEPS:
        raise HTTPException(422, f"step: {_MOST_STEPS} steps at most: take longer ones, or a shorter span")


def _told(recording: Recording, span: int, step: int) -> dict[str, Any]:
    recording.look()
    now = int(time.time())
    begin = (now - span) // step * step
    steps = recording.history.steps(begin, now + MINUTE_S, step)
    return {
        "begin": greenwich(begin),
        "end": greenwich(now),
        "step": step,
        "steps": [{"begin": greenwich(at), **by_name(counted)} for at, counted in steps.items()],
    }


def by_name(counted: Mapping[Key, int]) -> dict[str, Any]:
    """Return what was counted as it is told, by the words of its keys."""
    made: dict[str, Any] = {name: {} for name in (*_BY_TWO, *_BY_ONE)}
    for (name, first, *rest), n in counted.items():
        if name in _BY_TWO:
            made[name].setdefault(first, {})[rest[0]] = n
        elif name in _BY_ONE:
            made[name][first] = n
    times = {protocol: times_of(counted, durations) for protocol, durations in CHECK_TIMES.items()}
    return made | {"check_seconds": {protocol: asdict(found) for protocol, found in times.items() if found}}
