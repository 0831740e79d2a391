"""The routes to the journal: list, export and forget lessons; list, confirm and correct labels that look wrong."""

import csv
import io
import time
from collections.abc import AsyncIterator, Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field
from typing_extensions import TypedDict

from priory.filter.filter import GROUP, Filter
from priory.filter.lessons import ListedLesson
from priory.journal import JournalError, Selection, SelectionError
from priory.processes.log import log
from priory.server.http.answers import DIGEST, PLACE, LessonAnswer, answer_of, closed
from priory.server.http.auth import needs
from priory.server.http.filters import Filters
from priory.server.http.parameters import Digest, User, label_parameter, selection_parameters
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.tokens import Token

MOST_LESSONS: Final = 1_000  #: in one answer
_EXPORT_CHUNK: Final = 10_000  # lessons that are read at a time; each time the whole selection is searched
_COLUMNS: Final = ("time", "label", "user", "automatic", "source", "sender", "digest", "certainty", "subject")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")  # how a cell begins that a spreadsheet evaluates
_SELECTION_ERRORS: Final = document_problems(422, 503)


class ExportFormat(StrEnum):
    """The format of an exported file."""

    JSONL = "jsonl"
    CSV = "csv"


_MEDIA_TYPES: Final = {ExportFormat.JSONL: "application/jsonl", ExportFormat.CSV: "text/csv; charset=utf-8"}


@closed
class LessonsAnswer(TypedDict):
    """A page of lessons, the latest first. `after` is where the next page begins, null at the end."""

    lessons: list[LessonAnswer]
    after: Annotated[str | None, Field(examples=[PLACE])]
    total: Annotated[int, Field(description="The number of lessons selected.", examples=[1042])]


@closed
class ForgetManyAnswer(TypedDict):
    """The number of lessons selected and forgotten. They differ if lessons were forgotten or relearned meanwhile."""

    selected: Annotated[int, Field(examples=[12])]
    forgotten: Annotated[int, Field(examples=[12])]


@closed
class SuspectAnswer(LessonAnswer):
    """A lesson whose label looks wrong."""

    rather: Annotated[str, Field(description="The label that is more probable.", examples=["ham"])]
    probability: Annotated[float, Field(ge=0, le=1, description="That the label is wrong.", examples=[0.93])]


@closed
class SuspectsAnswer(TypedDict):
    """Lessons whose labels look wrong. The most suspicious comes first."""

    suspects: list[SuspectAnswer]
    total: Annotated[int, Field(description="The number of suspects, including those not listed.", examples=[3])]
    expected_wrong: Annotated[float, Field(description="The expected number of wrong labels.", examples=[4.2])]
    scored: Annotated[int, Field(description="The number of lessons that could be judged.", examples=[1004])]
    reason: Annotated[str, Field(description="Why no lesson could be judged, or empty.", examples=[""])]


@closed
class ConfirmAnswer(TypedDict):
    """The outcome of a confirmation."""

    outcome: Annotated[
        str, Field(description="confirmed, doubted, or unknown if there is no such lesson", examples=["confirmed"])
    ]
    digest: Annotated[str, Field(examples=[DIGEST])]


@closed
class RelearnAnswer(TypedDict):
    """The outcome of relearning a lesson with another label."""

    outcome: Annotated[
        str, Field(description="relearned, known, or unknown if there is no such lesson", examples=["relearned"])
    ]
    digest: Annotated[str, Field(examples=[DIGEST])]
    was: Annotated[str | None, Field(description="The previous label.", examples=["spam"])]


