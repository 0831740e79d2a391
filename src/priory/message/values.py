"""The values that a message is made of."""

from typing import NamedTuple


class Header(NamedTuple):
    """One field: its name as written, and its value decoded, with folds kept as the sender made them."""

    name: str
    value: str


class Link(NamedTuple):
    """Where a link leads, and the words it is shown as (for a bare address in the text, the address)."""

    target: str
    text: str


class Attachment(NamedTuple):
    """A part that is no text, or a text that is offered as a file."""

    content_type: str
    filename: str
    size_bytes: int
    digest: str
