"""The application that answers over HTTP."""

import re
from typing import Annotated, Final

from fastapi import FastAPI, Header, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from priory import __version__
from priory.server.http.metrics import exposition
from priory.server.http.state import Daemon
from priory.server.options import is_this_machine

_NOT_US: Final = (
    "This is asked for by no name but localhost, 127.0.0.1 or [::1]; a proxy must set the field Host to one.\n"
)


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
    app.add_middleware(_ByOurName)

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


class _ByOurName:
    """Refuses who asks for another machine: a web page whose name was made to mean this one would have a browser do so.

    A browser always says for whom it asks, and reaches no socket in a folder.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        is_by_path = scope["server"] is None or scope["server"][1] is None  # as older and newer uvicorns say it
        name = re.sub(r":\d*$", "", Headers(scope=scope).get("host", "localhost"))
        answer = self._app if is_by_path or is_this_machine(name.strip("[]")) else PlainTextResponse(_NOT_US, 421)
        await answer(scope, receive, send)