def journal_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to list, export and forget lessons."""
    router = APIRouter(tags=["journal"])
    selected = selection_parameters(daemon.options.labels)

    @router.get(
        "/messages", dependencies=[needs("check")], responses=document_answer(LessonsAnswer) | _SELECTION_ERRORS
    )
    async def messages(
        selection: Annotated[Selection, selected],
        most: Annotated[int, Query(ge=1, le=MOST_LESSONS)] = 50,
        after: Annotated[str | None, Query(description="`after` of the previous page.", max_length=100)] = None,
    ) -> Response:
        """List the lessons that fit all parameters, the latest first."""
        return json_response(await filters.search(lambda filter_: json_bytes(_page(filter_, selection, most, after))))

    @router.get(
        "/messages/export",
        dependencies=[needs("check")],
        responses=_SELECTION_ERRORS | {200: {"content": {media_type: {} for media_type in _MEDIA_TYPES.values()}}},
        response_class=Response,
    )
    async def export(
        selection: Annotated[Selection, selected],
        format_: Annotated[ExportFormat, Query(alias="format", description="JSON lines, or CSV.")] = ExportFormat.JSONL,
    ) -> Response:
        """Return all selected lessons as a file; lessons learned meanwhile may be missing."""
        first = await filters.search(partial(_export, selection=selection, format_=format_))
        name = f'attachment; filename="lessons.{format_.value}"'

        async def chunks() -> AsyncIterator[bytes]:
            content, after = first
            yield content
            while after is not None:
                chunk = partial(_export, selection=selection, format_=format_, after=after)
                content, after = await filters.search(chunk)
                yield content

        return StreamingResponse(chunks(), 200, {"Content-Disposition": name, "Content-Type": _MEDIA_TYPES[format_]})

    @router.post("/messages/forget", responses=document_answer(ForgetManyAnswer) | document_problems(409, 422, 503))
    async def forget(
        token: Annotated[Token, needs("learn")],
        selection: Annotated[Selection, selected],
        expect: Annotated[int, Query(ge=0, description="The expected number of lessons, as `total` says.")],
    ) -> Response:
        """Forget all selected lessons, exactly, if their number is the expected one; otherwise none (409)."""
        if selection.is_everything:
            raise SelectionError("the selection contains all lessons: restrict it")
        begun = time.perf_counter()
        changes = await filters.search(lambda filter_: filter_.lessons.changes_of(selection))
        if len(changes) != expect:
            raise HTTPException(
                409, f"The selection contains {len(changes)} lessons, not {expect}: nothing was forgotten."
            )
        forgotten = await _forget_changes(daemon, filters, changes)
        log("forget", token=token.id, lessons=forgotten, us=int(1e6 * (time.perf_counter() - begun)))
        return json_response(json_bytes(ForgetManyAnswer(selected=expect, forgotten=forgotten)))

    return router


def suspect_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to list, confirm and correct labels that look wrong."""
    router = APIRouter(tags=["journal"])
    Label = label_parameter(daemon.options.labels)  # noqa: N806 - a type

    @router.get(
        "/messages/suspects",
        dependencies=[needs("check")],
        responses=document_answer(SuspectsAnswer) | _SELECTION_ERRORS,
    )
    async def suspects(most: Annotated[int, Query(ge=1, le=MOST_LESSONS)] = 50) -> Response:
        """List labels that look wrong, judged by the predictions made before each message was learned.

        Confirmed labels are left out, and those that are wrong with a probability below 0.1.
        """

        def answer(filter_: Filter) -> bytes:
            suspects_found = filters.analyses.suspicions(filter_).of_unconfirmed(filter_, most)
            return json_bytes(answer_of(SuspectsAnswer, suspects_found.as_dict()))

        return json_response(await filters.search(answer))

    async def note(token: Token, change: Callable[[Filter], bool], outcome: str, digest: str) -> Response:
        is_known = await filters.teach(change)
        log(outcome, token=token.id, outcome=outcome if is_known else "unknown")
        outcome = outcome if is_known else "unknown"
        return json_response(json_bytes(ConfirmAnswer(outcome=outcome, digest=digest)))

    @router.post("/messages/confirm", responses=document_answer(ConfirmAnswer) | _SELECTION_ERRORS)
    async def confirm(
        token: Annotated[Token, needs("learn")],
        digest: Digest,
        label: Label,  # type: ignore[valid-type]
        user: User = "",
    ) -> Response:
        """Confirm that the label of a lesson is right; it is not listed any more while it keeps this label."""
        name = bytes.fromhex(digest)
        return await note(token, lambda filter_: filter_.confirm(name, label, user), "confirmed", digest)

    @router.post("/messages/doubt", responses=document_answer(ConfirmAnswer) | _SELECTION_ERRORS)
    async def doubt(
        token: Annotated[Token, needs("learn")],
        digest: Digest,
        label: Label,  # type: ignore[valid-type]
        user: User = "",
    ) -> Response:
        """Take back the confirmation of a label."""
        name = bytes.fromhex(digest)
        return await note(token, lambda filter_: filter_.confirm(name, label, user, right=False), "doubted", digest)

    @router.post("/messages/relearn", responses=document_answer(RelearnAnswer) | _SELECTION_ERRORS)
    async def relearn(
        token: Annotated[Token, needs("learn")],
        digest: Digest,
        label: Label,  # type: ignore[valid-type]
        user: User = "",
    ) -> Response:
        """Give a lesson of a person another label, without the message: the journal has its features."""
        name = bytes.fromhex(digest)
        lesson = await filters.teach(lambda filter_: filter_.relearn(name, label, user))
        outcome, was = ("unknown", None) if lesson is None else (lesson.outcome, lesson.was)
        daemon.tally.add(("lessons", outcome))
        log("lesson", token=token.id, outcome=outcome)
        return json_response(json_bytes(RelearnAnswer(outcome=outcome, digest=digest, was=was)))

    return router


