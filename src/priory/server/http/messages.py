"""The routes to the journal: which lessons there are, all of them as a file, and to forget many."""

import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import StreamingResponse

from priory.filter import GROUP, Filter
from priory.journal import JournalError, Selection, SelectionError
from priory.server.http import journal_schemas, schemas
from priory.server.http.access import needs
from priory.server.http.exported import MEDIA_TYPES, Format, exported
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.problems import documented
from priory.server.http.selecting import selecting
from priory.server.http.state import Daemon
from priory.server.log import log
from priory.server.tokens import Token

MOST: Final = 1_000  #: lessons of a page


def messages_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who looks through the journal."""
    router = APIRouter(tags=["journal"])
    selected = selecting(daemon.options.labels)

    @router.get(
        "/messages",
        dependencies=[needs("check")],
        responses=schemas.answered(journal_schemas.Page) | documented(422, 503),
    )
    async def messages(
        selection: Annotated[Selection, selected],
        most: Annotated[int, Query(ge=1, le=MOST)] = 50,
        after: Annotated[str | None, Query(description="Where the page before ended.", max_length=100)] = None,
    ) -> Response:
        """List who taught what and when, the latest first: all lessons for which everything that is said is true."""
        return json_response(await filters.look(lambda filter_: json_bytes(page(filter_, selection, most, after))))

    @router.get(
        "/messages/export",
        dependencies=[needs("check")],
        responses=documented(422, 503) | {200: {"content": {each: {} for each in MEDIA_TYPES.values()}}},
        response_class=Response,
    )
    async def export(
        selection: Annotated[Selection, selected],
        format_: Annotated[Format, Query(alias="format", description="JSON lines, or a table.")] = Format.JSONL,
    ) -> Response:
        """Give all lessons of a selection as a file; what is taught meanwhile may be missing in it."""
        part = partial(exported, selection=selection, format_=format_)
        first = await filters.look(part)
        name = f'attachment; filename="lessons.{format_.value}"'

        async def pages() -> AsyncIterator[bytes]:
            content, after = first
            yield content
            while after is not None:
                content, after = await filters.look(
                    partial(exported, selection=selection, format_=format_, after=after)
                )
                yield content

        return StreamingResponse(pages(), 200, {"Content-Disposition": name, "Content-Type": MEDIA_TYPES[format_]})

    @router.post(
        "/messages/forget",
        responses=schemas.answered(journal_schemas.ForgottenMany) | documented(409, 422, 503),
    )
    async def forget(
        token: Annotated[Token, needs("learn")],
        selection: Annotated[Selection, selected],
        expect: Annotated[int, Query(ge=0, description="How many lessons are meant, as `total` says.")],
    ) -> Response:
        """Take all lessons of a selection back exactly, if they are as many as is expected; else none (409)."""
        if selection.is_everything:
            raise SelectionError("the selection has all lessons in it: say which to forget")
        begun = time.perf_counter()
        changes = await filters.look(lambda filter_: filter_.lessons.changes_of(selection))
        if len(changes) != expect:
            raise HTTPException(
                409,
                f"The selection has {len(changes)} lessons, not {expect}: nothing was forgotten.",
            )
        forgotten = await _forgotten(daemon, filters, changes)
        log("forget", token=token.id, lessons=forgotten, us=int(1e6 * (time.perf_counter() - begun)))
        return json_response(json_bytes({"selected": expect, "forgotten": forgotten}))

    return router


def page(filter_: Filter, selection: Selection, most: int, after: str | None) -> dict[str, Any]:
    """Return a page of the lessons of a selection as plain values, and how many there are in all."""
    meant = filter_.lessons.resolved(selection)
    lessons, then = filter_.lessons.page(meant, most, after)
    return {"lessons": [each.as_dict() for each in lessons], "after": then, "total": filter_.lessons.n_of(meant)}


async def _forgotten(daemon: Daemon, filters: Filters, changes: list[int]) -> int:
    """Forget what some changes have learned, group by group: others can teach in between. Return how many were left."""
    done = 0
    for begin in range(0, len(changes), GROUP):
        some = Selection(changes=tuple(changes[begin : begin + GROUP]))
        try:
            gone = await filters.teach(partial(_gone, selection=some))
        except JournalError as error:
            daemon.tally.add(("errors", "lesson"))
            raise type(error)(f"{error} {done} of {len(changes)} lessons were forgotten; the rest is left.") from None
        daemon.tally.add(("lessons", "forgotten"), gone)
        done += gone
    return done


def _gone(filter_: Filter, selection: Selection) -> int:
    return sum(filter_.forget_many(selection))
