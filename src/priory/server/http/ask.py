"""The routes that ask about a message, and change nothing: check and explain."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, Response

from priory.filter import Filter
from priory.message import Message, parse
from priory.reading import prepared
from priory.server.counted import CHECK_TIMES, HTTP
from priory.server.http import schemas
from priory.server.http.access import needs
from priory.server.http.carried import ERRORS, carried, carried_or_several, takes_message
from priory.server.http.filters import Filters
from priory.server.http.json import json_bytes, json_response
from priory.server.http.parameters import ForUser
from priory.server.http.problems import documented
from priory.server.http.several import Group, about_each
from priory.server.http.state import Daemon
from priory.server.http.uploads import Upload
from priory.verdict import MOST_EVIDENCE, Verdict

_LONGEST_SUBJECT: Final = 200


def ask_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes for who asks."""
    router = APIRouter(tags=["ask"], dependencies=[needs("check")])
    taken, tally = carried(daemon.serving), daemon.tally
    several_taken = carried_or_several(daemon.serving)

    async def checked(question: Callable[[Filter], list[_Checked]]) -> list[bytes]:
        begun = time.perf_counter()
        said = await filters.ask(question)
        seconds = time.perf_counter() - begun
        for each in said:
            tally.add(("checked", HTTP, each.label))
            tally.add(("bytes", HTTP), each.n_bytes)
            tally.time(CHECK_TIMES[HTTP], seconds / len(said))
        return [each.json for each in said]

    @router.post(
        "/check",
        responses=schemas.answered(schemas.Verdict, schemas.Verdicts) | documented(*ERRORS),
        openapi_extra=takes_message(several=True),
    )
    async def check(mail: Annotated[bytes | Upload, several_taken], user: ForUser = "") -> Response:
        """Say what a message is, how probable that is, and the weightiest evidence: as `priory check --json` does.

        Of several, in files, it says so of each.
        """
        if isinstance(mail, Upload):
            return await about_each(mail, lambda groups: checked(partial(_each_checked, groups, user)))
        (said,) = await checked(lambda filter_: [_checked(filter_, mail, user)])
        return json_response(said)

    @router.post(
        "/explain", responses=schemas.answered(schemas.Explanation) | documented(*ERRORS), openapi_extra=takes_message()
    )
    async def explain(raw: Annotated[bytes, taken], user: ForUser = "") -> Response:
        """Say why: all evidence, and the message in spans coloured by what they add to the log-odds."""
        return json_response(await filters.ask(_explained(raw, user)))

    return router


class _Checked(NamedTuple):
    label: str
    n_bytes: int
    json: bytes


def _checked(filter_: Filter, raw: bytes, user: str) -> _Checked:
    verdict = filter_.check(raw, user)
    return _Checked(verdict.label, len(raw), json_bytes(verdict.as_dict(MOST_EVIDENCE)))


def _each_checked(groups: Iterator[Group], user: str, filter_: Filter) -> list[_Checked]:
    """Check the next group: it is read from the disk in the thread of the filter, too."""
    group = next(groups, [])
    messages = [parse(raw) for _, raw in group]
    verdicts = filter_.check_many([prepared(message, filter_.spec) for message in messages], user)
    return [
        _Checked(verdict.label, len(raw), json_bytes(_of_upload(source, message, verdict)))
        for (source, raw), message, verdict in zip(group, messages, verdicts, strict=True)
    ]


def _of_upload(source: str, message: Message, verdict: Verdict) -> dict[str, Any]:
    named = {"source": source, "subject": message.header("subject")[:_LONGEST_SUBJECT], "sender": message.sender_domain}
    return named | verdict.as_dict(schemas.MOST_EVIDENCE_OF_SEVERAL)


def _explained(raw: bytes, user: str) -> Callable[[Filter], bytes]:
    return lambda filter_: json_bytes(filter_.explain(raw, user).as_dict())
