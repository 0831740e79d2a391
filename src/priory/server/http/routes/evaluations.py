"""The routes that compare models on the filter's lessons: start, follow, read the report, stop, remove."""

import gzip
import os
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, HTTPException, Path, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from priory.lab.models import JOURNAL_SPLITS, MODELS
from priory.processes.log import log
from priory.server.evaluation.run import EvaluationRun, EvaluationSettings, failure_reason, headline, progress_text
from priory.server.evaluation.runs import BusyError, EvaluationRuns
from priory.server.http.answers import closed
from priory.server.http.auth import needs
from priory.server.http.body import document_json, json_body
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.http.streaming import EVENT, EVENTS, RunEvents
from priory.server.tokens import Token

EXAMPLE: Final = {"models": ["filter", "bernoulli", "logistic"], "by": "time"}
_Id = Annotated[
    str, Path(description="The id of the comparison.", pattern="^[0-9a-f]{16}$", examples=["1f0c5ad3b2e94876"])
]
_NOT_FOUND: Final = "There is no such comparison; it may have been removed. GET /v1/evaluate lists all."
_REPORT_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "unsafe-none",  # browsers do not show a sandboxed page that sets a stricter policy
}


class ComparisonBody(BaseModel):
    """The models to compare, and how."""

    model_config = ConfigDict(extra="forbid")

    models: list[Literal[*MODELS]] = Field(  # type: ignore[valid-type]
        default=[*MODELS], min_length=1, max_length=len(MODELS), json_schema_extra={"uniqueItems": True}
    )
    by: Literal[*JOURNAL_SPLITS] = Field("stratified", description="How to split the mail.")  # type: ignore[valid-type]
    folds: int = Field(5, ge=2, le=20, description="The number of parts.")
    seed: int = Field(0, ge=0, le=2**32 - 1, description="Another seed shuffles differently.")
    nested: bool = Field(False, description="Also judge the choice of a model, by choosing again within each fold.")
    curve: bool = Field(False, description="Also show how the best model's error falls with more mail.")
    jobs: int = Field(1, ge=1, le=64, description="The number of processes; at most the number of cores.")

    def settings(self) -> EvaluationSettings:
        """Return the request for the process that compares."""
        jobs = min(self.jobs, len(os.sched_getaffinity(0)))
        models = tuple(dict.fromkeys(self.models))
        return EvaluationSettings(models, self.by, self.folds, self.seed, self.nested, self.curve, jobs)


@closed
class ComparisonAnswer(TypedDict):
    """The models that are compared, and how."""

    models: Annotated[list[str], Field(examples=[["filter", "bernoulli", "logistic"]])]
    by: Annotated[str, Field(examples=["time"])]
    folds: Annotated[int, Field(examples=[5])]
    seed: Annotated[int, Field(examples=[0])]
    nested: bool
    curve: bool
    jobs: Annotated[int, Field(examples=[1])]


@closed
class EvaluationAnswer(TypedDict):
    """A comparison: the request, its progress, and its result."""

    id: Annotated[str, Field(examples=["1f0c5ad3b2e94876"])]
    state: Literal["running", "stopping", "finished", "failed", "stopped", "killed"]
    created: Annotated[float, Field(description="Seconds since 1970.", examples=[1767225600.0])]
    ended: Annotated[float | None, Field(examples=[None])]
    asked: ComparisonAnswer
    stage: Annotated[str, Field(description="The current stage.", examples=["judging"])]
    done: Annotated[int, Field(description="Steps of the stage that are done.", examples=[7])]
    total: Annotated[int, Field(description="Steps of the stage; 0 if unknown.", examples=[15])]
    remaining: Annotated[
        float | None, Field(description="Estimated seconds until the end of the stage.", examples=[12.5])
    ]
    words: Annotated[
        str,
        Field(
            description="The progress, or the result, in words.",
            examples=["Judging: 7 of 15 rounds, about 10 seconds left"],
        ),
    ]
    messages: Annotated[int | None, Field(description="The number of messages compared on.", examples=[2000])]
    winner: Annotated[str | None, Field(description="The model with the fewest errors.", examples=[None])]
    error_rate: Annotated[float | None, Field(description="The winner's error rate.", examples=[None])]
    lines: Annotated[list[str], Field(description="How far to trust the result, in sentences.", examples=[[]])]
    why: Annotated[str, Field(description="Why there is no report, or empty.", examples=[""])]
    report: Annotated[str | None, Field(description="The path of the report as JSON.", examples=[None])]
    page: Annotated[str | None, Field(description="The path of the report as a page.", examples=[None])]


@closed
class EvaluationsAnswer(TypedDict):
    """All comparisons, the latest first."""

    evaluations: list[EvaluationAnswer]


