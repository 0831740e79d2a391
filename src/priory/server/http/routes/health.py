"""The routes about the daemon's health: /healthz, metrics, history, and how good the filter's predictions were."""

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Header, HTTPException, Query, Response
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from priory import __version__
from priory.filter.filter import Filter
from priory.html.numbers import utc_text
from priory.journal import JournalError
from priory.server.http.answers import EstimateAnswer, answer_of, closed, estimate_answer
from priory.server.http.auth import HEALTH, needs
from priory.server.http.filters import Filters
from priory.server.http.prometheus import exposition
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.metrics.history import (
    DAY_S,
    HOUR_S,
    HOURS_KEPT_S,
    MINUTE_S,
    MINUTES_KEPT_S,
    HistoryError,
    HistoryRecorder,
    default_step,
)
from priory.server.metrics.names import CHECK_TIMES
from priory.server.metrics.scoreboard import Key, timing_of

if TYPE_CHECKING:
    from priory.lab.track_record import Period, TrackRecord

_MOST_STEPS: Final = 3000
_BY_PROTOCOL: Final = ("checked", "unchecked", "refused")  # counters with two keys; the first is the protocol
_BY_KEY: Final = ("lessons", "autolearned", "errors", "bytes")  # counters with one key


class HealthAnswer(BaseModel):
    """The state of the daemon."""

    healthy: bool
    workers: int  # configured
    workers_ready: int
    version: str
    reason: str = ""  # why it is not healthy


@closed
class CheckTimesAnswer(TypedDict):
    """Durations of checks in seconds."""

    count: Annotated[int, Field(examples=[17])]
    mean: Annotated[float, Field(examples=[0.0008])]
    median: Annotated[float, Field(examples=[0.0006])]
    p99: Annotated[float, Field(description="The 99th percentile.", examples=[0.0024])]


@closed
class HistoryStepAnswer(TypedDict):
    """The counts from one time up to the next. A count that is missing is 0."""

    begin: Annotated[str, Field(examples=["2026-11-01T12:00:00Z"])]
    checked: Annotated[
        dict[str, dict[str, int]],
        Field(description="Messages by protocol and verdict.", examples=[{"milter": {"ham": 12, "spam": 5}}]),
    ]
    unchecked: Annotated[dict[str, dict[str, int]], Field(description="Messages by protocol and reason.")]
    refused: Annotated[dict[str, dict[str, int]], Field(description="Requests by protocol and reason.")]
    lessons: Annotated[dict[str, int], Field(description="Lessons by outcome.", examples=[{"learned": 1}])]
    autolearned: Annotated[dict[str, int], Field(description="Messages learned automatically, by label.")]
    errors: Annotated[dict[str, int], Field(description="Internal errors.")]
    bytes: Annotated[dict[str, int], Field(description="Bytes of messages by protocol.", examples=[{"milter": 64120}])]
    check_seconds: Annotated[dict[str, CheckTimesAnswer], Field(description="Durations by protocol.")]


@closed
class HistoryAnswer(TypedDict):
    """The counts over time."""

    begin: Annotated[str, Field(description="Begin of the first step.", examples=["2026-11-01T00:00:00Z"])]
    end: Annotated[str, Field(description="Time of this answer.", examples=["2026-11-02T00:00:00Z"])]
    step: Annotated[int, Field(description="Length of a step in seconds.", examples=[900])]
    steps: Annotated[list[HistoryStepAnswer], Field(description="The steps in which something was counted.")]


@closed
class CalibrationBinAnswer(TypedDict):
    """Lessons with similar predicted probabilities."""

    mean_probability: Annotated[float, Field(ge=0, le=1, description="Mean prediction.", examples=[0.94])]
    share: Annotated[float, Field(ge=0, le=1, description="Share that has the label.", examples=[0.95])]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    n: int


@closed
class LabelCalibrationAnswer(TypedDict):
    """The calibration of one label's probabilities."""

    label: Annotated[str, Field(examples=["spam"])]
    error: Annotated[float, Field(description="Mean distance between predicted and observed shares.", examples=[0.004])]
    bins: list[CalibrationBinAnswer]


