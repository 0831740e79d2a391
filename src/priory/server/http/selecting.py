"""The parameters by which lessons are selected, the same for who looks at them and for who forgets them."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import AfterValidator

from priory.journal import Selection, SelectionError
from priory.server.http.parameters import known

_LONGEST = 1_000
_Text = Annotated[str | None, Query(max_length=_LONGEST)]
_Time = Annotated[
    datetime | None,
    Query(
        description="As ISO 8601 has it; without an offset from Greenwich, by the clock of the daemon.",
        examples=["2026-11-01T14:30:00+01:00"],
    ),
]
_Probability = Annotated[float | None, Query(ge=0, le=1)]


def selecting(labels: tuple[str, ...]) -> Any:
    """Return what a route depends on that takes a selection; lessons are meant for which all that is said is true."""

    async def selection(  # noqa: PLR0913, PLR0917 - FastAPI makes parameters of them
        label: Annotated[
            str | None, AfterValidator(known(labels)), Query(json_schema_extra={"enum": [*labels]})
        ] = None,
        user: Annotated[_Text, Query(description="Whose lessons; the empty name is nobody in particular.")] = None,
        source: Annotated[_Text, Query(description="How the source begins.")] = None,
        sender: Annotated[_Text, Query(description="The domain.", examples=["mail.example"])] = None,
        since: Annotated[_Time, Query(description="Learned then or later.")] = None,
        until: Annotated[_Time, Query(description="Learned before.")] = None,
        automatic: Annotated[
            bool | None, Query(description="Learned by the filter itself; false: taught by people.")
        ] = None,
        digest: Annotated[
            str | None, Query(description="The digits with which it begins.", pattern="^[0-9a-fA-F]{0,64}$")
        ] = None,
        certainty_below: Annotated[
            _Probability, Query(description="The label had a probability below this before it was told.")
        ] = None,
        certainty_above: _Probability = None,
    ) -> Selection:
        times = _seconds(since), _seconds(until)
        return Selection(label, user, source, sender, *times, automatic, digest, certainty_below, certainty_above)

    return Depends(selection)


def _seconds(time: datetime | None) -> float | None:
    try:
        return None if time is None else time.timestamp()
    except (ValueError, OverflowError):
        raise SelectionError("no lesson is of such a time: take one of this century") from None