def evaluation_routes(daemon: Daemon, runs: EvaluationRuns) -> APIRouter:
    """Return the routes to compare models."""
    router = APIRouter(prefix="/evaluate", tags=["evaluate"])
    may_read, admin = [needs("check")], needs("admin")
    events_of = RunEvents(runs, daemon.retired, run_answer)

    def find(id_: str) -> EvaluationRun:
        run = runs.find(id_)
        if run is None:
            raise HTTPException(404, _NOT_FOUND)
        return run

    def response(run: EvaluationRun, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        return json_response(json_bytes(run_answer(run)), status, headers)

    @router.post(
        "",
        status_code=202,
        responses=document_problems(400, 408, 409, 413, 415, 422, 503)
        | {202: {"model": EvaluationAnswer, "description": "It has started; `Location` is its address."}},
        openapi_extra=document_json(ComparisonBody, EXAMPLE),
    )
    async def start(
        token: Annotated[Token, admin], body: Annotated[ComparisonBody, json_body(ComparisonBody, daemon.serving)]
    ) -> Response:
        """Compare models on the filter's lessons in a process of its own, as `priory lab compare` does."""
        try:
            run = runs.start(body.settings(), daemon.options)
        except BusyError as busy:
            location = {"Location": f"/v1/evaluate/{busy}"} if str(busy) else None
            raise HTTPException(409, "Another comparison is running; wait for its end, or stop it.", location) from None
        log("evaluation", token=token.id, run=run.id, outcome="started")
        return response(run, 202, {"Location": f"/v1/evaluate/{run.id}"})

    @router.get("", dependencies=may_read, responses=document_answer(EvaluationsAnswer) | document_problems())
    async def all_runs() -> Response:
        """List all stored comparisons, the latest first."""
        return json_response(json_bytes(EvaluationsAnswer(evaluations=[run_answer(run) for run in runs.all()])))

    @router.get(
        "/{id}", dependencies=may_read, responses=document_answer(EvaluationAnswer) | document_problems(404, 422)
    )
    async def one(id: _Id) -> Response:  # noqa: A002 - the name in the answer
        """Return the progress of a comparison, or its result."""
        return response(find(id))

    @router.delete(
        "/{id}",
        status_code=204,
        responses=document_problems(404, 422)
        | {202: {"model": EvaluationAnswer, "description": "It is running, and will stop soon."}},
    )
    async def stop(token: Annotated[Token, admin], id: _Id) -> Response:  # noqa: A002
        """Stop a running comparison; remove one that has ended, with its report."""
        if find(id).is_over:
            runs.remove(id)
            log("evaluation", token=token.id, run=id, outcome="removed")
            return Response(status_code=204)
        runs.stop(id)
        log("evaluation", token=token.id, run=id, outcome="stopped")
        return response(find(id), 202)

    @router.get(
        "/{id}/events",
        dependencies=may_read,
        responses=document_problems(404, 422, 503)
        | _content(EVENTS, EVENT, "Server-sent events; `data` is the answer of `GET /v1/evaluate/{id}`.")
        | {204: {"description": "There will be no event after `Last-Event-ID`."}},
        response_class=StreamingResponse,
    )
    async def events(
        id: _Id,  # noqa: A002
        last_event_id: Annotated[str, Header(max_length=100, description="The id of the last event received.")] = "",
    ) -> Response:
        """Follow a comparison: an event for each change, `progress` or finally `end`, with the answer of `GET`."""
        return events_of.response(find(id), last_event_id)

    @router.get(
        "/{id}/report.json",
        dependencies=may_read,
        responses=document_problems(404, 409, 422) | _content("application/json", {"type": "object"}, "The report."),
    )
    def report(id: _Id) -> Response:  # noqa: A002
        """Return the report, as `priory lab compare --json` prints it."""
        _require_report(find(id))
        return json_response(runs.files(id).report.read_bytes())

    @router.get(
        "/{id}/report",
        dependencies=may_read,
        responses=document_problems(404, 409, 422) | _content("text/html", {"type": "string"}, "The report."),
        response_class=Response,
    )
    def page(id: _Id) -> Response:  # noqa: A002
        """Return the report as a self-contained page, sandboxed so that it can only draw itself."""
        policy = _require_report(find(id))
        if not policy:
            raise HTTPException(
                409,
                "The report as a page needs plotly, which was not installed: pip install '.[report]' in Priory's "
                f"source folder, and compare again. /v1/evaluate/{id}/report.json has the figures.",
            )
        content = gzip.decompress(runs.files(id).page.read_bytes())
        sandbox = f"{policy}; sandbox allow-scripts; frame-ancestors 'none'"
        headers = {**_REPORT_HEADERS, "Content-Security-Policy": sandbox}
        return Response(content, headers=headers, media_type="text/html")

    return router


def run_answer(run: EvaluationRun) -> EvaluationAnswer:
    """Return a comparison as it is answered."""
    settings, progress, outcome = run.settings, run.progress, run.outcome
    is_finished = run.state == "finished"
    report = f"/v1/evaluate/{run.id}/report"
    return {
        "id": run.id,
        "state": run.state,
        "created": run.created,
        "ended": run.ended,
        "asked": {
            "models": list(settings.models),
            "by": settings.by,
            "folds": settings.folds,
            "seed": settings.seed,
            "nested": settings.nested,
            "curve": settings.curve,
            "jobs": settings.jobs,
        },
        "stage": progress.stage,
        "done": progress.done,
        "total": progress.total,
        "remaining": progress.remaining,
        "words": headline(run) if run.is_over else progress_text(progress),
        "messages": outcome.messages if outcome else progress.messages,
        "winner": outcome.winner if outcome and is_finished else None,
        "error_rate": outcome.error_rate if outcome else None,
        "lines": list(outcome.lines) if outcome else [],
        "why": failure_reason(run),
        "report": f"{report}.json" if is_finished else None,
        "page": report if outcome and outcome.policy else None,
    }


def _require_report(run: EvaluationRun) -> str:
    """Return the content security policy of a report's page; raise 409 if there is no report."""
    if not run.is_over:
        raise HTTPException(409, "The comparison is running; its report is written at the end.")
    if run.state != "finished" or run.outcome is None:
        raise HTTPException(409, f"There is no report. {failure_reason(run)}")
    return run.outcome.policy


def _content(media_type: str, schema: dict[str, Any], description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": schema}}, "description": description}}
