"""The application that answers over HTTP."""

from typing import Annotated

from fastapi import FastAPI, Header, Response
from pydantic import BaseModel

from priory import __version__
from priory.server.http.metrics import exposition
from priory.server.http.state import Daemon


class Health(BaseModel):
    """How the daemon is."""

    healthy: bool
    workers: int  #: there should be
    workers_ready: int
    version: str
    reason: str = ""  #: why not


def application(daemon: Daemon) -> FastAPI:
    """Return the application for a daemon; its pages of documentation would load scripts from elsewhere."""
    app = FastAPI(title="Priory", version=__version__, docs_url=None, redoc_url=None)

    @app.get("/healthz", responses={503: {"model": Health}})
    def healthz(response: Response) -> Health:
        """Tell whether mail is being checked: 200 if it is, 503 with the reason if not."""
        reason = daemon.trouble()
        response.status_code = 503 if reason else 200
        return Health(
            healthy=not reason,
            workers=daemon.serving.workers,
            workers_ready=daemon.workers_ready,
            version=__version__,
            reason=reason,
        )

    @app.get("/metrics", response_class=Response)
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Show what was counted, for Prometheus."""
        content, content_type = exposition(daemon, accept)
        return Response(content, headers={"Content-Type": content_type})

    return app
