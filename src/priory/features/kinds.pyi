from collections.abc import Collection, Mapping
from typing import Final

from priory.features.hashing import Keys
from priory.message import Message

KINDS: Final[tuple[str, ...]]
NAMED: Final[int]
GRAM_LENGTH: Final = 6
MOST_MARKUP: Final = 3_000
MOST_PART_HEADERS: Final = 500

def find(
    message: Message, kinds: Collection[str], patterns: Mapping[str, str], bits: int, located: bool = False
) -> Keys: ...
