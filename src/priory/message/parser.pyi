from typing import Final

from priory.message.fields import Fields
from priory.message.values import Attachment, Header, Link

MOST_TEXT_BYTES: Final = 262_144
MOST_SKELETON_BYTES: Final = 8_192
MOST_LINKS: Final = 500

class Text:
    """One text part: its visible text (HTML without markup) and its source. For plain text the two are the same."""

    content_type: str
    charset: str | None
    visible: bytes
    markup: bytes
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> str: ...

class Message:
    """A parsed message."""

    raw: bytes
    own: Fields
    inner: list[Fields]
    bodies: list[Text]
    targets: list[tuple[bytes, bytes]]
    tags: bytes
    attachments: tuple[Attachment, ...]
    sender_domain: str
    digest: bytes
    @property
    def headers(self) -> tuple[Header, ...]: ...
    @property
    def part_headers(self) -> tuple[Header, ...]: ...
    @property
    def texts(self) -> tuple[Text, ...]: ...
    @property
    def text(self) -> str: ...
    @property
    def links(self) -> tuple[Link, ...]: ...
    @property
    def skeleton(self) -> str: ...
    @property
    def defects(self) -> tuple[str, ...]: ...
    def header(self, name: str) -> str: ...

def parse(raw: bytes) -> Message: ...
def envelope_end(raw: bytes) -> int: ...
