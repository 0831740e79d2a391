"""Names for features that are cut out of a section: from the place where one stands to what people call it."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from priory.features.hashing import Tokens
from priory.features.sections import Section

_FIELD = re.compile(rb"^[^\x00- ]", re.MULTILINE)
_TAG = re.compile(rb"<([^\x00- >]+)[^>]*>")


def words_named(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Return what names `n` words by their place: the words, one space between them."""
    spans = tokens.spans()
    starts = [start for start, _ in spans]

    def named(start: int, _end: int) -> str:
        first = bisect_left(starts, start)
        return " ".join(section.folded[begin:end].decode("utf-8", "replace") for begin, end in spans[first : first + n])

    return named


def header_words_named(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Return what names words of headers by their place: the header, and the words in it (`subject=limited offer`)."""
    text = section.folded
    lines = [field.start() for field in _FIELD.finditer(text)]
    words = words_named(section, tokens, n)

    def named(start: int, end: int) -> str:
        line = lines[bisect_right(lines, start) - 1]
        colon = text.find(b":", line)
        name = text[line : colon if colon >= 0 else len(text)].decode("utf-8", "replace")
        return name if start == line else f"{name}={words(start, end)}"

    return named


def gram_named(section: Section) -> Callable[[int, int], str]:
    """Return what names n-grams by their place: the bytes, in quotes."""
    return lambda start, end: repr(section.shown[start:end].decode("utf-8", "replace"))


def tags_named(section: Section) -> Callable[[int, int], str]:
    """Return what names tags by their place: one as it stands, two by their names (`<p><b>`)."""

    def named(start: int, end: int) -> str:
        stretch = section.folded[start:end]
        names = _TAG.findall(stretch)
        joined = stretch if len(names) == 1 else b"".join(b"<%b>" % name for name in names)
        return joined.decode("utf-8", "replace")

    return named
