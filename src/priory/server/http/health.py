"""The routes that tell how the daemon is: /healthz and /metrics."""

from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel

from priory import __version__
from priory.server.http.access import HEALTH, needs
from priory.server.http.metrics import exposition
from priory.server.http.problems import documented
from priory.server.http.state import Daemon


class Health(BaseModel):
    """How the daemon is."""

    healthy: bool
    workers: int  #: there should be
    workers_ready: int
    version: str
    reason: str = ""  #: why not


def health_routes(daemon: Daemon) -> APIRouter:
    """Return the routes for who looks after a daemon."""
    router = APIRouter(tags=["health"])

    @router.get(HEALTH, responses={503: {"model": Health, "description": "It is not; the reason says why."}})
    def healthz(response: Response) -> Health:
        """Tell whether mail is being checked: 200 if it is, 503 with the reason if not. Needs no token."""
        reason = daemon.trouble()
        response.status_code = 503 if reason else 200
        return Health(
            healthy=not reason,
            workers=daemon.serving.workers,
            workers_ready=daemon.workers_ready,
            version=__version__,
            reason=reason,
        )

    @router.get(
        "/metrics",
        dependencies=[needs("check")],
        responses=documented() | {200: {"content": {"text/plain": {}, "application/openmetrics-text": {}}}},
        response_class=Response,
    )
    def metrics(accept: Annotated[str, Header(include_in_schema=False)] = "") -> Response:
        """Show what was counted, for Prometheus."""
        content, content_type = exposition(daemon, accept)
        return Response(content, headers={"Content-Type": content_type})

    return router
