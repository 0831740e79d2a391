"""The answers of the API that several routes share: verdicts, lessons, estimates.

Every answer is a typed dictionary. The routes return values of these types, which mypy checks, and the OpenAPI document
is derived from the same types; so an answer is what its documentation says. A dictionary that the library has made
passes through `answer_of`, which compares its keys. Values are neither copied nor converted: answers are long, and
numbers keep all of their digits.
"""

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NotRequired,  # pydantic needs this one before Python 3.12
    TypeVar,
    cast,
)

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

if TYPE_CHECKING:
    from priory.lab.measures.interval import Interval

DIGEST: Final = "2f9c1e0d5b7a48e6a1c3f5079b2d4e68f00c1a2b3d4e5f60718293a4b5c6d7e8"
PLACE: Final = "1793525400.25:864"
#: Decorates a type of answers that has no other keys than those documented.
closed: Final = with_config(ConfigDict(extra="forbid"))
AnswerType = TypeVar("AnswerType")


def answer_of(type_: type[AnswerType], values: Mapping[str, Any]) -> AnswerType:
    """Return a dictionary of the library as an answer; raise TypeError if it has other keys than the type."""
    required, optional = (getattr(type_, f"__{kind}_keys__") for kind in ("required", "optional"))
    if not required <= values.keys() <= required | optional:
        wrong = sorted(required - values.keys() | values.keys() - (required | optional))
        raise TypeError(f"{type_.__name__}: missing or undocumented: {', '.join(wrong)}")
    return cast(AnswerType, values)


@closed
class EstimateAnswer(TypedDict):
    """A figure and its 95 % interval; null where there is not enough data."""

    estimate: Annotated[float | None, Field(examples=[0.0125])]
    low: Annotated[float | None, Field(examples=[0.0083])]
    high: Annotated[float | None, Field(examples=[0.0181])]


def estimate_answer(interval: "Interval") -> EstimateAnswer:
    """Return a figure of the lab as an answer."""
    return answer_of(EstimateAnswer, interval.as_dict())


@closed
class KindAnswer(TypedDict):
    """The sum over all features of one kind."""

    features: Annotated[int, Field(description="Number of features.", examples=[34])]
    sum: Annotated[float, Field(examples=[1.209])]


@closed
class EvidenceAnswer(TypedDict):
    """A feature of the message, what it adds to the log-odds, and where: section, first byte, byte after the last."""

    feature: Annotated[str, Field(examples=["word:lottery"])]
    term: Annotated[float, Field(examples=[0.111])]
    places: Annotated[list[tuple[str, int, int]], Field(examples=[[["text", 51, 58]]])]


@closed
class ItemAnswer(TypedDict):
    """Something that a person can see in the message, such as a phrase, a header or a link."""

    text: Annotated[str, Field(description="As the message shows it, shortened.", examples=["one hundred backlinks"])]
    sum: Annotated[float, Field(description="What it adds to the log-odds.", examples=[1.204])]
    counts: Annotated[
        dict[str, int],
        Field(description="Lessons of each label that had `counted`.", examples=[{"ham": 0, "spam": 14}]),
    ]
    counted: Annotated[str, Field(description="The word or part of the text that lessons had.", examples=["backlinks"])]
    since: NotRequired[
        Annotated[
            str,
            Field(
                description="When the first of them was learned (ISO 8601); only with `lessons`, and if it is known.",
                examples=["2026-03-03T09:30:00.250+00:00"],
            ),
        ]
    ]


@closed
class VerdictReasonAnswer(TypedDict):
    """Things of one kind in the message that speak for one side; the weightiest are listed."""

    what: Annotated[str, Field(examples=["words of the text"])]
    sum: Annotated[float, Field(description="The sum of all of them.", examples=[3.117])]
    items: list[ItemAnswer]


