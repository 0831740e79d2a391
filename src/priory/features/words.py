"""Words of the visible text, and two or three of them in a row.

>>> from priory.features.sections import Sections
>>> from priory.message import parse
>>> found, = pairs(Sections(parse(b"Subject: hi\\n\\nA limited time offer.")), seed=1, bits=22)
>>> [found.value(i) for i in range(len(found.buckets))]
['limited time', 'time offer']
"""

import re
from collections.abc import Iterator

from priory.features.found import Found
from priory.features.sections import Section, Sections
from priory.kernels import Tokens

_BETWEEN_WORDS = re.compile(r"[^\w$'.@-]+|(?<!\w)['.@-]+|['.@-]+(?!\w)")


def joined_words(text: bytes) -> str:
    """Return the words in a stretch of text, one space between them."""
    return _BETWEEN_WORDS.sub(" ", text.decode("utf-8", "replace")).strip()


def _runs(sections: Sections, n: int, seed: int, bits: int) -> Iterator[Found]:
    """Runs of words in the text; the addresses it links to are text, too, which spammers cannot leave out."""
    yield _found(sections.text, sections.text_tokens, n, seed, bits)
    if sections.message.links:
        yield _found(sections.links, sections.link_tokens, n, seed, bits)


def _found(section: Section, tokens: Tokens, n: int, seed: int, bits: int) -> Found:
    buckets, starts, ends = tokens.runs(n, seed, bits)
    return Found(section, buckets, starts, ends, lambda i: joined_words(section.folded[starts[i] : ends[i]]))


def words(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find the words of the text."""
    return _runs(sections, 1, seed, bits)


def pairs(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find two words in a row (bigrams)."""
    return _runs(sections, 2, seed, bits)


def triples(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find three words in a row (trigrams)."""
    return _runs(sections, 3, seed, bits)
