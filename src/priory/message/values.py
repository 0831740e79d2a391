"""The values of a parsed message: header fields, links and attachments."""

from typing import NamedTuple


class Header(NamedTuple):
    """One header field: its name as written and its decoded value, with line folds unchanged."""

    name: str
    value: str


class Link(NamedTuple):
    """The target of a link and its visible text (for a bare address in the text, the address)."""

    target: str
    text: str


class Attachment(NamedTuple):
    """A part that is not text, or a text part that is declared as a file."""

    content_type: str
    filename: str
    size_bytes: int
    digest: str
