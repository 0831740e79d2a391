"""Parameters that several routes take."""

from collections.abc import Callable
from typing import Annotated, Final, TypeVar

from fastapi import Query

MOST_OF_NAME: Final = 200  #: characters
_NAMES: Final = rf"^[^\x00-\x1f\x7f]{{0,{MOST_OF_NAME}}}$"
User = Annotated[str, Query(description="Whose lesson it is; a message is learned once per user.", pattern=_NAMES)]
ForUser = Annotated[str, Query(description="Whose mail it is: what they have taught counts, too.", pattern=_NAMES)]
Digest = Annotated[str, Query(description="Of the message, instead of the message itself.", pattern="^[0-9a-f]{64}$")]
Said = TypeVar("Said", str, str | None)


def known(labels: tuple[str, ...]) -> Callable[[Said], Said]:
    """Return what refuses all labels but these."""

    def refused_if_unknown(label: Said) -> Said:
        if label is not None and label not in labels:
            raise ValueError(f"this filter knows {', '.join(labels)}")
        return label

    return refused_if_unknown
