"""The counts of the filter: how often each feature occurred under each label, and how earlier predictions turned out.

All counts are whole numbers. So learning is addition and forgetting is subtraction, both exact and in any order, and
the counts depend only on which messages were counted.
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, starmap
from math import isnan
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias

from priory.bayes.calibration_line import n_outcomes
from priory.native.names import NameTable, memory_of, table_bytes
from priory.native.table import (
    add,
    add_features,
    counts_of,
    require_features,
    require_rows,
    score_bin,
    subtract,
    subtract_features,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Held-out scores are counted in bins of this width, from -LIMIT to LIMIT.
BIN_WIDTH: Final = 0.1
SCORE_LIMIT: Final = 20.0
N_BINS: Final = round(2 * SCORE_LIMIT / BIN_WIDTH)
#: The stored prediction of a message just before it was learned: for each contrast the score as a single-precision
#: float, and the correction as a byte.
HeldOut: TypeAlias = bytes
_PREDICTION: Final = Struct("<fb")
PREDICTION_BYTES: Final = _PREDICTION.size
#: The score about a label that was hardly known when a message was scored. It is not counted.
NO_SCORE: Final = float("-inf")
NO_PREDICTION: Final = _PREDICTION.pack(NO_SCORE, 0)


class FeatureNumbers(Protocol):
    """The features of a message as numbers, distinct and sorted in each group.

    Group i has `buckets[offsets[i]:offsets[i + 1]]`. The features of the groups in `named`, one bit each, have names of
    their own and longer numbers.
    """

    @property
    def buckets(self) -> "Buffer":
        """The numbers."""

    @property
    def offsets(self) -> "Buffer":
        """Where each group begins."""

    @property
    def named(self) -> int:
        """The groups whose features have names."""


class CountsShape(NamedTuple):
    """The sizes that counts in memory depend on."""

    bits: int  #: 2^bits rows for features without names
    n_labels: int
    personal_bits: int = 0
    name_bits: int = 10  #: the table of names has 2^name_bits homes
    n_names: int = 0
    n_nameless: int = 0  #: messages whose features were counted without names


def contrasts(n_labels: int) -> tuple[int, ...]:
    """Return the labels that are scored against the rest: of two labels only the second, otherwise every label.

    >>> contrasts(2), contrasts(3)
    ((1,), (0, 1, 2))
    """
    return (1,) if n_labels == 2 else tuple(range(n_labels))


def pack_predictions(predictions: Iterable[tuple[float, int]]) -> HeldOut:
    """Return the stored form of predictions: a score and a correction for each contrast."""
    return b"".join(starmap(_PREDICTION.pack, predictions))


def unpack_predictions(held_out: HeldOut) -> list[tuple[float, int]]:
    """Return the predictions that `pack_predictions` stored; scores have single precision.

    >>> unpack_predictions(pack_predictions([(-1.5, 3)]))
    [(-1.5, 3)]
    """
    return list(_PREDICTION.iter_unpack(held_out))


def pack_scores(scores: Sequence[float], n_contrasts: int) -> list[HeldOut | None]:
    """Return the stored predictions of several messages without corrections, given one score for each contrast.

    A message whose scores are NaN was not scored and has None.

    >>> [held_out and unpack_predictions(held_out) for held_out in pack_scores([2.5, float("nan")], n_contrasts=1)]
    [[(2.5, 0)], None]
    """
    packed = [None if isnan(score) else _PREDICTION.pack(score, 0) for score in scores]
    if n_contrasts == 1:
        return packed
    return [
        b"".join(filter(None, of_message)) or None for of_message in zip(*[iter(packed)] * n_contrasts, strict=True)
    ]


class Counts(NamedTuple):
    """The tables of counts with their corrections, and a histogram of held-out scores for each contrast.

    Features with names of their own are counted in `names`, the others in `rows`. The counts of single users are kept
    beside them (see `personal`). Everything lies in anonymous memory, which takes no space until something is counted,
    or in a mapped file.

    >>> from types import SimpleNamespace
    >>> counts = Counts.empty(bits=4, n_labels=2)
    >>> message = SimpleNamespace(buckets=array("I", [3, 500, 7]), offsets=array("q", [0, 2, 3]), named=0b01)
    >>> counts.add(message, label=1)
    >>> counts.add(message, label=1)
    >>> counts.subtract(message, label=1)
    >>> counts.messages_with(500, 0, named=0b01), counts.messages_with(7, 1, named=0b01), counts.totals.tolist()
    ((0, 1), (0, 1), [0, 1])
    """

    totals: "memoryview[int]"  #: [label]: messages
    held_out: "memoryview[int]"  #: [contrast, bin, 0 or 1]: messages scored before they were learned; 1 had the label
    rows: "memoryview[int]"  #: [bucket]: the counts of each label, then the corrections of each contrast
    names: NameTable  #: the same columns for each name
    personal_totals: "memoryview[int]"  #: [label]: messages counted for single users
    personal: "memoryview[int]"  #: [row]: the counts of each label; `PersonalBayes.rows` finds a user's rows

    @classmethod
    def empty(cls, bits: int, n_labels: int, personal_bits: int = 0) -> Self:
        """Return counts of no messages."""
        return cls.of_shape(CountsShape(bits, n_labels, personal_bits))

    @classmethod
    def of_shape(cls, shape: CountsShape) -> Self:
        """Return counts in zeroed memory, whose parts can be filled with those of other counts of this shape."""
        return cls.from_memory(memory_of(cls.size_bytes(shape, with_personal=False)), shape)

    @classmethod
    def from_memory(cls, memory: "memoryview[int]", shape: CountsShape) -> Self:
        """Return counts backed by this memory, with or without the users' counts at its end."""
        n_labels = shape.n_labels
        n_contrasts = len(contrasts(n_labels))
        sizes = (
            8 * n_labels,
            16 * N_BINS * n_contrasts,
            4 * (n_labels + n_contrasts) << shape.bits,
            table_bytes(n_labels + n_contrasts, shape.name_bits),
            8 * n_labels,
        )
        ends = list(accumulate(sizes))
        totals, held_out, rows, names, personal_totals = (
            memory[end - size : end] for size, end in zip(sizes, ends, strict=True)
        )
        personal = memory[ends[-1] :] or memory_of(4 * n_labels << shape.personal_bits)
        return cls(
            totals.cast("q"),
            held_out.cast("q", (n_contrasts, N_BINS, 2)),
            rows.cast("I", (1 << shape.bits, n_labels + n_contrasts)),
            NameTable(n_labels + n_contrasts, shape.name_bits, shape.n_names, shape.n_nameless, names),
            personal_totals.cast("q"),
            personal.cast("I", (1 << shape.personal_bits, n_labels)),
        )

    @staticmethod
    def size_bytes(shape: CountsShape, *, with_personal: bool) -> int:
        """Return the size of counts in bytes, with or without the users' table."""
        n_labels = shape.n_labels
        n_contrasts = len(contrasts(n_labels))
        rows = 4 * (n_labels + n_contrasts) << shape.bits
        names = table_bytes(n_labels + n_contrasts, shape.name_bits)
        personal = 4 * n_labels << shape.personal_bits if with_personal else 0
        return 16 * n_labels + 16 * N_BINS * n_contrasts + rows + names + personal

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.totals)

    def outcomes(self, contrast: int) -> "memoryview[int]":
        """Return the held-out outcomes of a contrast, [bin, 0 or 1]."""
        size = 16 * N_BINS
        return self.held_out.cast("B")[contrast * size : (contrast + 1) * size].cast("q", (N_BINS, 2))

    def n_scored(self) -> list[int]:
        """Return the number of messages of each label that were scored before they were learned."""
        if self.n_labels == 2:
            return list(n_outcomes(self.outcomes(0)))
        return [n_outcomes(self.outcomes(contrast))[1] for contrast in range(self.n_labels)]

    def messages_with(self, number: int, group: int, named: int) -> tuple[int, ...]:
        """Return how many messages of each label had a feature, given by its number and group.

        This is exact for features with names, unless messages were counted without names.
        """
        return counts_of(self.rows, self.names, number, group, named, self.n_labels)

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)._restored(self.shape, *self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._restored, (self.shape, *map(bytes, self.parts))

    @classmethod
    def _restored(cls, shape: CountsShape, *parts: "Buffer") -> Self:
        """Return counts with the bytes of other counts."""
        restored = cls.of_shape(shape)
        for new, old in zip(restored.buffers, parts, strict=False):
            new[:] = old
        return restored

    @property
    def shape(self) -> CountsShape:
        """The sizes of these counts."""
        return CountsShape(
            len(self.rows).bit_length() - 1,
            self.n_labels,
            len(self.personal).bit_length() - 1,
            self.names.bits,
            self.names.n,
            self.names.nameless,
        )

    @property
    def parts(self) -> "list[memoryview[int]]":
        """The bytes of all parts, as stored; without the users' table if that is empty."""
        return self.buffers if any(self.personal_totals) else self.buffers[:-1]

    @property
    def buffers(self) -> "list[memoryview[int]]":
        """The bytes of all parts, including empty ones."""
        return [part.memory if isinstance(part, NameTable) else part.cast("B") for part in self]

    def add(self, features: FeatureNumbers, label: int, held_out: HeldOut | None = None) -> None:
        """Count one message and the prediction made of it."""
        predicted = self._predictions(held_out)
        add_features(self.rows, self.names, *_numbers(features), label, _corrections(predicted))
        self._count(label, predicted, 1)

    def subtract(self, features: FeatureNumbers, label: int, held_out: HeldOut | None = None) -> None:
        """Reverse one `add` exactly; ValueError is raised, and nothing changes, for a message that was never added."""
        predicted = self._predictions(held_out)
        subtract_features(self.rows, self.names, *_numbers(features), label, _corrections(predicted))
        self._count(label, predicted, -1)

    def add_personal(self, rows: "Buffer", label: int) -> None:
        """Count one message for a user, in the user's rows."""
        self.require_personal(rows)
        add(self.personal, rows, label)
        self.personal_totals[label] += 1

    def subtract_personal(self, rows: "Buffer", label: int) -> None:
        """Reverse one `add_personal` exactly; ValueError is raised, and nothing changes, if it was never added."""
        self.require_personal(rows)
        subtract(self.personal, rows, label)
        self.personal_totals[label] -= 1

    @property
    def are_possible(self) -> bool:
        """Whether no number is negative, and no more messages were scored than were counted."""
        n_messages, held_out = sum(self.totals), self.held_out.cast("B").cast("q").tolist()
        size = 2 * N_BINS
        return min(*self.totals, *self.personal_totals, *held_out) >= 0 and all(
            sum(held_out[start : start + size]) <= n_messages for start in range(0, len(held_out), size)
        )

    def require(self, features: FeatureNumbers) -> None:
        """Raise DamagedBlockError if the counts of a message's features are in a damaged part of a mapped file."""
        require_features(self.rows, self.names, *_numbers(features))

    def require_personal(self, rows: "Buffer") -> None:
        """Raise DamagedBlockError if rows of a user are in a damaged part of a mapped file."""
        if self.names.blocks is not None:
            require_rows(self.personal, self.names.blocks, rows)

    def _predictions(self, held_out: HeldOut | None) -> list[tuple[float, int]]:
        if held_out is None:
            return []
        predictions, n = unpack_predictions(held_out), len(self.held_out)
        if len(predictions) != n:
            raise ValueError(f"{len(predictions)} predictions, but {self.n_labels} labels have {n}")
        return predictions

    def _count(self, label: int, predicted: list[tuple[float, int]], sign: int) -> None:
        self.totals[label] += sign
        about = contrasts(len(self.totals))
        for i, (score, _) in enumerate(predicted):
            if score > NO_SCORE:
                self.held_out[i, bin_of(score), int(about[i] == label)] += sign


def _numbers(features: FeatureNumbers) -> "tuple[Buffer, Buffer, int]":
    return features.buckets, features.offsets, features.named


def has_correction(held_out: HeldOut) -> bool:
    """Tell whether a message was learned with a correction, because its prediction was not certain enough."""
    return any(correction for _, correction in unpack_predictions(held_out))


def _corrections(predicted: list[tuple[float, int]]) -> "array[int] | None":
    """Return the corrections of all contrasts; None if all are 0, as for most messages."""
    corrections = [correction for _, correction in predicted]
    return array("b", corrections) if any(corrections) else None


def bin_of(score: float) -> int:
    """Return the bin of a held-out score; scores beyond the limits fall into the outermost bins."""
    return score_bin(score, SCORE_LIMIT, BIN_WIDTH, N_BINS)


def bin_centres() -> "array[float]":
    """Return the score at the centre of each bin."""
    return array("d", ((i + 0.5) * BIN_WIDTH - SCORE_LIMIT for i in range(N_BINS)))
