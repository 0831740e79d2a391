from typing import Final

from priory.features.hashing import Tokens
from priory.message import Message

MOST_HEADER: Final = 400
MOST_HEADERS: Final = 6_000
MOST_PART_FIELDS: Final = 40
MOST_TEXT: Final = 12_000
MOST_SOURCE: Final = 3_000
MOST_LINK: Final = 200
MOST_LINKS: Final = 50

class Section:
    """A named text, as shown and in lower case."""

    name: str
    shown: bytes
    folded: bytes
    def __init__(self, name: str, shown: bytes, folded: bytes) -> None: ...

def section(name: str, text: bytes, most: int) -> Section: ...

class Sections:
    """The sections of one message."""

    message: Message
    def __init__(self, message: Message) -> None: ...
    @property
    def headers(self) -> Section: ...
    @property
    def part_headers(self) -> Section: ...
    @property
    def text(self) -> Section: ...
    @property
    def source(self) -> Section: ...
    @property
    def distinct_links(self) -> list[tuple[bytes, bytes]]: ...
    @property
    def links(self) -> Section: ...
    @property
    def markup(self) -> Section: ...
    @property
    def text_tokens(self) -> Tokens: ...
    @property
    def link_tokens(self) -> Tokens: ...
    @property
    def header_tokens(self) -> Tokens: ...
