"""Byte n-grams: six bytes in a row, wherever they stand.

They need no idea of words, so they see through obfuscation and work for scripts that write no spaces. Half of them,
chosen by their hash, carry the same information as all (docs/decisions/features.md); so do those of the first 3,000
bytes, headers first (docs/decisions/accuracy.md).
"""

from typing import Final

from priory.features.hashing import Keys
from priory.features.sections import MOST_SOURCE, Section, Sections

LENGTH: Final = 6
ONE_IN: Final = 2
MOST_PART_HEADERS: Final = 500


def _find(section: Section, most: int, keys: Keys) -> None:
    keys.grams(section.shown, most, LENGTH, ONE_IN)
    if keys.located:
        keys.close(section, lambda start, end: repr(section.shown[start:end].decode("utf-8", "replace")))


def source_grams(sections: Sections, keys: Keys) -> None:
    """Find n-grams of the text with its markup: the headers come first, this has the room that they leave."""
    room = MOST_SOURCE - len(sections.headers.shown)
    if room > 0:
        _find(sections.source, room, keys)


def header_grams(sections: Sections, keys: Keys) -> None:
    """Find n-grams of the headers, those of the parts included: how a mail was made and which way it came."""
    _find(sections.headers, MOST_SOURCE, keys)
    if sections.message.inner:
        _find(sections.part_headers, MOST_PART_HEADERS, keys)
