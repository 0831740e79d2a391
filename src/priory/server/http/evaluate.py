"""The routes that compare models on what the filter was taught: start, follow, read the report, stop, remove."""

import gzip
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, HTTPException, Path, Response
from fastapi.responses import StreamingResponse

from priory.server.evaluation.run import Run
from priory.server.evaluation.runs import BusyError, Runs
from priory.server.evaluation.words import why_not
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.evaluations import EXAMPLE, Comparison, Evaluation, Evaluations, as_dict
from priory.server.http.following import EVENT, EVENTS, Following
from priory.server.http.json import json_bytes, json_response
from priory.server.http.json_body import json_body, takes_json
from priory.server.http.problems import documented
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.tokens import Token

_Id = Annotated[str, Path(description="Of the comparison.", pattern="^[0-9a-f]{16}$", examples=["1f0c5ad3b2e94876"])]
_NONE: Final = "There is no such comparison; it may have been removed. GET /v1/evaluate lists all."
_SECURE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "unsafe-none",  # browsers show no page that says more and is fenced in
}


def evaluate_routes(daemon: Daemon, runs: Runs) -> APIRouter:
    """Return the routes for who compares."""
    router = APIRouter(prefix="/evaluate", tags=["evaluate"])
    looks, may = [needs("check")], needs("admin")
    following = Following(runs, daemon.retired, as_dict)

    def found(id_: str) -> Run:
        run = runs.find(id_)
        if run is None:
            raise HTTPException(404, _NONE)
        return run

    def answer(run: Run, status: int = 200, headers: dict[str, str] | None = None) -> Response:
        said = json_response(json_bytes(as_dict(run)))
        said.status_code = status
        said.headers.update(headers or {})
        return said

    @router.post(
        "",
        status_code=202,
        responses=documented(400, 408, 409, 413, 415, 422, 503)
        | {202: {"model": Evaluation, "description": "It has begun; `Location` is where it is."}},
        openapi_extra=takes_json(Comparison, EXAMPLE),
    )
    async def start(
        token: Annotated[Token, may], comparison: Annotated[Comparison, json_body(Comparison, daemon.serving)]
    ) -> Response:
        """Compare models on what the filter was taught, as `priory lab compare` does: in a process of its own."""
        try:
            run = runs.start(comparison.asked(), daemon.options)
        except BusyError as busy:
            place = {"Location": f"/v1/evaluate/{busy}"} if str(busy) else None
            raise HTTPException(409, "A comparison is under way; wait for its end, or stop it.", place) from None
        log("evaluation", token=token.id, run=run.id, outcome="started")
        return answer(run, 202, {"Location": f"/v1/evaluate/{run.id}"})

    @router.get("", dependencies=looks, responses=schemas.answered(Evaluations) | documented())
    async def listed() -> Response:
        """List all comparisons that are kept, the latest first."""
        return json_response(json_bytes({"evaluations": [as_dict(run) for run in runs.all()]}))

    @router.get("/{id}", dependencies=looks, responses=schemas.answered(Evaluation) | documented(404, 422))
    async def one(id: _Id) -> Response:  # noqa: A002 - as it is called in the answer
        """Tell how far a comparison is, or what came of it."""
        return answer(found(id))

    @router.delete(
        "/{id}",
        status_code=204,
        responses=documented(404, 422)
        | {202: {"model": Evaluation, "description": "It is under way, and will stop soon."}},
    )
    async def stop(token: Annotated[Token, may], id: _Id) -> Response:  # noqa: A002
        """Stop a comparison that is under way; remove one that is over, with its report."""
        if found(id).is_over:
            runs.remove(id)
            log("evaluation", token=token.id, run=id, outcome="removed")
            return Response(status_code=204)
        runs.stop(id)
        log("evaluation", token=token.id, run=id, outcome="stopped")
        return answer(found(id), 202)

    @router.get(
        "/{id}/events",
        dependencies=looks,
        responses=documented(404, 422, 503)
        | _content(EVENTS, EVENT, "Server-sent events; `data` is what `GET /v1/evaluate/{id}` answers.")
        | {204: {"description": "There is nothing to come after `Last-Event-ID`."}},
        response_class=StreamingResponse,
    )
    async def events(
        id: _Id,  # noqa: A002
        last_event_id: Annotated[str, Header(max_length=100, description="The last event that came.")] = "",
    ) -> Response:
        """Follow a comparison: an event for each change, `progress` or at last `end`, with what `GET` would answer."""
        return following.response(found(id), last_event_id)

    @router.get(
        "/{id}/report.json",
        dependencies=looks,
        responses=documented(404, 409, 422) | _content("application/json", {"type": "object"}, "The report."),
    )
    def report(id: _Id) -> Response:  # noqa: A002
        """Return the report, as `priory lab compare --json` prints it."""
        _require_report(found(id))
        return json_response(runs.files(id).report.read_bytes())

    @router.get(
        "/{id}/report",
        dependencies=looks,
        responses=documented(404, 409, 422) | _content("text/html", {"type": "string"}, "The report."),
        response_class=Response,
    )
    def page(id: _Id) -> Response:  # noqa: A002
        """Return the report as a page that holds all it needs, and may do nothing but draw itself."""
        policy = _require_report(found(id))
        if not policy:
            lacking = (
                "The report as a page needs plotly, which was not there: pip install 'priory[report]', and compare "
            )
            raise HTTPException(409, f"{lacking}again. /v1/evaluate/{id}/report.json has the figures.")
        content = gzip.decompress(runs.files(id).page.read_bytes())
        fence = f"{policy}; sandbox allow-scripts; frame-ancestors 'none'"
        return Response(content, headers={**_SECURE, "Content-Security-Policy": fence}, media_type="text/html")

    return router


def _require_report(run: Run) -> str:
    """Return the policy of the report's page; if there is no report, say why."""
    if not run.is_over:
        raise HTTPException(409, "The comparison is under way; there is a report when it is done.")
    if run.state != "finished" or run.outcome is None:
        raise HTTPException(409, f"There is no report. {why_not(run)}")
    return run.outcome.policy


def _content(media_type: str, form: dict[str, Any], said: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {"schema": form}}, "description": said}}
