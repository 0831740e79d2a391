"""The routes that ask and change nothing: check, explain, stats and models."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Final, NamedTuple

from fastapi import APIRouter, Query, Response
from pydantic import Field
from typing_extensions import TypedDict

from priory.features import VERSION
from priory.filter.filter import Filter
from priory.filter.prepare import prepare_parsed
from priory.filter.verdict import Verdict
from priory.message import Message, parse
from priory.server.http.answers import (
    BackgroundAnswer,
    ExplanationAnswer,
    UploadVerdictAnswer,
    UploadVerdictsAnswer,
    VerdictAnswer,
    answer_of,
    closed,
)
from priory.server.http.auth import needs
from priory.server.http.body import MESSAGE_ERRORS, document_message, message_body
from priory.server.http.filters import Filters
from priory.server.http.parameters import ForUser
from priory.server.http.responses import document_answer, document_problems, json_bytes, json_response
from priory.server.http.state import Daemon
from priory.server.http.streaming import stream_answers
from priory.server.http.uploads import Group, Upload, document_message_or_upload, message_or_upload_body
from priory.server.metrics.names import CHECK_TIMES, HTTP
from priory.server.tokens import Token, TokenUse

_MOST_SUBJECT_LENGTH: Final = 200
_Lessons = Annotated[
    bool,
    Query(description="Also return the lessons behind the verdict. The first such request reads all lessons."),
]


@closed
class CalibrationAnswer(TypedDict):
    """The calibration of scores: log-odds = `slope` · score + `intercept`, and the estimated rates of wrong labels."""

    slope: float
    intercept: float
    false_positives: Annotated[
        float, Field(description="The share of other messages that are taught as the label; 0.0098 means 1 % or less.")
    ]
    false_negatives: Annotated[
        float,
        Field(description="The share of the label's messages that are taught as another; 0.0098 means 1 % or less."),
    ]
    certainty: Annotated[
        float, Field(description="A factor for log-odds above 0, below 1 after few lessons of the other label.")
    ]


@closed
class SilenceAnswer(TypedDict):
    """What people say about mail that was checked on arrival, and how often they say nothing."""

    silent: Annotated[int, Field(description="Messages about which nobody said anything.")]
    moved: Annotated[int, Field(description="Messages that people said to be elsewhere than the filter had said.")]
    move_rates: Annotated[
        dict[str, float],
        Field(description="By label: the estimated share of the messages wrongly given that label that people move."),
    ]


@closed
class LostHamAnswer(TypedDict):
    """How much ham is called spam, by the predictions before each lesson."""

    lost: Annotated[int, Field(description="Known ham that is called spam.", examples=[0])]
    ham: Annotated[int, Field(description="All known ham.", examples=[712])]
    noticed: Annotated[float, Field(description="The estimated share of lost ham that people notice.", examples=[0.99])]
    from_silence: Annotated[
        bool, Field(description="Whether mail that people left alone counts: then most lost ham must be rescued.")
    ]
    at_most: Annotated[
        float, Field(description="The share of ham that is called spam, at most, at any moment.", examples=[0.0048])
    ]
    confidence: Annotated[float, Field(examples=[0.95])]


@closed
class PromiseAnswer(TypedDict):
    """How far the promise about lost ham is."""

    ham_lost: Annotated[float, Field(description="The promised share.", examples=[0.001])]
    ham: Annotated[int, Field(description="Known ham.", examples=[712])]
    needs: Annotated[int, Field(description="Known ham from which on any message may be called spam.", examples=[4190])]
    limits: Annotated[
        dict[str, float],
        Field(
            description="The probability from which each unwanted label is said; 1 if never.", examples=[{"spam": 1}]
        ),
    ]
    reached: Annotated[float, Field(description="The share of known unwanted mail that reaches them.", examples=[0.0])]


@closed
class OriginAnswer(TypedDict):
    """Where the mail of some labels comes from."""

    labels: Annotated[list[str], Field(examples=[["spam"]])]
    since: Annotated[str, Field(description="The first month; empty if it is unknown.", examples=["2007-04"])]
    until: Annotated[str, Field(description="The last month.", examples=["2007-07"])]
    folder: Annotated[str, Field(description="The folder of the sources; empty if there are several.")]
    signed: Annotated[float, Field(description="The share of the lessons that a few header words tell apart.")]


@closed
class OriginGapAnswer(TypedDict):
    """Labels whose mail was collected in different places."""

    finding: Annotated[str, Field(description="What was seen, in words.")]
    advice: Annotated[str, Field(description="Why it matters, and what to do.")]
    origins: list[OriginAnswer]


@closed
class StatsAnswer(TypedDict):
    """The number of lessons, the use of the table of counts, and the calibration."""

    lessons: Annotated[dict[str, int], Field(examples=[{"ham": 1004, "spam": 996}])]
    automatic: Annotated[dict[str, int], Field(description="Lessons that the filter learned by itself.")]
    changes: Annotated[int, Field(description="The number of the latest change in the journal.")]
    names: Annotated[int, Field(description="The number of distinct features of the lessons, without n-grams.")]
    nameless: Annotated[
        int, Field(description="Lessons of an older version, whose features share buckets with each other.")
    ]
    buckets_used: Annotated[int, Field(description="By n-grams, which share buckets.")]
    buckets: int
    scored: Annotated[dict[str, int], Field(description="Lessons that were scored before they were learned.")]
    calibration: dict[str, CalibrationAnswer]
    wrong_labels: Annotated[
        float, Field(description="The share of scored lessons whose labels look wrong; 0 if it is not above 1 %.")
    ]
    thresholds: Annotated[dict[str, float], Field(description="The probability from which each verdict is given.")]
    journal_bytes: int
    silence: Annotated[
        SilenceAnswer | None, Field(description="Null until mail that was checked has lain for the days of [silence].")
    ]
    lost_ham: Annotated[
        LostHamAnswer | None, Field(description="Null with more than two labels, unless there is a promise.")
    ]
    promise: Annotated[PromiseAnswer | None, Field(description="Null if nothing is promised.")]
    origins: Annotated[
        OriginGapAnswer | None,
        Field(description="Set if the mail of the labels was collected in different places; null if not."),
    ]


@closed
class ModelAnswer(TypedDict):
    """A model and the features it uses."""

    name: Annotated[str, Field(examples=["filter"])]
    labels: list[str]
    features_version: int
    buckets: int
    kinds: Annotated[dict[str, float], Field(description="The kinds of features in use, each with its weight.")]
    patterns: Annotated[int, Field(description="The number of your own patterns.")]
    smoothing: float
    learns_from_silence: bool


@closed
class ModelsAnswer(TypedDict):
    """The models in use."""

    models: list[ModelAnswer]


def check_routes(daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes to check and explain messages."""
    router = APIRouter(tags=["ask"], dependencies=[needs("check")])
    message, tally = message_body(daemon.serving), daemon.tally
    message_or_upload = message_or_upload_body(daemon.serving)

    async def check_counted(function: Callable[[Filter], list[_CheckResult]]) -> list[bytes]:
        begun = time.perf_counter()
        checked = await filters.check(function)
        seconds = time.perf_counter() - begun
        for label, n_bytes, _ in checked:
            tally.add(("checked", HTTP, label))
            tally.add(("bytes", HTTP), n_bytes)
            tally.time(CHECK_TIMES[HTTP], seconds / len(checked))
        return [result.json for result in checked]

    @router.post(
        "/check",
        responses=document_answer(VerdictAnswer, UploadVerdictsAnswer) | document_problems(*MESSAGE_ERRORS),
        openapi_extra=document_message_or_upload(),
    )
    async def check(
        token: Annotated[Token, needs("check")],
        mail: Annotated[bytes | Upload, message_or_upload],
        user: ForUser = "",
    ) -> Response:
        """Return the verdict on a message, its probability, and the weightiest evidence, as `priory check --json`.

        For an upload, return the verdict on each of its messages. If `[ask] spool` is set, a message that is sent alone
        and about which a person should be asked is stored in the spool.
        """
        if isinstance(mail, Upload):
            return await stream_answers(mail, lambda groups: check_counted(partial(_check_group, groups, user)))
        # A person who looks at a message on the page knows it already.
        spool = filters.spool.offer if token.use == TokenUse.PROGRAM else _ignore
        (content,) = await check_counted(lambda filter_: [_check(filter_, mail, user, spool)])
        return json_response(content)

    @router.post(
        "/explain",
        responses=document_answer(ExplanationAnswer, BackgroundAnswer) | document_problems(*MESSAGE_ERRORS),
        openapi_extra=document_message(),
    )
    async def explain(raw: Annotated[bytes, message], user: ForUser = "", lessons: _Lessons = False) -> Response:
        """Return the verdict with all evidence, and the message in spans coloured by what they add to the log-odds.

        With `lessons`, add the lessons behind the verdict and what would have changed it, as `priory explain
        --lessons`.
        """
        if lessons:
            return json_response(await filters.search(partial(_explain_by_lessons, raw, user)))
        return json_response(await filters.check(partial(_explain, raw, user)))

    return router


