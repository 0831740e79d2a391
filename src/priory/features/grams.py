"""Byte n-grams: six bytes in a row, wherever they stand.

They need no idea of words, so they see through obfuscation and work for scripts that write no spaces. Half of them,
chosen by their hash, carry the same information as all (docs/decisions/features.md); so do those of the first 3,000
bytes, headers first (docs/decisions/accuracy.md).
"""

from collections.abc import Iterator
from typing import Final

from priory.features.found import Found
from priory.features.hashing import grams
from priory.features.sections import MOST_SOURCE, Section, Sections

LENGTH: Final = 6
ONE_IN: Final = 2
MOST_PART_HEADERS: Final = 500


def _find(section: Section, most: int, seed: int, bits: int) -> Found:
    buckets, starts = grams(section.shown[:most], LENGTH, ONE_IN, seed, bits)

    def value(i: int) -> str:
        return repr(section.shown[starts[i] : starts[i] + LENGTH].decode("utf-8", "replace"))

    return Found(section, buckets, starts, starts + LENGTH, value)


def source_grams(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find n-grams of the text with its markup: the headers come first, this has the room that they leave."""
    room = MOST_SOURCE - len(sections.headers.shown)
    if room > 0:
        yield _find(sections.source, room, seed, bits)


def header_grams(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find n-grams of the headers, those of the parts included: how a mail was made and which way it came."""
    yield _find(sections.headers, MOST_SOURCE, seed, bits)
    yield _find(sections.part_headers, MOST_PART_HEADERS, seed, bits)