@closed
class CalibrationsAnswer(TypedDict):
    """Whether probabilities are right: the predictions made before each lesson, compared with the labels."""

    n: Annotated[int, Field(description="The number of lessons with a prediction.", examples=[1873])]
    log_loss: Annotated[EstimateAnswer | None, Field(description="Mean surprise, in nats.")]
    brier: Annotated[EstimateAnswer | None, Field(description="Mean squared error of the probabilities.")]
    labels: list[LabelCalibrationAnswer]


@closed
class DriftWindowAnswer(TypedDict):
    """Consecutive lessons, with their verdicts and their labels."""

    begin: int
    end: int
    since: Annotated[
        str | None, Field(description="When the first of them was learned.", examples=["2026-11-01T12:00:00Z"])
    ]
    until: Annotated[str | None, Field(description="When the last of them was learned.")]
    counts: Annotated[
        list[list[int]],
        Field(
            description="For each label, the number of each verdict; the last is unsure.",
            examples=[[[48, 0, 1], [0, 49, 2]]],
        ),
    ]
    wrong: Annotated[EstimateAnswer, Field(description="The share of wrong verdicts.")]
    unsure: Annotated[float, Field(description="The share of unsure verdicts.")]
    log_loss: EstimateAnswer
    share: Annotated[list[float], Field(description="The share of each label.", examples=[[0.49, 0.51]])]
    mean_probability: Annotated[
        list[float], Field(description="The mean probability of each label; near its share if all is well.")
    ]
    cost: Annotated[float, Field(description="The cost of the verdicts per lesson.", examples=[0.12])]
    calibration_error: Annotated[float, Field(description="The expected calibration error.", examples=[0.004])]


@closed
class LearningStretchAnswer(TypedDict):
    """As many consecutive lessons as came before them, and how often another label was more probable."""

    begin: int
    end: int
    wrong: EstimateAnswer


@closed
class DriftAnswer(TypedDict):
    """The quality of predictions over time, and with more and more lessons."""

    labels: Annotated[list[str], Field(examples=[["ham", "spam"]])]
    n: int
    windows: list[DriftWindowAnswer]
    learning: list[LearningStretchAnswer]


def health_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for monitoring: /healthz and /metrics."""
    router = APIRouter(tags=["health"])

    @router.get(HEALTH, responses={503: {"model": HealthAnswer, "description": "Not healthy; `reason` says why."}})
    def healthz(response: Response) -> HealthAnswer:
        """Tell whether mail is being checked: 200 if so, 503 with the reason if not. Needs no token."""
        reason = daemon.trouble()
        response.status_code = 503 if reason else 200
        return HealthAnswer(
            healthy=not reason,
            workers=daemon.serving.workers,
            workers_ready=daemon.workers_ready,
            version=__version__,
            reason=reason,
        )

    @router.get(
        "/metrics",
        dependencies=[needs("check")],
        responses=document_problems() | {200: {"content": {"text/plain": {}, "application/openmetrics-text": {}}}},
        response_class=Response,
    )
    async def metrics(accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
        """Return the metrics for Prometheus."""
        try:
            lost_ham = await filters.check(Filter.lost_ham)
        except JournalError:
            lost_ham = None  # the metrics say that the journal cannot be read
        content, content_type = await asyncio.to_thread(exposition, daemon, accept, lost_ham)
        return Response(content, headers={"Content-Type": content_type})

    return router


def history_routes(daemon: Daemon, _filters: Filters) -> APIRouter:
    """Return the route to the history."""
    router = APIRouter(tags=["health"], dependencies=[needs("check")])
    recording = HistoryRecorder(daemon.home, daemon.board, daemon.started)

    @router.get("/history", responses=document_answer(HistoryAnswer) | document_problems(422, 503))
    async def history(
        span: Annotated[int, Query(ge=MINUTE_S, le=HOURS_KEPT_S, description="Seconds back from now.")] = DAY_S,
        step: Annotated[
            int | None, Query(ge=MINUTE_S, le=HOURS_KEPT_S, description="Seconds, in whole minutes or hours.")
        ] = None,
    ) -> Response:
        """Return the counts over time, across restarts: by minutes for two days, by hours for 400."""
        chosen = default_step(span) if step is None else step
        _require_step(span, chosen)
        try:
            return json_response(await asyncio.to_thread(lambda: json_bytes(_history(recording, span, chosen))))
        except HistoryError as error:
            raise HTTPException(503, str(error)) from None

    return router


def track_record_routes(_daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes about the quality of predictions."""
    router = APIRouter(tags=["health"], dependencies=[needs("check")])
    analyses = filters.analyses

    @router.get("/calibration", responses=document_answer(CalibrationsAnswer) | document_problems(503))
    async def calibration() -> Response:
        """Tell whether the filter's probabilities are right, on your own mail."""
        return json_response(
            await filters.search(lambda filter_: json_bytes(_calibrations(analyses.track_record(filter_))))
        )

    @router.get("/drift", responses=document_answer(DriftAnswer) | document_problems(503))
    async def drift() -> Response:
        """Return the quality of predictions over time, and with more and more lessons."""
        return json_response(await filters.search(lambda filter_: json_bytes(_drift(analyses.track_record(filter_)))))

    return router


