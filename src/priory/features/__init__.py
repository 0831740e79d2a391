"""From a message to its features: readable names, hashed to buckets.

A feature is `kind:value` (`word:offer`, `pair:limited time`, `sender:mail.example`). What is stored are bucket numbers
only; the names come back when a message is explained, because the message is there then. The kinds are in `kinds.pyx`;
the `Spec` switches them on and off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from priory.features.found import Found, Numbers
from priory.features.kinds import KINDS, find
from priory.message import Message, parse
from priory.packing import pack, unpack

__all__ = ["KINDS", "Features", "Found", "Numbers", "Spec", "extract", "packed", "unpacked"]

#: Changes whenever the same message would give other buckets: a journal of another version cannot be added to.
VERSION: Final = 2
MOST_BITS: Final = 28  #: above the bucket there must be room for the kind, in 32 bits


@dataclass(frozen=True, slots=True)
class Spec:
    """Which kinds of features are drawn from a message, the user's patterns, and the number of buckets (2^bits)."""

    kinds: frozenset[str] = frozenset(KINDS) - {"triple"}
    patterns: Mapping[str, str] = field(default_factory=dict)
    bits: int = 22

    def __post_init__(self) -> None:
        unknown = sorted(self.kinds - frozenset(KINDS))
        if unknown:
            raise ValueError(f"unknown kinds of features: {', '.join(unknown)}; known are {', '.join(KINDS)}")
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"features have 2^1 to 2^{MOST_BITS} buckets, not 2^{self.bits}")


class Features:
    """The features of a message: distinct buckets in order, kind after kind.

    Kind i of KINDS has `buckets[offsets[i]:offsets[i + 1]]`. They were drawn from a raw message; those that come from
    the journal, from none.
    """

    __slots__ = ("buckets", "drawn_from", "offsets")

    def __init__(self, buckets: Numbers, offsets: Numbers, drawn_from: tuple[bytes, Spec] | None = None) -> None:
        self.buckets = buckets
        self.offsets = offsets
        self.drawn_from = drawn_from

    def __len__(self) -> int:
        return len(self.buckets)

    @property
    def found(self) -> tuple[tuple[Found, ...], ...]:
        """Where each feature stands and what it is called, per kind: looked for again, as only explanations ask."""
        return self.found_of(frozenset(KINDS))

    def found_of(self, kinds: frozenset[str]) -> tuple[tuple[Found, ...], ...]:
        """The same, with nothing for all other kinds."""
        if self.drawn_from is None:
            return ()
        raw, spec = self.drawn_from
        several: list[list[Found]] = [[] for _ in KINDS]
        for kind, found in find(parse(raw), spec.kinds & kinds, spec.patterns, spec.bits, located=True).found():
            several[kind].append(Found(*found))
        return tuple(tuple(each) for each in several)


def extract(message: Message, spec: Spec) -> Features:
    """Return the features of a message.

    >>> from priory.message import parse
    >>> features = extract(parse(b"Subject: hello\\n\\nCheap watches, cheap pills"), Spec(kinds=frozenset({"word"})))
    >>> len(features)
    3
    """
    keys = find(message, spec.kinds, spec.patterns, spec.bits)
    return Features(*keys.distinct(len(KINDS)), (message.raw, spec))


def packed(features: Features, bits: int) -> bytes:
    """Return the features as the journal stores them."""
    return pack(features.buckets, features.offsets, bits)


def unpacked(blob: bytes, bits: int) -> Features:
    """Return the features that `packed` wrote; bytes that cannot be that raise ValueError."""
    return Features(*unpack(blob, len(KINDS), bits))
