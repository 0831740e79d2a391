"""Words of the headers, each tagged with its header: "offer" in the subject is not "offer" in a mailer's name."""

from bisect import bisect_right
from collections.abc import Callable

from priory.features.hashing import Keys
from priory.features.sections import Sections
from priory.features.words import words_from


def header_words(sections: Sections, keys: Keys) -> None:
    """Find names of headers (`subject`), words in them (`subject=offer`) and pairs (`subject=limited time`).

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> found = extract(parse(b"Subject: A limited offer\\n\\n"), Spec(kinds=frozenset({"header"}))).found[3]
    >>> [f.value(i) for f in found for i in range(len(f.buckets))]
    ['subject', 'subject=limited', 'subject=offer', 'subject=limited offer']
    """
    for n in (1, 2):
        keys.runs(sections.header_tokens, n)
        if keys.located:
            keys.close(sections.headers, _tagged(sections, n))


def _tagged(sections: Sections, n: int) -> Callable[[int, int], str]:
    """Return what names words by the header they stand in."""
    text = sections.headers.folded
    lines = [at for at, byte in enumerate(text) if byte > 32 and (at == 0 or text[at - 1] == 10)]
    words = words_from(sections.headers, sections.header_tokens, n)

    def named(start: int, end: int) -> str:
        line = lines[bisect_right(lines, start) - 1]
        colon = text.find(b":", line)
        name = text[line : colon if colon >= 0 else len(text)].decode("utf-8", "replace")
        return name if start == line else f"{name}={words(start, end)}"

    return named