def _page(filter_: Filter, selection: Selection, most: int, after: str | None) -> LessonsAnswer:
    resolved = filter_.lessons.resolved(selection)
    lessons, next_page = filter_.lessons.page(resolved, most, after)
    answers = [answer_of(LessonAnswer, lesson.as_dict()) for lesson in lessons]
    return {"lessons": answers, "after": next_page, "total": filter_.lessons.n_of(resolved)}


async def _forget_changes(daemon: Daemon, filters: Filters, changes: list[int]) -> int:
    """Forget the lessons of some changes in groups, so that others can teach in between; return how many it forgot."""
    done = 0
    for begin in range(0, len(changes), GROUP):
        group = Selection(changes=tuple(changes[begin : begin + GROUP]))
        try:
            forgotten = await filters.teach(partial(_forget_group, selection=group))
        except JournalError as error:
            daemon.tally.add(("errors", "lesson"))
            raise type(error)(f"{error} {done} of {len(changes)} lessons were forgotten; the rest remain.") from None
        daemon.tally.add(("lessons", "forgotten"), forgotten)
        done += forgotten
    return done


def _forget_group(filter_: Filter, selection: Selection) -> int:
    return sum(filter_.forget_many(selection))


def _export(
    filter_: Filter, selection: Selection, format_: ExportFormat, after: str | None = None
) -> tuple[bytes, str | None]:
    """Return the part of a file that begins after a place, and the place where the next part begins."""
    lessons, next_part = filter_.lessons.page(selection, _EXPORT_CHUNK, after)
    if format_ is ExportFormat.JSONL:
        return b"".join(json_bytes(lesson.as_dict()) + b"\n" for lesson in lessons), next_part
    return _csv(lessons, with_head=after is None), next_part


def _csv(lessons: Sequence[ListedLesson], *, with_head: bool) -> bytes:
    r"""Return lessons as CSV; text that a spreadsheet would evaluate is quoted, because a sender can write anything.

    >>> lesson = ListedLesson(0.0, "spam", "", False, "", "mail.example", "=1+1", "2f9c", None, "0.0:1")
    >>> _csv([lesson], with_head=False)
    b"1970-01-01T00:00:00.000+00:00,spam,,False,,mail.example,2f9c,,'=1+1\r\n"
    """
    text = io.StringIO()
    writer = csv.writer(text)
    if with_head:
        writer.writerow(_COLUMNS)
    for lesson in lessons:
        values = lesson.as_dict()
        writer.writerow(_cell(values[column]) for column in _COLUMNS)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
