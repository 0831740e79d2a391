"""Words of the visible text, and two or three of them in a row.

>>> from priory.features import Spec, extract
>>> from priory.message import parse
>>> found, = extract(parse(b"Subject: hi\\n\\nA limited time offer."), Spec(kinds=frozenset({"pair"}))).found[1]
>>> [found.value(i) for i in range(len(found.buckets))]
['limited time', 'time offer']
"""

from bisect import bisect_left
from collections.abc import Callable

from priory.features.hashing import Keys, Tokens
from priory.features.sections import Section, Sections


def words_from(section: Section, tokens: Tokens, n: int) -> Callable[[int, int], str]:
    """Return what names the `n` words of which the first begins at a place, one space between them."""
    spans = tokens.spans()
    starts = [start for start, _ in spans]

    def named(start: int, _end: int) -> str:
        first = bisect_left(starts, start)
        return " ".join(section.folded[begin:end].decode("utf-8", "replace") for begin, end in spans[first : first + n])

    return named


def _runs(sections: Sections, keys: Keys, n: int) -> None:
    """Runs of words in the text; the addresses it links to are text, too, which spammers cannot leave out."""
    keys.runs(sections.text_tokens, n)
    if keys.located:
        keys.close(sections.text, words_from(sections.text, sections.text_tokens, n))
    if sections.message.targets:
        keys.runs(sections.link_tokens, n)
        if keys.located:
            keys.close(sections.links, words_from(sections.links, sections.link_tokens, n))


def words(sections: Sections, keys: Keys) -> None:
    """Find the words of the text."""
    _runs(sections, keys, 1)


def pairs(sections: Sections, keys: Keys) -> None:
    """Find two words in a row (bigrams)."""
    _runs(sections, keys, 2)


def triples(sections: Sections, keys: Keys) -> None:
    """Find three words in a row (trigrams)."""
    _runs(sections, keys, 3)
