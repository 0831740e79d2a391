"""The application that answers over HTTP."""

import re
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from priory import __version__
from priory.server.http.about import about_routes
from priory.server.http.access import Guard
from priory.server.http.ask import ask_routes
from priory.server.http.filters import Filters
from priory.server.http.health import health_routes
from priory.server.http.limits import Lingering, Rates
from priory.server.http.problems import problem, tell_problems
from priory.server.http.state import Daemon
from priory.server.http.teach import teach_routes
from priory.server.http.uploads import Uploads
from priory.server.options import is_this_machine
from priory.server.tokens import Tokens

_NOT_US: Final = (
    "This is asked for by no name but localhost, 127.0.0.1 or [::1]; a proxy must set the field Host to one."
)


def application(daemon: Daemon, filters: Filters) -> FastAPI:
    """Return the application for a daemon; its pages of documentation would load scripts from elsewhere."""
    app = FastAPI(title="Priory", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    tell_problems(app)
    app.add_middleware(Guard, tokens=Tokens(daemon.home), rates=Rates(daemon.serving.rate))
    app.add_middleware(_ByOurName)
    app.add_middleware(Lingering, most_bytes=daemon.serving.max_bytes)
    app.include_router(health_routes(daemon))
    uploads = Uploads(daemon.serving)
    for routes in (ask_routes(daemon, filters, uploads), teach_routes(daemon, filters, uploads)):
        app.include_router(routes, prefix="/v1")
    app.include_router(about_routes(daemon, filters), prefix="/v1")
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
        answer = self._app if is_by_path or is_this_machine(name.strip("[]")) else problem(421, _NOT_US)
        await answer(scope, receive, send)
