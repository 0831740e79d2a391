"""The routes about what mistakes cost: told, tried out, and set for all.

To set costs is to write them into the configuration and to have the master read it again. That replaces this process,
too: the answer comes when the next one has taken over, from this one, which still answers whom it has heard.
"""

import asyncio
import os
import signal
import time
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Response

from priory.decision import Costs, thresholds
from priory.server.connection import DRAIN_S
from priory.server.counted import COSTS, number_of
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.json_body import ERRORS, json_body, takes_json
from priory.server.http.preview import Preview, previewed
from priory.server.http.problems import documented
from priory.server.http.proposal import Proposal, costs_of, proposal_model
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.tokens import Token

_PATIENCE_S: Final = 60.0
_RETIRED_S: Final = DRAIN_S / 2
_SOON: Final = {"Retry-After": "1"}
_LOOK_S: Final = 0.02


def costs_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to look at costs, to try them out, and to set them."""
    router = APIRouter(prefix="/costs", tags=["costs"])
    model = proposal_model(daemon.options.labels)
    now = daemon.options.costs
    one_at_a_time = asyncio.Lock()

    @router.get("", responses=schemas.answered(schemas.Costs) | documented(), dependencies=[needs("check")])
    async def costs() -> Response:
        """Tell what each mistake costs, and from which probability on what is said."""
        return _told(now)

    @router.put(
        "",
        responses=schemas.answered(schemas.Costs) | documented(*ERRORS, 409, 503),
        openapi_extra=takes_json(model, {"costs": now.as_configured()}),
    )
    async def set_costs(
        token: Annotated[Token, needs("admin")], proposal: Annotated[Proposal, json_body(model, daemon.serving)]
    ) -> Response:
        """Set what each mistake costs, in the configuration file and for all; the answer comes when it is in force.

        The daemon reads its whole configuration again, as on SIGHUP; nobody is refused meanwhile.
        """
        wanted = costs_of(proposal, now)
        async with one_at_a_time:
            if daemon.retired.is_set():
                raise HTTPException(503, "Other costs were set just now: look at them, then try again.", _SOON)
            log("costs", token=token.id)
            if why_not := await asyncio.to_thread(daemon.set_costs, wanted):
                raise HTTPException(409, f"The costs are as before: {why_not}")
            await _in_force(daemon, wanted)
        return _told(wanted)

    @router.post(
        "/preview",
        responses=schemas.answered(Preview) | documented(*ERRORS, 503),
        openapi_extra=takes_json(model, {"costs": now.as_configured()}),
        dependencies=[needs("check")],
    )
    async def preview(
        proposal: Annotated[Proposal, json_body(model, daemon.serving)],
        most: Annotated[int, Query(ge=0, le=1000, description="Lessons that would change, of a page.")] = 50,
        after: Annotated[
            int | None, Query(ge=0, lt=1 << 63, description="`after` of the page before, of these costs.")
        ] = None,
    ) -> Response:
        """Tell what costs would do on your own lessons, and change nothing."""
        wanted = costs_of(proposal, now)
        return json_response(
            await filters.look(lambda filter_: json_bytes(previewed(filter_, filters.kept, wanted, most, after)))
        )

    return router


def _told(costs: Costs) -> Response:
    said = {"labels": costs.labels, "costs": costs.as_configured(), "thresholds": thresholds(costs)}
    return json_response(json_bytes(said))


async def _in_force(daemon: Daemon, costs: Costs) -> None:
    """Have the daemon read its configuration again, unless it has these costs; return when nobody has others."""
    board, wanted = daemon.board, number_of(costs)
    is_ours = wanted == number_of(daemon.options.costs)
    n_failed = board.total(("reloads", "failed"))
    if board.total(COSTS) != wanted:
        if os.getppid() != daemon.master:
            raise HTTPException(503, "The costs are written, but the daemon is stopping: they hold when it is started.")
        os.kill(daemon.master, signal.SIGHUP)
    end = time.monotonic() + _PATIENCE_S
    while not (board.total(COSTS) == wanted and (is_ours or daemon.retired.is_set())):
        if board.total(("reloads", "failed")) != n_failed:
            raise HTTPException(
                503,
                "The costs are written, but the daemon could not go on with its configuration and serves as before: "
                "its log says why. They hold once it could reload.",
            )
        if daemon.retired.is_set():  # by another reload: there is not much time to answer
            end = min(end, time.monotonic() + _RETIRED_S)
        if time.monotonic() > end:
            raise HTTPException(503, "The costs are written, but not in force yet: look at them again.", _SOON)
        await asyncio.sleep(_LOOK_S)
