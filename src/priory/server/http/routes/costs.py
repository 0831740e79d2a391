"""The routes about costs: read them, preview others on your own lessons, and set them.

Setting costs writes them into the configuration and makes the master reload it. A reload replaces this process, too.
The answer is sent by this process, which finishes its requests, once the next process has taken over.
"""

import asyncio
import os
import signal
import time
from typing import Annotated, Any, Final, TypeAlias

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import TypedDict

from priory.decision import LARGEST, UNSURE, Costs, thresholds
from priory.processes.log import log
from priory.server.http.answers import closed
from priory.server.http.auth import needs
from priory.server.http.body import JSON_ERRORS, document_json, json_body
from priory.server.http.filters import Filters
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.routes.preview import PreviewAnswer, preview_costs
from priory.server.http.state import Daemon
from priory.server.metrics.names import COSTS, costs_fingerprint
from priory.server.options import DRAIN_S
from priory.server.tokens import Token

_TIMEOUT_S: Final = 60.0
_RETIRED_TIMEOUT_S: Final = DRAIN_S / 2
_RETRY: Final = {"Retry-After": "1"}
_POLL_S: Final = 0.02
CostsBody: TypeAlias = BaseModel  #: a model that `costs_body` makes
_Price = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]


@closed
class CostsAnswer(TypedDict):
    """The cost of each mistake, and the thresholds that follow from the costs."""

    labels: Annotated[list[str], Field(examples=[["ham", "spam"]])]
    costs: Annotated[
        dict[str, dict[str, float] | float],
        Field(
            description="For each verdict, what it costs if another label is true.",
            examples=[{"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 4}],
        ),
    ]
    thresholds: Annotated[
        dict[str, float],
        Field(
            description="The probability from which each verdict is given.",
            examples=[{"unsure": 0.4, "spam": 0.96}],
        ),
    ]


class _ClosedBody(BaseModel):
    """A body with exactly the declared fields and types."""

    model_config = ConfigDict(extra="forbid", strict=True)


def costs_body(labels: tuple[str, ...]) -> type[CostsBody]:
    """Return the model of a body with costs of these labels; it must name all of them.

    >>> body = '{"costs": {"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 2.5}}'
    >>> read_costs(costs_body(("ham", "spam")).model_validate_json(body), Costs()).unsure
    2.5
    """
    rows: dict[str, Any] = {
        f"said_{i}": (_row([label for label in labels if label != verdict]), Field(alias=verdict))
        for i, verdict in enumerate(labels)
    }
    prices = create_model("Prices", __base__=_ClosedBody, **rows, said_unsure=(_Price, Field(alias=UNSURE)))
    return create_model(
        "CostsBody",
        __base__=_ClosedBody,
        costs=(prices, Field(description="For each verdict, what it costs if another label is true.")),
    )


def _row(labels: list[str]) -> type[BaseModel]:
    fields: dict[str, Any] = {f"true_{i}": (_Price, Field(alias=true)) for i, true in enumerate(labels)}
    return create_model("Row", __base__=_ClosedBody, **fields)


def read_costs(body: CostsBody, current: Costs) -> Costs:
    """Return the costs in a body."""
    prices = body.model_dump(by_alias=True)["costs"]
    return current.with_prices(lambda verdict, true, _: prices[verdict][true], prices[UNSURE])


def costs_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to read, preview and set costs."""
    router = APIRouter(prefix="/costs", tags=["costs"])
    model = costs_body(daemon.options.labels)
    current = daemon.options.costs
    lock = asyncio.Lock()  # one change at a time

    @router.get("", responses=document_answer(CostsAnswer) | document_problems(), dependencies=[needs("check")])
    async def costs() -> Response:
        """Return the cost of each mistake, and the thresholds."""
        return _response(current)

    @router.put(
        "",
        responses=document_answer(CostsAnswer) | document_problems(*JSON_ERRORS, 409, 503),
        openapi_extra=document_json(model, {"costs": current.as_configured()}),
    )
    async def set_costs(
        token: Annotated[Token, needs("admin")], body: Annotated[CostsBody, json_body(model, daemon.serving)]
    ) -> Response:
        """Set the cost of each mistake in the configuration file; the answer is sent when they are in force.

        The daemon reloads its whole configuration, as on SIGHUP, without refusing a connection.
        """
        wanted = read_costs(body, current)
        async with lock:
            if daemon.retired.is_set():
                raise HTTPException(503, "The costs have just been changed: read them, then try again.", _RETRY)
            log("costs", token=token.id)
            if why_not := await asyncio.to_thread(daemon.set_costs, wanted):
                raise HTTPException(409, f"The costs are unchanged: {why_not}")
            await _reload(daemon, wanted)
        return _response(wanted)

    @router.post(
        "/preview",
        responses=document_answer(PreviewAnswer) | document_problems(*JSON_ERRORS, 503),
        openapi_extra=document_json(model, {"costs": current.as_configured()}),
        dependencies=[needs("check")],
    )
    async def preview(
        body: Annotated[CostsBody, json_body(model, daemon.serving)],
        most: Annotated[int, Query(ge=0, le=1000, description="The number of changed lessons in one answer.")] = 50,
        after: Annotated[
            int | None, Query(ge=0, lt=1 << 63, description="`after` of the previous page, for the same costs.")
        ] = None,
    ) -> Response:
        """Return the effect that costs would have on your own lessons, and change nothing."""
        wanted = read_costs(body, current)
        return json_response(
            await filters.search(
                lambda filter_: json_bytes(preview_costs(filter_, filters.analyses, wanted, most, after))
            )
        )

    return router


def _response(costs: Costs) -> Response:
    answer = CostsAnswer(labels=list(costs.labels), costs=costs.as_configured(), thresholds=dict(thresholds(costs)))
    return json_response(json_bytes(answer))


async def _reload(daemon: Daemon, costs: Costs) -> None:
    """Make the daemon reload its configuration unless it has these costs; return when all its processes have them."""
    board, wanted = daemon.board, costs_fingerprint(costs)
    is_ours = wanted == costs_fingerprint(daemon.options.costs)
    n_failed = board.total(("reloads", "failed"))
    if board.total(COSTS) != wanted:
        if os.getppid() != daemon.master:  # the master has ended, and its number may belong to another process
            raise HTTPException(
                503, "The costs are written, but the daemon is stopping: they hold after its next start."
            )
        os.kill(daemon.master, signal.SIGHUP)
    end = time.monotonic() + _TIMEOUT_S
    while not (board.total(COSTS) == wanted and (is_ours or daemon.retired.is_set())):
        if board.total(("reloads", "failed")) != n_failed:
            raise HTTPException(
                503,
                "The costs are written, but the daemon could not reload its configuration and runs with the old one; "
                "its log says why. They hold after the next successful reload.",
            )
        if daemon.retired.is_set():  # by another reload: this process ends soon
            end = min(end, time.monotonic() + _RETIRED_TIMEOUT_S)
        if time.monotonic() > end:
            raise HTTPException(503, "The costs are written, but not in force yet: read them again later.", _RETRY)
        await asyncio.sleep(_POLL_S)
