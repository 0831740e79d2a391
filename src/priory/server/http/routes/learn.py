"""The routes that teach: learn and forget. A lesson is durable when it is answered."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import Field
from typing_extensions import TypedDict

from priory.filter.filter import Filter
from priory.filter.outcome import ForgetResult
from priory.processes.log import log
from priory.server.http.answers import DIGEST, UploadAnswer, closed
from priory.server.http.auth import needs
from priory.server.http.body import MESSAGE_ERRORS, document_message, has_body, read_message
from priory.server.http.filters import Filters
from priory.server.http.parameters import Digest, User, label_parameter
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.http.streaming import stream_answers
from priory.server.http.uploads import Group, Upload, document_message_or_upload, message_or_upload_body
from priory.server.metrics.names import LESSON_TIMES
from priory.server.tokens import Token

_OUTCOME: Final = "learned, known, relearned, or kept until the journal can be reached"


@closed
class LearnAnswer(TypedDict):
    """The outcome of a lesson. The lesson is durable."""

    outcome: Annotated[str, Field(description=_OUTCOME, examples=["learned"])]
    digest: Annotated[str, Field(examples=[DIGEST])]
    was: Annotated[str | None, Field(description="The previous label, if it was relearned.", examples=[None])]
    before: Annotated[
        dict[str, float],
        Field(description="The probability of each label before.", examples=[{"ham": 0.62, "spam": 0.38}]),
    ]
    after: Annotated[dict[str, float], Field(examples=[{"ham": 0.03, "spam": 0.97}])]


@closed
class UploadLearnAnswer(TypedDict):
    """The outcome of a lesson of an upload. The lesson is durable."""

    source: Annotated[str, Field(description="The file, and the number in an mbox.", examples=["inbox.mbox:3"])]
    outcome: Annotated[str, Field(description=_OUTCOME, examples=["learned"])]
    digest: Annotated[str, Field(examples=[DIGEST])]
    was: Annotated[str | None, Field(description="The previous label, if it was relearned.", examples=[None])]


@closed
class UploadLearnsAnswer(UploadAnswer):
    """The outcome for each message of an upload."""

    messages: list[UploadLearnAnswer]


@closed
class ForgetAnswer(TypedDict):
    """The outcome of forgetting a lesson."""

    outcome: Annotated[
        str,
        Field(
            description="forgotten, unknown if there is no such lesson, or kept until the journal can be reached",
            examples=["forgotten"],
        ),
    ]
    digest: Annotated[str, Field(examples=[DIGEST])]
    was: Annotated[str | None, Field(description="The label of the lesson.", examples=["spam"])]


_AnswerType = TypeVar("_AnswerType", LearnAnswer, UploadLearnAnswer, ForgetAnswer)


def learn_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to learn and forget messages."""
    router = APIRouter(tags=["teach"])
    message_or_upload, allowed = message_or_upload_body(daemon.serving), needs("learn")
    tally = daemon.tally
    Label = label_parameter(daemon.options.labels)  # noqa: N806 - a type

    async def teach_counted(token: Token, lesson: Callable[[Filter], Sequence[_AnswerType]]) -> list[bytes]:
        begun = time.perf_counter()
        try:
            answers = await filters.teach(lesson)
        except Exception:
            tally.add(("errors", "lesson"))
            raise
        seconds = time.perf_counter() - begun
        for answer in answers:
            tally.add(("lessons", answer["outcome"]))
            tally.time(LESSON_TIMES, seconds / len(answers))
            log("lesson", token=token.id, outcome=answer["outcome"], us=int(1e6 * seconds / len(answers)))
        return [json_bytes(answer) for answer in answers]

    async def teach_one(token: Token, lesson: Callable[[Filter], _AnswerType]) -> Response:
        (content,) = await teach_counted(token, lambda filter_: [lesson(filter_)])
        return json_response(content)

    @router.post(
        "/learn",
        responses=document_answer(LearnAnswer, UploadLearnsAnswer) | document_problems(*MESSAGE_ERRORS),
        openapi_extra=document_message_or_upload(),
    )
    async def learn(
        token: Annotated[Token, allowed],
        label: Label,  # type: ignore[valid-type]
        mail: Annotated[bytes | Upload, message_or_upload],
        user: User = "",
    ) -> Response:
        """Learn the label of a message, or of the messages of an upload.

        A lesson that is known changes nothing; with another label it is relearned. If the answer about an upload ends
        early, the lessons in it are durable nevertheless.
        """
        if isinstance(mail, Upload):
            return await stream_answers(
                mail, lambda groups: teach_counted(token, partial(_learn_group, groups, label, user))
            )
        return await teach_one(token, partial(learn_message, raw=mail, label=label, user=user))

    @router.post(
        "/forget",
        responses=document_answer(ForgetAnswer) | document_problems(*MESSAGE_ERRORS),
        openapi_extra=document_message(required=False),
    )
    async def forget(
        request: Request, token: Annotated[Token, allowed], digest: Digest | None = None, user: User = ""
    ) -> Response:
        """Forget the lesson about a message, exactly; the body is the message, or `digest` names it."""
        if digest is None:
            raw = await read_message(request, daemon.serving.max_bytes, daemon.serving.timeout)
            return await teach_one(token, lambda filter_: _forget_answer(filter_.forget(raw, user)))
        if has_body(request):
            raise HTTPException(400, "Send the digest of the message or the message itself, not both.")
        name = bytes.fromhex(digest)
        return await teach_one(token, lambda filter_: _forget_answer(filter_.forget_digest(name, user)))

    return router


def learn_message(filter_: Filter, raw: bytes, label: str, user: str, source: str = "http") -> LearnAnswer:
    """Learn a message; return the probabilities before and after."""
    message = filter_.prepare(raw)
    before = filter_.check(message, user).probabilities
    lesson = filter_.learn(message, label, source, user)
    after = filter_.check(message, user).probabilities
    return {
        "outcome": lesson.outcome,
        "digest": lesson.digest,
        "was": lesson.was,
        "before": before,
        "after": after,
    }


def _learn_group(groups: Iterator[Group], label: str, user: str, filter_: Filter) -> list[UploadLearnAnswer]:
    """Learn the next group, durably or not at all; reading it from disk happens here, in the filter's thread, too."""
    group = next(groups, [])
    lessons = [(raw, label, f"http:{source}") for source, raw in group]
    results = [result for part in filter_.learn_many(lessons, user) for result in part]
    return [
        {"source": source, "outcome": result.outcome, "digest": result.digest, "was": result.was}
        for (source, _), result in zip(group, results, strict=True)
    ]


def _forget_answer(lesson: ForgetResult) -> ForgetAnswer:
    return {"outcome": lesson.outcome, "digest": lesson.digest, "was": lesson.was}
