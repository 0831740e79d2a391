from array import array
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from priory.features import Numbers
from priory.features.sections import Section

GROUPS: Final[tuple[str, ...]]
#: The number of a section in `sections`, the first byte, the byte after the last, and the share.
PlaceShare: TypeAlias = tuple[int, int, int, float]
#: The number of an item, its share and text; of its weightiest feature the number of the kind (-1 without one), the
#: bucket, the text, and whether it begins the item.
ItemShare: TypeAlias = tuple[int, float, str, int, int, str, bool]

class Places:
    """The places of a message, each with its exact share of a score."""

    sections: tuple[Section, ...]
    taken: list[float]
    nowhere: list[tuple[int, float]]
    units: list[PlaceShare]
    pieces: list[tuple[int, int, int, float, int]]
    def __init__(
        self,
        found: list[Any],
        buckets: Numbers,
        offsets: Numbers,
        terms: array[float],
        sign: int,
        headers: dict[bytes, int],
        ignored: Sequence[Sequence[tuple[str, int, int]]],
    ) -> None: ...
    def place(self, i: int) -> PlaceShare: ...
    def places_of(self, item: int) -> list[PlaceShare]: ...
    def reasons(
        self, most: int, strong: float, least: float, kinds: int
    ) -> list[tuple[int, float, int, list[ItemShare]]]: ...

def kind_totals(terms: array[float], offsets: Numbers, sign: int) -> list[float]: ...
