"""Names of features that are part of a section's text, made from their positions.

Each function returns a callback that takes the start and end of a feature and returns its readable name.
"""

import re
from collections.abc import Callable

from priory.features.hashing import Tokens
from priory.features.sections import Section

_SPACE = ord(" ")
_TAG = re.compile(rb"<([^\x00- >]+)[^>]*>")


def words_namer(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Name runs of `n` words: the words with one space between them."""

    def name(start: int, _end: int) -> str:
        return " ".join(section.folded[begin:end].decode("utf-8", "replace") for begin, end in tokens.run(start, n))

    return name


def header_words_namer(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Name words of headers: the header's name and the words (`subject=limited offer`)."""
    text = section.folded
    words = words_namer(section, tokens, n)

    def name(start: int, end: int) -> str:
        line = text.rfind(b"\n", 0, start) + 1
        while line and text[line] <= _SPACE:  # a line that continues a header
            line = text.rfind(b"\n", 0, line - 1) + 1
        colon = text.find(b":", line)
        header = text[line : colon if colon >= 0 else len(text)].decode("utf-8", "replace")
        return header if start == line else f"{header}={words(start, end)}"

    return name


def gram_namer(section: Section) -> Callable[[int, int], str]:
    """Name n-grams: the bytes in quotes."""
    return lambda start, end: repr(section.shown[start:end].decode("utf-8", "replace"))


def tags_namer(section: Section) -> Callable[[int, int], str]:
    """Name tags: a single tag by its text, a pair by the two names (`<p><b>`)."""

    def name(start: int, end: int) -> str:
        text = section.folded[start:end]
        names = _TAG.findall(text)
        joined = text if len(names) == 1 else b"".join(b"<%b>" % tag for tag in names)
        return joined.decode("utf-8", "replace")

    return name
