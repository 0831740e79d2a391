"""The application that answers over HTTP."""

from fastapi import FastAPI

from priory import __version__
from priory.server.evaluation.runs import Runs
from priory.server.http.about import about_routes
from priory.server.http.access import Guard
from priory.server.http.ask import ask_routes
from priory.server.http.costs import costs_routes
from priory.server.http.evaluate import evaluate_routes
from priory.server.http.filters import Filters
from priory.server.http.hardened import Hardened
from priory.server.http.health import health_routes
from priory.server.http.history import history_routes
from priory.server.http.limits import Lingering, Rates
from priory.server.http.messages import messages_routes
from priory.server.http.names import ByOurName
from priory.server.http.problems import tell_problems
from priory.server.http.refusals import Refusals
from priory.server.http.state import Daemon
from priory.server.http.suspects import suspects_routes
from priory.server.http.teach import teach_routes
from priory.server.http.track_record import track_record_routes
from priory.server.page.assets import asset_routes
from priory.server.page.check import check_page
from priory.server.page.costs import costs_page
from priory.server.page.health import health_page
from priory.server.page.journal import journal_page
from priory.server.page.lab import lab_page
from priory.server.page.login import login_routes
from priory.server.tokens import Tokens


def application(daemon: Daemon, filters: Filters) -> FastAPI:
    """Return the application for a daemon; its pages of documentation would load scripts from elsewhere."""
    app = FastAPI(title="Priory", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    tell_problems(app)
    serving = daemon.serving
    app.add_middleware(Guard, tokens=Tokens(daemon.home), rates=Rates(serving.rate), url=serving.url)
    app.add_middleware(ByOurName, url=serving.url)
    app.add_middleware(Hardened)
    app.add_middleware(Lingering, most_bytes=serving.max_bytes)
    app.add_middleware(Refusals, tally=daemon.tally)
    app.include_router(health_routes(daemon))
    for routes in (
        ask_routes,
        teach_routes,
        about_routes,
        messages_routes,
        suspects_routes,
        history_routes,
        track_record_routes,
        costs_routes,
    ):
        app.include_router(routes(daemon, filters), prefix="/v1")
    app.include_router(evaluate_routes(daemon, Runs(daemon.home, daemon.alive)), prefix="/v1")
    app.include_router(asset_routes())
    app.include_router(login_routes(daemon))
    for page in (check_page, journal_page, costs_page, health_page, lab_page):
        app.include_router(page(daemon, filters))
    return app