def model_routes(_daemon: Daemon, filters: Filters) -> APIRouter:
    """Return the routes that describe the filter."""
    router = APIRouter(tags=["about"], dependencies=[needs("check")])

    @router.get("/stats", responses=document_answer(StatsAnswer) | document_problems(503))
    async def stats() -> Response:
        """Return the number of lessons and the calibration of scores, as `priory stats --json`."""

        def answer(filter_: Filter) -> bytes:
            return json_bytes(answer_of(StatsAnswer, filter_.stats().as_dict()))

        return json_response(await filters.search(answer))

    @router.get("/models", responses=document_answer(ModelsAnswer) | document_problems(503))
    async def models() -> Response:
        """Return the models in use and their features."""
        return json_response(await filters.check(lambda filter_: json_bytes(ModelsAnswer(models=[_model(filter_)]))))

    return router


class _CheckResult(NamedTuple):
    label: str
    n_bytes: int
    json: bytes


def _ignore(_raw: bytes, _verdict: Verdict) -> None:
    """Store nothing."""


def _check(filter_: Filter, raw: bytes, user: str, spool: Callable[[bytes, Verdict], None]) -> _CheckResult:
    verdict = filter_.check(raw, user, located=True)
    spool(raw, verdict)
    answer = answer_of(VerdictAnswer, verdict.as_dict())
    return _CheckResult(verdict.label, len(raw), json_bytes(answer))


