from typing import Final

from priory.message.fields import Fields

DEEPEST: Final = 25
MOST_PARTS: Final = 250
MOST_BOUNDARY_LINES: Final = 20_000
MOST_HEADER_BYTES: Final = 262_144
MOST_DECODED_BYTES: Final = 33_554_432

class Kind:
    """What the headers of a part say it is."""

    content_type: str
    parameters: dict[str, str]
    charset: str | None
    encoding: str
    disposition: str
    filename: str

class Part:
    """A leaf of the message: its own header fields, what they say it is, and where its encoded body lies."""

    fields: Fields
    kind: Kind
    start: int
    end: int
    @property
    def content_type(self) -> str: ...
    @property
    def parameters(self) -> dict[str, str]: ...

class Structure:
    """All parts of a message, the header fields of the containers on the way to them, and what was wrong."""

    raw: bytes
    body: int
    parts: list[Part]
    outer: list[Fields]
    defects: list[str]

class Enclosing(Structure):
    """The parts of a message, but whole messages within it are not taken apart: `enclosed` is where they lie."""

    enclosed: list[tuple[int, int]]
    def __init__(self, raw: bytes, start: int) -> None: ...

def structure(raw: bytes, start: int) -> Structure: ...
def header_end(raw: bytes, start: int, end: int) -> tuple[int, int]: ...
def body(raw: bytes, part: Part, most: int) -> tuple[bytes, str | None]: ...
