"""What the routes to the journal answer, for their documentation."""

from pydantic import Field

from priory.server.http.schemas import DIGEST, Answer

_PLACE = "1793525400.25:864"


class Listed(Answer):
    """A lesson: who taught what and when."""

    time: str = Field(description="When it was learned (ISO 8601).", examples=["2026-11-01T09:30:00.250+00:00"])
    label: str = Field(examples=["spam"])
    user: str = Field(description="The empty name is nobody in particular.", examples=["ann"])
    automatic: bool = Field(description="Whether the filter has learned it by itself.", examples=[False])
    source: str = Field(description="Where the message lay.", examples=["/home/ann/Maildir/.Junk/cur/1.eml"])
    sender: str = Field(description="The domain.", examples=["lottery.example"])
    digest: str = Field(examples=[DIGEST])
    certainty: float | None = Field(
        ge=0, le=1, description="The probability of the label before it was told; null: not scored.", examples=[0.9713]
    )
    place: str = Field(description="A page can go on after it.", examples=[_PLACE])


class Page(Answer):
    """Some lessons, the latest first. `after` is where the next page begins, null at the end."""

    lessons: list[Listed]
    after: str | None = Field(examples=[_PLACE])
    total: int = Field(description="How many lessons the selection has.", examples=[1042])


class ForgottenMany(Answer):
    """How many lessons were selected and forgotten. They differ if others forgot or turned round some meanwhile."""

    selected: int = Field(examples=[12])
    forgotten: int = Field(examples=[12])


class Suspect(Listed):
    """A lesson whose label looks wrong."""

    rather: str = Field(description="What it looks like.", examples=["ham"])
    probability: float = Field(ge=0, le=1, description="That the label is wrong.", examples=[0.93])


class Suspects(Answer):
    """Lessons whose labels look wrong. The most suspicious comes first."""

    suspects: list[Suspect]
    total: int = Field(description="How many there are.", examples=[3])
    expected_wrong: float = Field(description="How many of all are wrong, as far as is expected.", examples=[4.2])
    scored: int = Field(description="How many lessons could be judged.", examples=[1004])
    reason: str = Field(description="Why none could be, if so.", examples=[""])


class Confirmed(Answer):
    """What became of a confirmation."""

    outcome: str = Field(
        description="confirmed, doubted, or unknown if there is no such lesson", examples=["confirmed"]
    )
    digest: str = Field(examples=[DIGEST])


class Relearned(Answer):
    """What became of a lesson that was to be turned round."""

    outcome: str = Field(description="relearned, known, or unknown if there is none", examples=["relearned"])
    digest: str = Field(examples=[DIGEST])
    was: str | None = Field(description="The label it had before.", examples=["spam"])
