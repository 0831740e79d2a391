"""The routes that tell how good the filter is on your own mail: whether probabilities mean what they say, and drift."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response
from pydantic import Field

from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import greenwich, json_bytes, json_response
from priory.server.http.problems import documented
from priory.server.http.schemas import Answer
from priory.server.http.state import Daemon

if TYPE_CHECKING:
    from priory.lab.track_record import Period, TrackRecord


class Interval(Answer):
    """A figure and the limits between which it is to 95 %; null where nothing can be said."""

    estimate: float | None = Field(examples=[0.012])
    low: float | None = Field(examples=[0.008])
    high: float | None = Field(examples=[0.018])


class Bin(Answer):
    """Lessons of which about the same was said."""

    mean_probability: float = Field(ge=0, le=1, description="That was said.", examples=[0.94])
    share: float = Field(ge=0, le=1, description="That was of the label.", examples=[0.95])
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    n: int


class OfLabel(Answer):
    """Whether the probabilities of a label mean what they say."""

    label: str = Field(examples=["spam"])
    error: float = Field(description="The mean distance of what was said from what happened.", examples=[0.004])
    bins: list[Bin]


class Calibrations(Answer):
    """Whether probabilities mean what they say, by what was predicted of each lesson before it was learned."""

    n: int = Field(description="Lessons that were predicted.", examples=[1873])
    log_loss: Interval | None = Field(description="Mean surprise, in nats.")
    brier: Interval | None = Field(description="Mean square of what probabilities were off by.")
    labels: list[OfLabel]


class Window(Answer):
    """Lessons that follow each other: what was said of them, and what they are."""

    begin: int
    end: int
    since: str | None = Field(description="When the first of them was learned.", examples=["2026-11-01T12:00:00Z"])
    until: str | None
    counts: list[list[int]] = Field(
        description="For each label, how many were said to be what; the last is unsure.",
        examples=[[[48, 0, 1], [0, 49, 2]]],
    )
    wrong: Interval = Field(description="The share of which something wrong would have been said.")
    unsure: float
    log_loss: Interval
    share: list[float] = Field(description="Of each label.", examples=[[0.49, 0.51]])
    mean_probability: list[float] = Field(description="Of each label: near its share, if all is well.")


class Stretch(Answer):
    """Lessons that follow each other, as many as all before them: how often another label was more probable."""

    begin: int
    end: int
    wrong: Interval


class Drift(Answer):
    """How predictions fared over time, and while the filter learned."""

    labels: list[str] = Field(examples=[["ham", "spam"]])
    n: int
    windows: list[Window]
    learning: list[Stretch]


def track_record_routes(_daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who wants to know how far the filter can be trusted."""
    router = APIRouter(tags=["health"], dependencies=[needs("check")])

    @router.get("/calibration", responses=schemas.answered(Calibrations) | documented(503))
    async def calibration() -> Response:
        """Tell whether probabilities mean what they say, on your own mail."""
        return json_response(await filters.look(lambda filter_: _calibration(filters.kept.track_record(filter_))))

    @router.get("/drift", responses=schemas.answered(Drift) | documented(503))
    async def drift() -> Response:
        """Tell how predictions fared over time, and with more and more lessons."""
        return json_response(await filters.look(lambda filter_: _drift(filters.kept.track_record(filter_))))

    return router


def _calibration(found: "TrackRecord") -> bytes:
    figures = {"log_loss": found.loss and found.loss.as_dict(), "brier": found.brier and found.brier.as_dict()}
    return json_bytes({"n": found.n, **figures, "labels": [each.as_dict() for each in found.calibrations]})


def _drift(found: "TrackRecord") -> bytes:
    windows, learning = [_window(each) for each in found.periods], [each.as_dict() for each in found.stretches]
    return json_bytes({"labels": found.labels, "n": found.n, "windows": windows, "learning": learning})


def _window(period: "Period") -> dict[str, Any]:
    times = {"since": period.since, "until": period.until}
    return period.as_dict() | {name: None if at is None else greenwich(at) for name, at in times.items()}
