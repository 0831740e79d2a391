"""The routes about mail in the spool: the questions whose answers would teach most, answers, and their undoing.

They show mail that passed through the daemon, so even reading needs the scope *learn*: a program that only checks mail,
or that only reads the metrics, must not see the mail of others.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, HTTPException, Path, Query, Response
from pydantic import Field
from typing_extensions import TypedDict

from priory.filter.excerpt import Excerpt
from priory.filter.filter import Filter
from priory.filter.questions import Question, choose, read_questions
from priory.filter.spool import SOURCE
from priory.processes.log import log
from priory.server.http.answers import DIGEST, closed
from priory.server.http.auth import needs
from priory.server.http.filters import Filters
from priory.server.http.parameters import ForUser, User, label_parameter
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.routes.learn import LearnAnswer, learn_message
from priory.server.http.state import Daemon
from priory.server.tokens import Token

MOST_QUESTIONS: Final = 100  #: in one answer
_OFF: Final = 'The spool is off: set spool = "20 MB" in section [ask] of the configuration, and reload the daemon.'
_GONE: Final = "There is no such message in the spool: it was answered, skipped or deleted."
_DIGEST = Annotated[str, Path(description="The digest of the message.", pattern="^[0-9a-f]{64}$")]


@closed
class QuestionAnswer(TypedDict):
    """A message in the spool whose label would teach much. All texts are its sender's: escape them."""

    digest: Annotated[str, Field(description="Names the message in an answer.", examples=[DIGEST])]
    label: Annotated[str, Field(description="The verdict: a label, or unsure.", examples=["unsure"])]
    about: Annotated[str, Field(description="The label that the probability is about.", examples=["spam"])]
    probability: Annotated[float, Field(ge=0, le=1, examples=[0.7312])]
    expected_cost: Annotated[float, Field(examples=[4.0])]
    received: Annotated[
        str | None,
        Field(description="When a server received it (ISO 8601), or null.", examples=["2026-11-01T09:30:00+00:00"]),
    ]
    author: Annotated[str, Field(description="The header From.", examples=["Ann <ann@mail.example>"])]
    subject: Annotated[str, Field(examples=["Lunch?"])]
    text: Annotated[str, Field(description="The beginning of the text.", examples=["On Friday at noon?"])]
    sentence: Annotated[
        str,
        Field(
            description="The verdict and its strongest reasons in words; text of the message is in it.",
            examples=["Unsure (61 % spam). For spam: it says “backlinks”, as 14 spam and no ham did."],
        ),
    ]


@closed
class QuestionsAnswer(TypedDict):
    """The messages whose labels would teach most, the first one first."""

    questions: list[QuestionAnswer]
    total: Annotated[int, Field(description="The number of messages in the spool.", examples=[12])]
    reason: Annotated[str, Field(description="Why the filter can judge no message, or empty.", examples=[""])]


@closed
class SkipAnswer(TypedDict):
    """The outcome of skipping a question, or of undoing an answer."""

    outcome: Annotated[str, Field(description="skipped, or undone", examples=["skipped"])]
    digest: Annotated[str, Field(examples=[DIGEST])]


class Questions(NamedTuple):
    """The questions to ask, the number of messages in the spool, and why none can be judged, if so."""

    chosen: list[Question]
    total: int
    reason: str = ""


def find_questions(filter_: Filter, most: int, user: str = "") -> Questions:
    """Choose the messages in the spool whose labels would teach most."""
    reason = ""

    def judged() -> Iterator[Question]:
        nonlocal reason
        for question in read_questions(filter_, filter_.spool.mail(filter_.taught_by_digest), user):
            if question.verdict.is_untaught:
                reason = question.verdict.reason
                return
            yield question

    chosen = choose(judged(), most)
    return Questions(chosen, len(filter_.spool), reason)


def ask_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to list, answer and skip questions."""
    router = APIRouter(prefix="/ask", tags=["ask"])
    Label = label_parameter(daemon.options.labels)  # noqa: N806 - a type
    is_on = daemon.options.spool is not None

    @router.get(
        "", dependencies=[needs("learn")], responses=document_answer(QuestionsAnswer) | document_problems(409, 422, 503)
    )
    async def questions(
        most: Annotated[int, Query(ge=1, le=MOST_QUESTIONS, description="The number of questions.")] = 10,
        user: ForUser = "",
    ) -> Response:
        """List the messages in the spool whose labels would teach most; of near-copies only one."""
        if not is_on:
            raise HTTPException(409, _OFF)
        return json_response(
            await filters.search(lambda filter_: json_bytes(_answer(find_questions(filter_, most, user))))
        )

    @router.post("/{digest}", responses=document_answer(LearnAnswer) | document_problems(404, 422, 503))
    async def answer(
        token: Annotated[Token, needs("learn")],
        digest: _DIGEST,
        label: Label,  # type: ignore[valid-type]
        user: User = "",
    ) -> Response:
        """Learn the label of a message in the spool, which then leaves the spool."""
        result = await filters.teach(partial(_learn, digest, label, user))
        if result is None:
            raise HTTPException(404, _GONE)
        daemon.tally.add(("lessons", result["outcome"]))
        log("lesson", token=token.id, outcome=result["outcome"])
        return json_response(json_bytes(result))

    @router.delete(
        "/{digest}",
        dependencies=[needs("learn")],
        responses=document_answer(SkipAnswer) | document_problems(404, 422, 503),
    )
    async def skip(digest: _DIGEST) -> Response:
        """Ask no more about a message: it leaves the spool, and nothing is learned."""
        if not await filters.search(lambda filter_: filter_.spool.leave(digest)):
            raise HTTPException(404, _GONE)
        return json_response(json_bytes(SkipAnswer(outcome="skipped", digest=digest)))

    @router.post("/{digest}/undo", responses=document_answer(SkipAnswer) | document_problems(404, 422, 503))
    async def undo(token: Annotated[Token, needs("learn")], digest: _DIGEST, user: User = "") -> Response:
        """Undo an answer or a skip within ten minutes: forget the lesson exactly, and ask again."""
        if not await filters.teach(partial(_undo, digest, user)):
            raise HTTPException(404, "There is no answer to undo: the message was deleted, or it was not answered.")
        log("undo", token=token.id)
        return json_response(json_bytes(SkipAnswer(outcome="undone", digest=digest)))

    return router


def _answer(questions: Questions) -> QuestionsAnswer:
    return {
        "questions": [_question(question) for question in questions.chosen],
        "total": questions.total,
        "reason": questions.reason,
    }


def _question(question: Question) -> QuestionAnswer:
    verdict, excerpt = question.verdict, Excerpt.of(question.message.message)
    return {
        "digest": verdict.digest,
        "label": verdict.label,
        "about": verdict.about,
        "probability": verdict.probability,
        "expected_cost": verdict.expected_cost,
        "received": question.received.isoformat() if question.received else None,
        "author": excerpt.author,
        "subject": excerpt.subject,
        "text": excerpt.text,
        "sentence": verdict.sentence,
    }


def _learn(digest: str, label: str, user: str, filter_: Filter) -> LearnAnswer | None:
    raw = filter_.spool.find(digest)
    return None if raw is None else learn_message(filter_, raw, label, user, SOURCE)


def _undo(digest: str, user: str, filter_: Filter) -> bool:
    raw = filter_.spool.find(digest, has_left=True)
    if raw is None:
        return False
    filter_.forget(raw, user)
    return filter_.spool.restore(digest)
