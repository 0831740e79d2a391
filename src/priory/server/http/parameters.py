"""Query parameters that several routes take: label, user, digest, and the fields that select lessons."""

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Depends, Query
from pydantic import AfterValidator

from priory.journal import Selection, read_selection

MOST_NAME_LENGTH: Final = 200
_MOST_TEXT_LENGTH: Final = 1_000
_NAME: Final = rf"^[^\x00-\x1f\x7f]{{0,{MOST_NAME_LENGTH}}}$"
User = Annotated[str, Query(description="The user who teaches; a message is learned once per user.", pattern=_NAME)]
ForUser = Annotated[
    str, Query(description="The user whose mail it is: this user's own lessons count, too.", pattern=_NAME)
]
Digest = Annotated[
    str, Query(description="The digest of the message, instead of the message.", pattern="^[0-9a-f]{64}$")
]
_Text = Annotated[str | None, Query(max_length=_MOST_TEXT_LENGTH)]
_Time = Annotated[
    datetime | None,
    Query(
        description="ISO 8601; without an offset from UTC, in the daemon's time zone.",
        examples=["2026-11-01T14:30:00+01:00"],
    ),
]
_Probability = Annotated[float | None, Query(ge=0, le=1)]


def label_parameter(labels: tuple[str, ...]) -> Any:
    """Return the type of a parameter that is one of these labels."""

    def refuse_unknown(label: str) -> str:
        if label not in labels:
            raise ValueError(f"this filter knows {', '.join(labels)}")
        return label

    return Annotated[str, AfterValidator(refuse_unknown), Query(json_schema_extra={"enum": [*labels]})]


def selection_parameters(labels: tuple[str, ...]) -> Any:
    """Return the dependency of a route that selects lessons; a lesson is selected if all parameters fit it."""
    Label = label_parameter(labels)  # noqa: N806 - a type

    async def selection(  # noqa: PLR0913, PLR0917 - FastAPI makes parameters of them
        label: Label | None = None,  # type: ignore[valid-type]
        user: Annotated[_Text, Query(description="The user who taught; empty: no user.")] = None,
        source: Annotated[_Text, Query(description="How the source begins.")] = None,
        sender: Annotated[_Text, Query(description="The sender's domain.", examples=["mail.example"])] = None,
        since: Annotated[_Time, Query(description="Learned at this time or later.")] = None,
        until: Annotated[_Time, Query(description="Learned before this time.")] = None,
        automatic: Annotated[
            bool | None, Query(description="Learned by the filter itself; false: taught by people.")
        ] = None,
        digest: Annotated[
            str | None, Query(description="How the digest begins.", pattern="^[0-9a-fA-F]{0,64}$")
        ] = None,
        certainty_below: Annotated[
            _Probability, Query(description="The label had a probability below this before it was learned.")
        ] = None,
        certainty_above: _Probability = None,
        subject: Annotated[_Text, Query(description="A part of the subject, in capital or small letters.")] = None,
    ) -> Selection:
        return read_selection(
            {
                "label": label,
                "user": user,
                "source": source,
                "sender": sender,
                "digest": digest,
                "since": since,
                "until": until,
                "automatic": automatic,
                "certainty_below": certainty_below,
                "certainty_above": certainty_above,
                "subject": subject,
            }
        )

    return Depends(selection)
