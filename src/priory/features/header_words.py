"""Words of the headers, each tagged with its header: "offer" in the subject is not "offer" in a mailer's name."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial

from priory.features.found import Found
from priory.features.hashing import Tokens
from priory.features.sections import Section, Sections
from priory.features.words import words_from
from priory.kernels import Positions


def header_words(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find names of headers (`subject`), words in them (`subject=offer`) and pairs (`subject=limited time`).

    >>> from priory.message import parse
    >>> found = list(header_words(Sections(parse(b"Subject: A limited offer\\n\\n")), seed=1, bits=22))
    >>> [f.value(i) for f in found for i in range(len(f.buckets))]
    ['subject', 'subject=limited', 'subject=offer', 'subject=limited offer']
    """
    names = _Names(sections.headers, sections.header_tokens)
    for n in (1, 2):
        buckets, starts, ends = sections.header_tokens.runs(n, seed, bits)
        yield Found(sections.headers, buckets, starts, ends, partial(names.value, starts, n))


class _Names:
    """Tells in which header a word stands; where the headers begin is looked up when first asked."""

    __slots__ = ("_section", "_starts", "_tokens")

    def __init__(self, section: Section, tokens: Tokens) -> None:
        self._section = section
        self._tokens = tokens
        self._starts: list[int] = []

    def value(self, starts: Positions, n: int, i: int) -> str:
        text, start = self._section.folded, int(starts[i])
        if not self._starts:
            self._starts = [at for at, byte in enumerate(text) if byte > 32 and (at == 0 or text[at - 1] == 10)]
        line = self._starts[bisect_right(self._starts, start) - 1]
        colon = text.find(b":", line)
        name = text[line : colon if colon >= 0 else len(text)].decode("utf-8", "replace")
        return name if start == line else f"{name}={words_from(self._section, self._tokens, start, n)}"
