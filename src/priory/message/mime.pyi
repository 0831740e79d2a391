from typing import Final

from priory.message.fields import Budget, Fields

DEEPEST: Final = 25
MOST_PARTS: Final = 250
MOST_HEADER_BYTES: Final = 262_144
MOST_DECODED_BYTES: Final = 33_554_432
TOO_MUCH_WORK: Final = "too much work"

class Kind:
    """The content type, encoding and file name that the headers of a part declare."""

    content_type: str
    parameters: dict[str, str]
    charset: str | None
    encoding: str
    disposition: str
    filename: str

class Part:
    """A leaf of the MIME tree: its header fields, its kind, and the positions of its encoded body."""

    fields: Fields
    kind: Kind
    start: int
    end: int
    @property
    def content_type(self) -> str: ...
    @property
    def parameters(self) -> dict[str, str]: ...

class Structure:
    """The MIME tree of a message: its parts, the header fields of the containers around them, and its defects."""

    raw: bytes
    body: int
    parts: list[Part]
    outer: list[Fields]
    defects: list[str]
    budget: Budget  #: what is left of it

class OuterStructure(Structure):
    """The MIME tree of a message without the insides of attached messages; `attached` has their positions."""

    attached: list[tuple[int, int]]
    def __init__(self, raw: bytes, start: int) -> None: ...

def structure(raw: bytes, start: int) -> Structure: ...
def header_end(raw: bytes, start: int, end: int) -> tuple[int, int]: ...
def body(raw: bytes, part: Part, most: int) -> tuple[bytes, str | None]: ...
