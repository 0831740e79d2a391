"""The routes for labels that look wrong: to see them, to confirm them, and to turn them round."""

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator

from priory.filter import Filter
from priory.server.http import journal_schemas, schemas
from priory.server.http.access import needs
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.messages import MOST
from priory.server.http.parameters import Digest, User, known
from priory.server.http.problems import documented
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.tokens import Token

_ERRORS: Final = documented(422, 503)


def suspects_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who looks whether labels are right."""
    router = APIRouter(tags=["journal"])
    labels, kept = daemon.options.labels, filters.kept
    Label = Annotated[str, AfterValidator(known(labels)), Query(json_schema_extra={"enum": [*labels]})]  # noqa: N806

    @router.get(
        "/messages/suspects",
        dependencies=[needs("check")],
        responses=schemas.answered(journal_schemas.Suspects) | _ERRORS,
    )
    async def suspected(most: Annotated[int, Query(ge=1, le=MOST)] = 50) -> Response:
        """List labels that look wrong, by what was predicted of each message before it was learned.

        Those are left out that were confirmed, and those that are wrong with a probability below 0.1.
        """
        return json_response(
            await filters.look(
                lambda filter_: json_bytes(kept.suspicions(filter_).of_unconfirmed(filter_, most).as_dict())
            )
        )

    async def noted(token: Token, note: Callable[[Filter], bool], outcome: str, digest: str) -> Response:
        is_there = await filters.teach(note)
        log(outcome, token=token.id, outcome=outcome if is_there else "unknown")
        return json_response(json_bytes({"outcome": outcome if is_there else "unknown", "digest": digest}))

    @router.post("/messages/confirm", responses=schemas.answered(journal_schemas.Confirmed) | _ERRORS)
    async def confirm(
        token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = ""
    ) -> Response:
        """Say that the label of a lesson is right, however it looks: it is listed no more, as long as it stays so."""
        name = bytes.fromhex(digest)
        return await noted(token, lambda filter_: filter_.confirm(name, label, user), "confirmed", digest)

    @router.post("/messages/doubt", responses=schemas.answered(journal_schemas.Confirmed) | _ERRORS)
    async def doubt(token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = "") -> Response:
        """Take back that the label of a lesson was confirmed."""
        name = bytes.fromhex(digest)
        return await noted(token, lambda filter_: filter_.confirm(name, label, user, right=False), "doubted", digest)

    @router.post("/messages/relearn", responses=schemas.answered(journal_schemas.Relearned) | _ERRORS)
    async def relearn(
        token: Annotated[Token, needs("learn")], digest: Digest, label: Label, user: User = ""
    ) -> Response:
        """Turn a lesson of a person round without the message, as the journal has its features."""
        name = bytes.fromhex(digest)
        done = await filters.teach(lambda filter_: filter_.relearn(name, label, user))
        outcome = "unknown" if done is None else done.outcome
        daemon.tally.add(("lessons", outcome))
        log("lesson", token=token.id, outcome=outcome)
        return json_response(json_bytes({"outcome": outcome, "digest": digest, "was": done and done.was}))

    return router
