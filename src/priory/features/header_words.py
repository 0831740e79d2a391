"""Words of the headers, each tagged with its header: "offer" in the subject is not "offer" in a mailer's name."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

from priory.features.found import Found
from priory.features.sections import Section, Sections
from priory.features.words import joined_words


def header_words(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find names of headers (`subject`), words in them (`subject=offer`) and pairs (`subject=limited time`).

    >>> from priory.message import parse
    >>> found = list(header_words(Sections(parse(b"Subject: A limited offer\\n\\n")), seed=1, bits=22))
    >>> [f.value(i) for f in found for i in range(len(f.buckets))]
    ['subject', 'subject=limited', 'subject=offer', 'subject=limited offer']
    """
    value_at = _namer(sections.headers)
    for n in (1, 2):
        buckets, starts, ends = sections.header_tokens.runs(n, seed, bits)
        yield Found(sections.headers, buckets, starts, ends, lambda i, s=starts, e=ends: value_at(s[i], e[i]))  # type: ignore[misc]


def _namer(section: Section):  # type: ignore[no-untyped-def]
    @cache
    def line_starts() -> list[int]:
        text = section.folded
        return [i for i in range(len(text)) if (i == 0 or text[i - 1] == 10) and text[i] > 32]

    def value_at(start: int, end: int) -> str:
        line = line_starts()[bisect_right(line_starts(), start) - 1]
        name = section.folded[line : section.folded.find(b":", line)].decode("utf-8", "replace")
        return name if start == line else f"{name}={joined_words(section.folded[start:end])}"

    return value_at