@closed
class VerdictAnswer(TypedDict):
    """The verdict on a message. `prior` + the sums of all `reasons` and `against` = `log_odds`."""

    label: Annotated[str, Field(description="The verdict: a label, or unsure.", examples=["spam"])]
    about: Annotated[
        str, Field(description="The label that probability, log-odds and evidence are about.", examples=["spam"])
    ]
    sentence: Annotated[
        str,
        Field(
            description="The verdict and its strongest reasons in words; text of the message is in it.",
            examples=["Almost certainly spam (99.8 %): it says “backlinks”, as 14 spam and no ham did."],
        ),
    ]
    probability: Annotated[float, Field(ge=0, le=1, examples=[0.9977])]
    probabilities: Annotated[dict[str, float], Field(examples=[{"ham": 0.0023, "spam": 0.9977}])]
    log_odds: Annotated[float, Field(examples=[6.057])]
    prior: Annotated[float, Field(examples=[-0.711])]
    familiarity: Annotated[
        float,
        Field(
            description="Term of a message unlike anything that was taught, towards 0; one of the reasons.",
            examples=[0.0],
        ),
    ]
    user: NotRequired[
        Annotated[str, Field(description="The user whose mail it is, if the request names one.", examples=["ann"])]
    ]
    you: NotRequired[
        Annotated[float, Field(description="Part of the log-odds from this user's own lessons.", examples=[2.1])]
    ]
    everyone: NotRequired[Annotated[float, Field(description="The rest of the log-odds.", examples=[3.957])]]
    reasons: Annotated[list[VerdictReasonAnswer], Field(description="For the label `about`, the weightiest first.")]
    against: Annotated[list[VerdictReasonAnswer], Field(description="Against the label `about`, the weightiest first.")]
    thresholds: Annotated[
        dict[str, float],
        Field(
            description="The probability from which each verdict is given.",
            examples=[{"unsure": 0.4, "spam": 0.96}],
        ),
    ]
    expected_costs: Annotated[
        dict[str, float],
        Field(
            description="The expected cost of each verdict; the lowest wins.",
            examples=[{"ham": 9.98, "spam": 0.23, "unsure": 4.0}],
        ),
    ]
    digest: Annotated[str, Field(description="Identifies the message, for example to forget it.", examples=[DIGEST])]
    reason: Annotated[
        str,
        Field(
            description="Why the filter is unsure, if not for the costs: it cannot judge, the message is unlike all "
            "lessons, or a promise forbids to call it unwanted.",
            examples=[""],
        ),
    ]


@closed
class UploadVerdictAnswer(VerdictAnswer):
    """The verdict on a message of an upload."""

    source: Annotated[str, Field(description="The file, and the number in an mbox.", examples=["inbox.mbox:3"])]
    subject: Annotated[str, Field(examples=["You won"])]
    sender: Annotated[str, Field(description="The sender's domain.", examples=["lottery.example"])]


@closed
class PassedOverAnswer(TypedDict):
    """A file, or a part of one, that is not an acceptable message."""

    source: Annotated[str, Field(examples=["bill.pdf"])]
    reason: Annotated[str, Field(examples=["This is a PDF, not mail."])]


@closed
class UploadAnswer(TypedDict):
    """What every answer to an upload says besides its messages."""

    passed_over: list[PassedOverAnswer]
    stopped: Annotated[
        str | None, Field(description="Why the remaining messages were not processed, or null.", examples=[None])
    ]


@closed
class UploadVerdictsAnswer(UploadAnswer):
    """The verdicts on the messages of an upload."""

    messages: list[UploadVerdictAnswer]


@closed
class SpanAnswer(TypedDict):
    """A part of the message, its shade from -6 (against) to 6 (for), and what it adds to the log-odds."""

    text: Annotated[str, Field(examples=["lottery"])]
    shade: Annotated[int, Field(ge=-6, le=6, examples=[5])]
    sum: Annotated[float, Field(examples=[0.173])]


@closed
class SectionAnswer(TypedDict):
    """A section of the message, such as text or headers."""

    name: Annotated[str, Field(examples=["text"])]
    sum: Annotated[float, Field(examples=[5.969])]
    spans: list[SpanAnswer]


@closed
class ExplanationAnswer(VerdictAnswer):
    """The verdict with all evidence, and the message in coloured spans. `prior` + all sections = `log_odds`.

    `prior` + all `evidence` = `log_odds`, too. More items of each reason are listed than in a verdict.
    """

    kinds: Annotated[dict[str, KindAnswer], Field(examples=[{"word": {"features": 34, "sum": 1.209}}])]
    evidence: Annotated[list[EvidenceAnswer], Field(description="Every feature, the weightiest first.")]
    sections: list[SectionAnswer]


@closed
class MentionedLessonAnswer(TypedDict):
    """A lesson behind a verdict."""

    time: Annotated[
        str, Field(description="When it was learned (ISO 8601).", examples=["2026-11-01T09:30:00.250+00:00"])
    ]
    label: Annotated[str, Field(examples=["spam"])]
    user: Annotated[str, Field(description="The user who taught it; empty if none was named.", examples=["ann"])]
    automatic: Annotated[bool, Field(description="Whether the filter learned it by itself.", examples=[False])]
    source: Annotated[str, Field(description="Where the message was.", examples=["/home/ann/Maildir/.Junk/cur/1.eml"])]
    sender: Annotated[str, Field(description="The sender's domain.", examples=["bestlinks.example"])]
    subject: Annotated[str, Field(description="Of the message; empty if the journal does not have it.", examples=[""])]
    digest: Annotated[str, Field(examples=[DIGEST])]


