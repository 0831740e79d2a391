"""Names of features that are part of a section's text, made from their positions.

Each function returns a callback that takes the start and end of a feature and returns its readable name.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from priory.features.hashing import Tokens
from priory.features.sections import Section

_FIELD = re.compile(rb"^[^\x00- ]", re.MULTILINE)
_TAG = re.compile(rb"<([^\x00- >]+)[^>]*>")


def words_namer(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Name runs of `n` words: the words with one space between them."""
    spans = tokens.spans()
    starts = [start for start, _ in spans]

    def name(start: int, _end: int) -> str:
        first = bisect_left(starts, start)
        return " ".join(section.folded[begin:end].decode("utf-8", "replace") for begin, end in spans[first : first + n])

    return name


def header_words_namer(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Name words of headers: the header's name and the words (`subject=limited offer`)."""
    text = section.folded
    lines = [field.start() for field in _FIELD.finditer(text)]
    words = words_namer(section, tokens, n)

    def name(start: int, end: int) -> str:
        line = lines[bisect_right(lines, start) - 1]
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