def _require_step(span: int, step: int) -> None:
    if step % MINUTE_S or (span > MINUTES_KEPT_S and step % HOUR_S):
        raise HTTPException(422, "step: whole minutes (60, 120, …) up to two days back, whole hours (3600, …) beyond")
    if span > step * _MOST_STEPS:
        raise HTTPException(422, f"step: at most {_MOST_STEPS} steps: choose longer ones, or a shorter span")


def _history(recording: HistoryRecorder, span: int, step: int) -> HistoryAnswer:
    recording.record()
    now = int(time.time())
    begin = (now - span) // step * step
    steps = recording.history.steps(begin, now + MINUTE_S, step)
    return {
        "begin": utc_text(begin),
        "end": utc_text(now),
        "step": step,
        "steps": [_history_step(at, counted) for at, counted in steps.items()],
    }


def _history_step(begin: float, counted: Mapping[Key, int]) -> HistoryStepAnswer:
    counts: dict[str, Any] = {name: {} for name in (*_BY_PROTOCOL, *_BY_KEY)}
    for (name, first, *rest), n in counted.items():
        if name in _BY_PROTOCOL:
            counts[name].setdefault(first, {})[rest[0]] = n
        elif name in _BY_KEY:
            counts[name][first] = n
    times = {protocol: timing_of(counted, durations) for protocol, durations in CHECK_TIMES.items()}
    seconds: dict[str, CheckTimesAnswer] = {
        protocol: {"count": timing.count, "mean": timing.mean, "median": timing.median, "p99": timing.p99}
        for protocol, timing in times.items()
        if timing
    }
    return answer_of(HistoryStepAnswer, {"begin": utc_text(begin), **counts, "check_seconds": seconds})


def _calibrations(record: "TrackRecord") -> CalibrationsAnswer:
    return {
        "n": record.n,
        "log_loss": None if record.loss is None else estimate_answer(record.loss),
        "brier": None if record.brier is None else estimate_answer(record.brier),
        "labels": [answer_of(LabelCalibrationAnswer, calibration.as_dict()) for calibration in record.calibrations],
    }


def _drift(record: "TrackRecord") -> DriftAnswer:
    return {
        "labels": list(record.labels),
        "n": record.n,
        "windows": [_window(period) for period in record.periods],
        "learning": [answer_of(LearningStretchAnswer, stretch.as_dict()) for stretch in record.stretches],
    }


def _window(period: "Period") -> DriftWindowAnswer:
    times = {"since": period.since, "until": period.until}
    texts = {name: None if at is None else utc_text(at) for name, at in times.items()}
    return answer_of(DriftWindowAnswer, period.as_dict() | texts)
