"""Words of the visible text, and two or three of them in a row.

>>> from priory.features.sections import Sections
>>> from priory.message import parse
>>> found, = pairs(Sections(parse(b"Subject: hi\\n\\nA limited time offer.")), seed=1, bits=22)
>>> [found.value(i) for i in range(len(found.buckets))]
['limited time', 'time offer']
"""

from collections.abc import Iterator

import numpy as np

from priory.features.found import Found
from priory.features.hashing import Tokens
from priory.features.sections import Section, Sections


def words_from(section: Section, tokens: Tokens, start: int, n: int) -> str:
    """Return the `n` words of which the first begins at `start`, one space between them."""
    first = int(np.searchsorted(tokens.starts, start))
    spans = zip(tokens.starts[first : first + n], tokens.ends[first : first + n], strict=True)
    return " ".join(section.folded[begin:end].decode("utf-8", "replace") for begin, end in spans)


def _runs(sections: Sections, n: int, seed: int, bits: int) -> Iterator[Found]:
    """Runs of words in the text; the addresses it links to are text, too, which spammers cannot leave out."""
    yield _found(sections.text, sections.text_tokens, n, seed, bits)
    if sections.message.links:
        yield _found(sections.links, sections.link_tokens, n, seed, bits)


def _found(section: Section, tokens: Tokens, n: int, seed: int, bits: int) -> Found:
    buckets, starts, ends = tokens.runs(n, seed, bits)
    return Found(section, buckets, starts, ends, lambda i: words_from(section, tokens, int(starts[i]), n))


def words(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find the words of the text."""
    return _runs(sections, 1, seed, bits)


def pairs(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find two words in a row (bigrams)."""
    return _runs(sections, 2, seed, bits)


def triples(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find three words in a row (trigrams)."""
    return _runs(sections, 3, seed, bits)
