"""The canonical text of a message, in sections: what features are drawn from, and what an explanation colours.

Every feature has a place in some section, so whatever the filter holds for or against a message can be pointed at.
A section is kept as shown and folded to lower case, in UTF-8, byte for byte in step.
"""

import re
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from priory.features.hashing import Tokens, squeeze
from priory.message import Link, Message

MOST_HEADER: Final = 400  #: bytes of one header: long ones are signatures and routes
MOST_HEADERS: Final = 6_000
MOST_TEXT: Final = 12_000
MOST_SOURCE: Final = 3_000  #: of which the headers take their part first
MOST_LINK: Final = 200
MOST_LINKS: Final = 50

# Characters whose lower case takes more or fewer bytes; tests/features/test_sections.py looks for others.
_OUT_OF_STEP = re.compile("[İȺȾẞ\u2126\u212a\u212bⱢⱤⱭⱮⱯⱰⱾⱿꞍꞪꞫꞬꞭꞮꞰꞱꞲꟅ]")


class Section(NamedTuple):
    """A named stretch of text, as shown and in lower case."""

    name: str
    shown: bytes
    folded: bytes


def section(name: str, text: str, most: int) -> Section:
    """Return a section of at most `most` bytes.

    >>> section("text", "Grüße, 50 % OFF", 100).folded.decode()
    'grüße, 50 % off'
    """
    if not text.isascii():
        text = _OUT_OF_STEP.sub(lambda letter: letter[0].lower(), text)
    folded = _cut(text.lower().encode("utf-8", "replace"), most)
    return Section(name, _cut(text.encode("utf-8", "replace"), most), folded)


def _cut(data: bytes, most: int) -> bytes:
    """Cut to `most` bytes, not inside a character."""
    if len(data) <= most:
        return data
    while most and data[most] & 0xC0 == 0x80:
        most -= 1
    return data[:most]


class Sections:
    """The sections of one message; what no enabled kind of feature asks for is never computed."""

    def __init__(self, message: Message) -> None:
        self.message = message

    @cached_property
    def headers(self) -> Section:
        """The headers in their order, with the folds of the sender."""
        lines = "\n".join(f"{h.name}:{h.value[:MOST_HEADER]}" for h in self.message.headers)
        return section("headers", lines, MOST_HEADERS)

    @cached_property
    def part_headers(self) -> Section:
        """The headers inside the body, of its parts."""
        lines = "\n".join(f"{h.name}:{h.value[:MOST_HEADER]}" for h in self.message.part_headers[:40])
        return section("part headers", lines, MOST_HEADERS)

    @cached_property
    def text(self) -> Section:
        """The visible text."""
        text = squeeze(self.message.text.encode("utf-8", "replace"))
        return section("text", text[: MOST_TEXT + 4].decode("utf-8", "replace"), MOST_TEXT)

    @cached_property
    def source(self) -> Section:
        """The text with its markup; where there is none, it is the visible text."""
        parts = self.message.texts
        if all(part.content_type != "text/html" for part in parts):
            return self.text
        source = squeeze("\n".join(part.source for part in parts).encode("utf-8", "replace"))
        return section("source", source[: MOST_SOURCE + 4].decode("utf-8", "replace"), MOST_SOURCE)

    @cached_property
    def distinct_links(self) -> tuple[Link, ...]:
        """The links, each once, with targets on one line."""
        once = {link.target: link for link in reversed(self.message.links) if not link.target.isspace()}
        return tuple(
            Link(" ".join(link.target.split())[:MOST_LINK], link.text)
            for link in islice(reversed(once.values()), MOST_LINKS)
        )

    @cached_property
    def links(self) -> Section:
        """The targets of the links, a line each."""
        return section("links", "\n".join(link.target for link in self.distinct_links), MOST_HEADERS)

    @cached_property
    def markup(self) -> Section:
        """The skeleton of the HTML."""
        return section("markup", self.message.skeleton, MOST_HEADERS)

    @cached_property
    def text_tokens(self) -> Tokens:
        """The words of the text."""
        return Tokens(self.text.folded, False)

    @cached_property
    def link_tokens(self) -> Tokens:
        """The words of the links' targets."""
        return Tokens(self.links.folded, False)

    @cached_property
    def header_tokens(self) -> Tokens:
        """The words of the headers, each with its header's name."""
        return Tokens(self.headers.folded, True)