def _check_group(groups: Iterator[Group], user: str, filter_: Filter) -> list[_CheckResult]:
    """Check the next group; reading it from disk happens here, in the filter's thread, too."""
    group = next(groups, [])
    messages = [parse(raw) for _, raw in group]
    verdicts = filter_.check_many([prepare_parsed(message, filter_.spec, located=True) for message in messages], user)
    return [
        _CheckResult(verdict.label, len(raw), json_bytes(_upload_answer(source, message, verdict)))
        for (source, raw), message, verdict in zip(group, messages, verdicts, strict=True)
    ]


def _upload_answer(source: str, message: Message, verdict: Verdict) -> UploadVerdictAnswer:
    subject = message.header("subject")[:_MOST_SUBJECT_LENGTH]
    identity = {"source": source, "subject": subject, "sender": message.sender_domain}
    return answer_of(UploadVerdictAnswer, identity | verdict.as_dict())


def _explain(raw: bytes, user: str, filter_: Filter) -> bytes:
    return json_bytes(answer_of(ExplanationAnswer, filter_.explain(raw, user).as_dict()))


def _explain_by_lessons(raw: bytes, user: str, filter_: Filter) -> bytes:
    return json_bytes(answer_of(BackgroundAnswer, filter_.background(raw, user).as_dict()))


def _model(filter_: Filter) -> ModelAnswer:
    options, spec = filter_.options, filter_.spec
    return {
        "name": "filter",
        "labels": list(options.labels),
        "features_version": VERSION,
        "buckets": 1 << spec.bits,
        "kinds": {kind: weight for kind, weight in options.weights.items() if kind in spec.kinds},
        "patterns": len(spec.patterns),
        "smoothing": options.smoothing,
        "learns_from_silence": options.silence.learns,
    }
