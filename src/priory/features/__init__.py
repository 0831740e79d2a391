"""Extracts features from a message: readable names, hashed to buckets.

A feature is `kind:value` (`word:offer`, `pair:limited time`, `sender:mail.example`). The journal stores only bucket
numbers. To explain a message, its features are extracted again with their names. `kinds.pyx` has the kinds; a `Spec`
switches them on and off.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from priory.features.kinds import KINDS, find
from priory.features.sections import Section
from priory.message import Message, parse
from priory.native.packing import pack, unpack

if TYPE_CHECKING:
    from array import array

__all__ = ["KINDS", "Features", "Numbers", "Occurrences", "Spec", "extract", "pack_features", "unpack_features"]

#: Changes whenever the same message would give other buckets: a journal of another version cannot be extended.
VERSION: Final = 2
MOST_BITS: Final = 28  #: a bucket number and the number of its kind share 32 bits

Numbers: TypeAlias = "array[int] | memoryview[int]"  #: bucket numbers or byte offsets


@dataclass(frozen=True, slots=True)
class Spec:
    """The kinds of features to extract, the user's patterns, and the number of buckets (2^bits)."""

    kinds: frozenset[str] = frozenset(KINDS) - {"triple"}
    patterns: Mapping[str, str] = field(default_factory=dict)
    bits: int = 22

    def __post_init__(self) -> None:
        unknown = sorted(self.kinds - frozenset(KINDS))
        if unknown:
            raise ValueError(f"unknown kinds of features: {', '.join(unknown)}; known are {', '.join(KINDS)}")
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"features have 2^1 to 2^{MOST_BITS} buckets, not 2^{self.bits}")


class Occurrences(NamedTuple):
    """The occurrences of the features of one kind in one section of a message. A feature may occur many times."""

    section: Section
    buckets: Numbers  #: of each occurrence
    starts: Numbers  #: byte offsets in the section
    ends: Numbers
    value: Callable[[int], str]  #: returns the readable value of occurrence i


class Features:
    """The features of a message: distinct buckets in order, grouped by kind.

    Kind i of KINDS has `buckets[offsets[i]:offsets[i + 1]]`. `extracted_from` is the raw message and the spec, or None
    for features that were read from the journal.
    """

    __slots__ = ("buckets", "extracted_from", "offsets")

    def __init__(self, buckets: Numbers, offsets: Numbers, extracted_from: tuple[bytes, Spec] | None = None) -> None:
        self.buckets = buckets
        self.offsets = offsets
        self.extracted_from = extracted_from

    def __len__(self) -> int:
        return len(self.buckets)

    @property
    def occurrences(self) -> tuple[tuple[Occurrences, ...], ...]:
        """The position and name of each feature, per kind. Extracts them again, because only explanations need them."""
        return self.occurrences_of(frozenset(KINDS))

    def occurrences_of(self, kinds: frozenset[str]) -> tuple[tuple[Occurrences, ...], ...]:
        """Return the occurrences of these kinds; the other kinds are empty."""
        if self.extracted_from is None:
            return ()
        raw, spec = self.extracted_from
        by_kind: list[list[Occurrences]] = [[] for _ in KINDS]
        for kind, occurrences in find(parse(raw), spec.kinds & kinds, spec.patterns, spec.bits, located=True).found():
            by_kind[kind].append(Occurrences(*occurrences))
        return tuple(tuple(occurrences) for occurrences in by_kind)


def extract(message: Message, spec: Spec) -> Features:
    """Return the features of a message.

    >>> from priory.message import parse
    >>> features = extract(parse(b"Subject: hello\\n\\nCheap watches, cheap pills"), Spec(kinds=frozenset({"word"})))
    >>> len(features)
    3
    """
    keys = find(message, spec.kinds, spec.patterns, spec.bits)
    return Features(*keys.distinct(len(KINDS)), (message.raw, spec))


def pack_features(features: Features, bits: int) -> bytes:
    """Return the features as the journal stores them."""
    return pack(features.buckets, features.offsets, bits)


def unpack_features(blob: bytes, bits: int) -> Features:
    """Return the features that `pack_features` wrote. Raise ValueError for damaged bytes."""
    return Features(*unpack(blob, len(KINDS), bits))
