"""The application: middleware, routes and error handling put together."""

from fastapi import FastAPI

from priory import __version__
from priory.server.evaluation.runs import EvaluationRuns
from priory.server.http.auth import Guard, RateLimit
from priory.server.http.filters import Filters
from priory.server.http.middleware import BodyDrain, HostCheck, RefusalCounter, SecurityHeaders
from priory.server.http.responses import handle_errors
from priory.server.http.routes.ask import ask_routes
from priory.server.http.routes.check import check_routes, model_routes
from priory.server.http.routes.costs import costs_routes
from priory.server.http.routes.evaluations import evaluation_routes
from priory.server.http.routes.health import health_routes, history_routes, track_record_routes
from priory.server.http.routes.journal import journal_routes, suspect_routes
from priory.server.http.routes.learn import learn_routes
from priory.server.http.routes.login import asset_routes, login_routes
from priory.server.http.routes.pages import page_routes
from priory.server.http.routes.rules import rule_routes
from priory.server.http.state import Daemon
from priory.server.tokens import Tokens


def application(daemon: Daemon, filters: Filters) -> FastAPI:
    """Return the application of a daemon."""
    # The documentation pages of FastAPI are off: they would load scripts from other hosts.
    app = FastAPI(title="Priory", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    handle_errors(app)
    serving = daemon.serving
    # The middleware added last is the outermost: refusals of all others are counted.
    app.add_middleware(Guard, tokens=Tokens(daemon.home), limit=RateLimit(serving.rate), url=serving.url)
    app.add_middleware(HostCheck, url=serving.url)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(BodyDrain, most_bytes=serving.max_bytes)
    app.add_middleware(RefusalCounter, tally=daemon.tally)
    app.include_router(health_routes(daemon, filters))
    for routes in (
        check_routes,
        learn_routes,
        ask_routes,
        model_routes,
        journal_routes,
        suspect_routes,
        rule_routes,
        history_routes,
        track_record_routes,
        costs_routes,
    ):
        app.include_router(routes(daemon, filters), prefix="/v1")
    app.include_router(evaluation_routes(daemon, EvaluationRuns(daemon.home, daemon.alive)), prefix="/v1")
    app.include_router(asset_routes())
    app.include_router(login_routes(daemon))
    app.include_router(page_routes(daemon, filters))
    return app
