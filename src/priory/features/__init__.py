"""Extracts features from a message: readable names, hashed to numbers.

A feature is `kind:value` (`word:offer`, `pair:limited time`, `sender:mail.example`). The journal stores only numbers:
for n-grams the bucket, one of 2^bits, which they share; for all other kinds five bits more, so that hardly any two
names have the same number. To explain a message, its features are extracted again with their names. `kinds.pyx` has the
kinds; a `Spec` switches them on and off.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from priory.features.kinds import KINDS, NAMED, find
from priory.features.sections import Section
from priory.message import Message
from priory.native.packing import pack, unpack
from priory.native.table import bits_of_names

if TYPE_CHECKING:
    from array import array

    from priory.features.places import Places

__all__ = [
    "KINDS",
    "NAMED",
    "Features",
    "Numbers",
    "Occurrences",
    "Spec",
    "extract",
    "pack_features",
    "unpack_features",
]

#: Changes whenever the same message would give other numbers.
VERSION: Final = 3
MOST_BITS: Final = 28  #: the number of a feature and the number of its kind share 32 bits

Numbers: TypeAlias = "array[int] | memoryview[int]"  #: of features, or byte offsets


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
    """The features of a message: distinct numbers in order, grouped by kind.

    Kind i of KINDS has `buckets[offsets[i]:offsets[i + 1]]`. The kinds in `named`, one bit each, have names of their
    own and longer numbers; in lessons of an older version, no kind has. `extracted_from` is the message and the spec,
    or None for features that were read from the journal.
    """

    __slots__ = ("_found", "buckets", "extracted_from", "named", "offsets")

    def __init__(
        self, buckets: Numbers, offsets: Numbers, extracted_from: tuple[Message, Spec] | None = None, named: int = NAMED
    ) -> None:
        self.buckets = buckets
        self.offsets = offsets
        self.extracted_from = extracted_from
        self.named = named
        self._found: list[Any] | None = None  # with positions, if they were wanted at the first extraction

    def __len__(self) -> int:
        return len(self.buckets)

    def extra_bits(self, bits: int) -> int:
        """Return how many bits more than its bucket, one of 2^bits, a feature with a name has."""
        return bits_of_names(bits) - bits if self.named else 0

    @property
    def occurrences(self) -> tuple[tuple[Occurrences, ...], ...]:
        """The position and name of each feature, per kind. Only explanations need them."""
        return self.occurrences_of(frozenset(KINDS))

    def occurrences_of(self, kinds: frozenset[str]) -> tuple[tuple[Occurrences, ...], ...]:
        """Return the occurrences of these kinds; the other kinds are empty."""
        if self.extracted_from is None:
            return ()
        by_kind: list[list[Occurrences]] = [[] for _ in KINDS]
        for kind, occurrences in self._find(kinds):
            if KINDS[kind] in kinds:
                by_kind[kind].append(Occurrences(*occurrences))
        return tuple(tuple(occurrences) for occurrences in by_kind)

    def _find(self, kinds: frozenset[str]) -> list[Any]:
        """Return what `Keys.found` returned for these kinds at least."""
        if self._found is not None:
            return self._found
        if self.extracted_from is None:
            return []
        message, spec = self.extracted_from
        return find(message, spec.kinds & kinds, spec.patterns, spec.bits, located=True).found()

    def places(
        self,
        terms: "array[float]",
        sign: int,
        headers: dict[bytes, int],
        ignored: Sequence[Sequence[tuple[str, int, int]]] = (),
    ) -> "Places":
        """Return the places of the message with their shares of these terms; see `Places`."""
        from priory.features.places import Places  # noqa: PLC0415 - a quick start without an explanation

        if self._found is None:
            self._found = self._find(frozenset(KINDS))
        return Places(self._found, self.buckets, self.offsets, terms, sign, headers, [*ignored])


def extract(message: Message, spec: Spec, *, located: bool = False) -> Features:
    """Return the features of a message, and their positions if `located`: an explanation then extracts nothing again.

    >>> from priory.message import parse
    >>> features = extract(parse(b"Subject: hello\\n\\nCheap watches, cheap pills"), Spec(kinds=frozenset({"word"})))
    >>> len(features)
    3
    """
    keys = find(message, spec.kinds, spec.patterns, spec.bits, located)
    features = Features(*keys.distinct(len(KINDS)), (message, spec))
    if located:
        features._found = keys.found()
    return features


def pack_features(features: Features, bits: int) -> bytes:
    """Return the features as the journal stores them."""
    return pack(features.buckets, features.offsets, bits, features.named)


def unpack_features(blob: bytes, bits: int) -> Features:
    """Return the features that `pack_features` wrote. Raise ValueError for damaged bytes."""
    buckets, offsets, named = unpack(blob, len(KINDS), bits, NAMED)
    return Features(buckets, offsets, named=named)
