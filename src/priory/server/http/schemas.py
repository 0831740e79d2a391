"""What the API answers, for its documentation: the words are those of `Verdict.as_dict` and its like.

Answers are not made of these: the values come as the library has them, and a test finds what does not fit.
"""

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

EXAMPLE_MAIL: Final = (
    "From: Euro Fortune Fund <prize@lottery.example>\r\n"
    "To: ann@mail.example\r\n"
    "Subject: You won\r\n"
    "\r\n"
    "Dear lucky winner, your address was selected in the lottery.\r\n"
)
OUTCOME: Final = "learned, known, relearned, or kept until the journal can be reached"
MOST_EVIDENCE_OF_SEVERAL: Final = 3  #: listed of each of several messages
DIGEST: Final = "2f9c1e0d5b7a48e6a1c3f5079b2d4e68f00c1a2b3d4e5f60718293a4b5c6d7e8"


class Answer(BaseModel):
    """What is answered has these fields, and no others."""

    model_config = ConfigDict(extra="forbid")


class Kind(Answer):
    """All features of one kind."""

    features: int = Field(examples=[34])
    sum: float = Field(examples=[1.209])


class Evidence(Answer):
    """A feature of the message, what it adds to the log-odds, and where: section, first byte, byte after the last."""

    feature: str = Field(examples=["word:lottery"])
    term: float = Field(examples=[0.111])
    places: list[tuple[str, int, int]] = Field(examples=[[["text", 51, 58]]])


class Verdict(Answer):
    """What is said about a message. `prior` + all `evidence` + `other_evidence` = `log_odds`."""

    label: str = Field(description="What is said: a label, or unsure.", examples=["spam"])
    about: str = Field(description="The label that probability, log-odds and evidence are about.", examples=["spam"])
    probability: float = Field(ge=0, le=1, examples=[0.9977])
    probabilities: dict[str, float] = Field(examples=[{"ham": 0.0023, "spam": 0.9977}])
    log_odds: float = Field(examples=[6.057])
    prior: float = Field(examples=[-0.711])
    user: str | None = Field(None, description="Whose mail it is, if that was said; and then:", examples=["ann"])
    you: float | None = Field(None, description="What of the log-odds that user has taught.", examples=[2.1])
    everyone: float | None = Field(None, description="All else of them.", examples=[3.957])
    kinds: dict[str, Kind] = Field(examples=[{"word": {"features": 34, "sum": 1.209}}])
    evidence: list[Evidence]
    other_evidence: float = Field(description="The sum of what is not listed.", examples=[5.911])
    thresholds: dict[str, float] = Field(examples=[{"unsure": 0.4, "spam": 0.96}])
    expected_costs: dict[str, float] = Field(examples=[{"ham": 9.98, "spam": 0.23, "unsure": 4.0}])
    digest: str = Field(description="By which the message can be forgotten.", examples=[DIGEST])
    reason: str = Field(description="Why nothing could be said, if so.", examples=[""])


class OfUpload(Verdict):
    """A verdict on one of several messages; fewer evidence is listed, the rest is in `other_evidence`."""

    source: str = Field(description="The file, and which message of an mbox.", examples=["inbox.mbox:3"])
    subject: str = Field(examples=["You won"])
    sender: str = Field(description="The domain of who sent it.", examples=["lottery.example"])


class PassedOver(Answer):
    """What was no message that can be taken."""

    source: str = Field(examples=["bill.pdf"])
    reason: str = Field(examples=["This is a PDF, not mail."])


class _Several(Answer):
    passed_over: list[PassedOver]
    stopped: str | None = Field(description="Why the rest was not looked at, if so.", examples=[None])


class Verdicts(_Several):
    """Of an upload, the verdict on each message."""

    messages: list[OfUpload]


class Span(Answer):
    """A stretch of the message, its shade from -6 (against) to 6 (for), and what it adds to the log-odds."""

    text: str = Field(examples=["lottery"])
    shade: int = Field(ge=-6, le=6, examples=[5])
    sum: float = Field(examples=[0.173])


class Section(Answer):
    """A section of the message, such as text or headers."""

    name: str = Field(examples=["text"])
    sum: float = Field(examples=[5.969])
    spans: list[Span]


class Explanation(Verdict):
    """A verdict with all evidence, and the message coloured by it: `prior` + all sections = `log_odds`."""

    sections: list[Section]


class Lesson(Answer):
    """What became of a lesson; it is durable."""

    outcome: str = Field(description=OUTCOME, examples=["learned"])
    digest: str = Field(examples=[DIGEST])
    was: str | None = Field(description="The label it had before, if it was relearned.", examples=[None])
    before: dict[str, float] = Field(
        description="The probability of each label before.", examples=[{"ham": 0.62, "spam": 0.38}]
    )
    after: dict[str, float] = Field(examples=[{"ham": 0.03, "spam": 0.97}])


class LessonOfUpload(Answer):
    """What became of one of several lessons; it is durable."""

    source: str = Field(description="The file, and which message of an mbox.", examples=["inbox.mbox:3"])
    outcome: str = Field(description=OUTCOME, examples=["learned"])
    digest: str = Field(examples=[DIGEST])
    was: str | None = Field(description="The label it had before, if it was relearned.", examples=[None])


class Lessons(_Several):
    """Of an upload, what became of each message."""

    messages: list[LessonOfUpload]


class Forgotten(Answer):
    """What became of a lesson that was to be forgotten."""

    outcome: str = Field(description="forgotten, unknown if there was none, or kept", examples=["forgotten"])
    digest: str = Field(examples=[DIGEST])
    was: str | None = Field(description="The label that was taught.", examples=["spam"])


class Calibration(Answer):
    """How scores are read: log-odds = `slope` · score + `intercept`."""

    slope: float
    intercept: float


class Stats(Answer):
    """What was learned, and how scores are read."""

    lessons: dict[str, int] = Field(examples=[{"ham": 1004, "spam": 996}])
    automatic: dict[str, int] = Field(description="Those that the filter has learned by itself.")
    changes: int
    buckets_used: int
    buckets: int
    scored: dict[str, int] = Field(description="Lessons that were scored before they were learned.")
    calibration: dict[str, Calibration]
    thresholds: dict[str, float]
    journal_bytes: int


class Costs(Answer):
    """What each mistake costs, and from which probability on what is said."""

    labels: list[str] = Field(examples=[["ham", "spam"]])
    costs: dict[str, dict[str, float] | float] = Field(
        description="For what is said, what each other truth costs.",
        examples=[{"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 4}],
    )
    thresholds: dict[str, float] = Field(examples=[{"unsure": 0.4, "spam": 0.96}])


class Model(Answer):
    """A model that answers, and what it reads."""

    name: str = Field(examples=["filter"])
    labels: list[str]
    features_version: int
    buckets: int
    kinds: dict[str, float] = Field(description="The kinds of features that are read, each with its weight.")
    patterns: int = Field(description="How many patterns of your own.")
    smoothing: float
    autolearn: bool


class Models(Answer):
    """The models that answer."""

    models: list[Model]


def answered(model: type[BaseModel], of_several: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """Return what the documentation of a route says of its answer, about a message or about several."""
    said = [each.__doc__.partition(".")[0] + "." for each in (model, of_several) if each and each.__doc__]
    return {200: {"model": model | of_several if of_several else model, "description": " ".join(said)}}
