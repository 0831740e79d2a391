"""The routes that teach: learn and forget. What they answer is durable."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import AfterValidator

from priory.filter import Filter
from priory.keeping import KEPT
from priory.message import parse
from priory.server.counted import LESSON_TIMES
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.carried import ERRORS, carried_or_several, takes_message
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.limits import has_body, message
from priory.server.http.parameters import Digest, User, known
from priory.server.http.problems import documented
from priory.server.http.several import Group, about_each
from priory.server.http.state import Daemon
from priory.server.http.uploads import Upload
from priory.server.log import log
from priory.server.tokens import Token


def teach_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who teaches."""
    router = APIRouter(tags=["teach"])
    taken, allowed = carried_or_several(daemon.serving), needs("learn")
    labels, tally = daemon.options.labels, daemon.tally

    async def told(token: Token, lesson: Callable[[Filter], list[dict[str, Any]]]) -> list[bytes]:
        begun = time.perf_counter()
        try:
            done = await filters.teach(lesson)
        except Exception:
            tally.add(("errors", "lesson"))
            raise
        seconds = time.perf_counter() - begun
        for each in done:
            tally.add(("lessons", each["outcome"]))
            tally.time(LESSON_TIMES, seconds / len(done))
            log("lesson", token=token.id, outcome=each["outcome"], us=int(1e6 * seconds / len(done)))
        return [json_bytes(each) for each in done]

    async def taught(token: Token, lesson: Callable[[Filter], dict[str, Any]]) -> Response:
        (said,) = await told(token, lambda filter_: [lesson(filter_)])
        return json_response(said)

    @router.post(
        "/learn",
        responses=schemas.answered(schemas.Lesson, schemas.Lessons) | documented(*ERRORS),
        openapi_extra=takes_message(several=True),
    )
    async def learn(
        token: Annotated[Token, allowed],
        label: Annotated[str, AfterValidator(known(labels)), Query(json_schema_extra={"enum": [*labels]})],
        mail: Annotated[bytes | Upload, taken],
        user: User = "",
    ) -> Response:
        """Teach what a message is, or several in files. Twice changes nothing; another label turns the lesson round.

        Of several, what is said to be learned is durable, also if the answer ends early.
        """
        if isinstance(mail, Upload):
            return await about_each(mail, lambda groups: told(token, partial(_each_learned, groups, label, user)))
        return await taught(token, partial(_learned, raw=mail, label=label, user=user))

    @router.post(
        "/forget",
        responses=schemas.answered(schemas.Forgotten) | documented(*ERRORS),
        openapi_extra=takes_message(required=False),
    )
    async def forget(
        request: Request, token: Annotated[Token, allowed], digest: Digest | None = None, user: User = ""
    ) -> Response:
        """Take a lesson back exactly, by the message or by its digest."""
        if digest is None:
            raw = await message(request, daemon.serving.max_bytes, daemon.serving.timeout)
            return await taught(token, lambda filter_: _forgotten(filter_, raw, parse(raw).digest, user))
        if has_body(request):
            raise HTTPException(400, "Name the message to forget by its digest or send it, not both.")
        name = bytes.fromhex(digest)
        return await taught(token, lambda filter_: _forgotten(filter_, name, name, user))

    return router


def _learned(filter_: Filter, raw: bytes, label: str, user: str) -> dict[str, Any]:
    read = filter_.prepare(raw)
    before = filter_.check(read, user).probabilities
    lesson = filter_.learn(read, label, "http", user)
    return {**lesson._asdict(), "before": before, "after": filter_.check(read, user).probabilities}


def _each_learned(groups: Iterator[Group], label: str, user: str, filter_: Filter) -> list[dict[str, Any]]:
    """Learn the next group, durably or not at all: it is read from the disk in the thread of the filter, too."""
    group = next(groups, [])
    lessons = [(raw, label, f"http:{source}") for source, raw in group]
    learned = [each for done in filter_.learn_many(lessons, user) for each in done]
    return [{"source": source, **each._asdict()} for (source, _), each in zip(group, learned, strict=True)]


def _forgotten(filter_: Filter, what: bytes, digest: bytes, user: str) -> dict[str, Any]:
    was = filter_.forget(what, user)
    if was == KEPT:
        return {"outcome": "kept", "digest": digest.hex(), "was": None}
    return {"outcome": "unknown" if was is None else "forgotten", "digest": digest.hex(), "was": was}