@closed
class InfluentialLessonAnswer(MentionedLessonAnswer):
    """A lesson, and what it adds to a verdict."""

    adds: Annotated[float, Field(description="The log-odds with it minus those without it.", examples=[1.94])]
    without: Annotated[str, Field(description="The verdict without it.", examples=["unsure"])]
    words: Annotated[str, Field(examples=["mail from bestlinks.example · taught as spam by ann, 3 November"])]


@closed
class SimilarLessonsAnswer(TypedDict):
    """Lessons most like the message, about mail from the same sender, taught alike on the same day."""

    words: Annotated[
        str, Field(examples=["three messages from bestlinks.example that ann taught as spam on 3 November"])
    ]
    likeness: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Of the lesson most like it: the share of the features of both that they have in common.",
            examples=[0.83],
        ),
    ]
    lessons: list[MentionedLessonAnswer]


@closed
class LessonsBehindAnswer(TypedDict):
    """The lessons that moved a verdict most, and those most like the message."""

    influential: Annotated[
        list[InfluentialLessonAnswer], Field(description="Those that add most, for or against, the weightiest first.")
    ]
    similar: list[SimilarLessonsAnswer]


@closed
class ThingAnswer(TypedDict):
    """Something that can be taken out of the message."""

    what: Annotated[str, Field(examples=["“one hundred backlinks”"])]
    text: Annotated[str, Field(description="As the message shows it; empty for a whole part of it.")]
    sum: Annotated[float, Field(description="What it adds to the log-odds.", examples=[1.204])]


@closed
class ThingsTurnAnswer(TypedDict):
    """The fewest things found without which the verdict is another."""

    label: Annotated[str, Field(description="The verdict without them.", examples=["unsure"])]
    log_odds: Annotated[float, Field(description="Of the label `about`, without them.", examples=[2.117])]
    things: list[ThingAnswer]


@closed
class LessonTurnAnswer(TypedDict):
    """A lesson without which the verdict is another."""

    label: Annotated[str, Field(description="The verdict without it.", examples=["unsure"])]
    digest: Annotated[str, Field(examples=[DIGEST])]


@closed
class CostTurnAnswer(TypedDict):
    """Another cost with which the verdict is another."""

    label: Annotated[str, Field(description="The verdict with this cost.", examples=["unsure"])]
    mistake: Annotated[str, Field(examples=["ham called spam"])]
    times: Annotated[float, Field(description="How many times as much it would cost.", examples=[35.0])]


@closed
class CounterfactualsAnswer(TypedDict):
    """What would have changed the verdict; null where nothing was found. Each was tried."""

    sentences: Annotated[
        list[str],
        Field(examples=[["It would have been unsure without “one hundred backlinks” and the link to rb.gy."]]),
    ]
    things: ThingsTurnAnswer | None
    lesson: LessonTurnAnswer | None
    cost: CostTurnAnswer | None


@closed
class BackgroundAnswer(ExplanationAnswer):
    """The same with the lessons behind the verdict, and what would have changed it."""

    lessons: LessonsBehindAnswer
    counterfactuals: CounterfactualsAnswer


@closed
class LessonAnswer(TypedDict):
    """A lesson in the journal."""

    time: Annotated[
        str, Field(description="When it was learned (ISO 8601).", examples=["2026-11-01T09:30:00.250+00:00"])
    ]
    label: Annotated[str, Field(examples=["spam"])]
    user: Annotated[str, Field(description="The user who taught it; empty if none was named.", examples=["ann"])]
    automatic: Annotated[bool, Field(description="Whether the filter learned it by itself.", examples=[False])]
    source: Annotated[str, Field(description="Where the message was.", examples=["/home/ann/Maildir/.Junk/cur/1.eml"])]
    sender: Annotated[str, Field(description="The sender's domain.", examples=["lottery.example"])]
    subject: Annotated[
        str, Field(description="The subject, if the journal has it; otherwise empty.", examples=["You won"])
    ]
    digest: Annotated[str, Field(examples=[DIGEST])]
    certainty: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="The probability of the label just before it was learned; null if it was not scored.",
            examples=[0.9713],
        ),
    ]
    place: Annotated[str, Field(description="Use it as `after` to continue after this lesson.", examples=[PLACE])]
