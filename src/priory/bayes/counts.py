"""The counts of the filter: how often each feature occurred under each label, and how earlier predictions turned out.

All counts are whole numbers. So learning is addition and forgetting is subtraction, both exact and in any order, and
two tables of the same shape add up to the table of the joined data.
"""

import mmap
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import starmap
from math import isnan
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from priory.bayes.calibration_line import n_outcomes
from priory.native.table import add, score_bin, subtract

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
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
_HUGE_BYTES: Final = 1 << 22  # from this size on huge pages are requested: most counts are on a page of their own


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
    """The table of counts with its corrections, and a histogram of held-out scores for each contrast.

    The counts of single users are kept beside it (see `personal`). Everything lies in anonymous memory, which takes no
    space until something is counted, or in a mapped file.

    >>> counts = Counts.empty(bits=4, n_labels=2)
    >>> message = array("I", [3, 7])
    >>> counts.add(message, label=1)
    >>> counts.add(message, label=1)
    >>> counts.subtract(message, label=1)
    >>> counts.table[3].tolist(), counts.totals.tolist()
    ([0, 1], [0, 1])
    """

    totals: "memoryview[int]"  #: [label]: messages
    held_out: "memoryview[int]"  #: [contrast, bin, 0 or 1]: messages scored before they were learned; 1 had the label
    rows: "memoryview[int]"  #: [bucket]: the counts of each label, then the corrections of each contrast
    personal_totals: "memoryview[int]"  #: [label]: messages counted for single users
    personal: "memoryview[int]"  #: [row]: the counts of each label; `PersonalBayes.rows` finds a user's rows

    @classmethod
    def empty(cls, bits: int, n_labels: int, personal_bits: int = 0) -> Self:
        """Return counts of no messages."""
        return cls.from_memory(_memory(cls.size_bytes(bits, n_labels)), bits, n_labels, personal_bits)

    @classmethod
    def from_memory(cls, memory: "memoryview[int]", bits: int, n_labels: int, personal_bits: int) -> Self:
        """Return counts backed by this memory, with or without the users' counts at its end."""
        n_contrasts = len(contrasts(n_labels))
        totals_end = 8 * n_labels
        held_out_end = totals_end + 16 * N_BINS * n_contrasts
        end = cls.size_bytes(bits, n_labels)
        personal = memory[end:] if len(memory) > end else _memory(4 * n_labels << personal_bits)
        return cls(
            memory[:totals_end].cast("q"),
            memory[totals_end:held_out_end].cast("q", (n_contrasts, N_BINS, 2)),
            memory[held_out_end : end - totals_end].cast("I", (1 << bits, n_labels + n_contrasts)),
            memory[end - totals_end : end].cast("q"),
            personal.cast("I", (1 << personal_bits, n_labels)),
        )

    @staticmethod
    def size_bytes(bits: int, n_labels: int, personal_bits: int | None = None) -> int:
        """Return the size of the counts in bytes, including the users' table if its size is given."""
        n_contrasts = len(contrasts(n_labels))
        personal = 0 if personal_bits is None else 4 * n_labels << personal_bits
        return 16 * n_labels + 16 * N_BINS * n_contrasts + (4 * (n_labels + n_contrasts) << bits) + personal

    @property
    def table(self) -> "NDArray[np.uint32]":
        """[bucket, label]: messages with this feature, as a numpy array."""
        return self._rows[:, : self.n_labels]

    @property
    def corrections(self) -> "NDArray[np.int32]":
        """[bucket, contrast]: the sum of the corrections of the messages with this feature, as a numpy array."""
        return self._rows[:, self.n_labels :].view("int32")

    @property
    def _rows(self) -> "NDArray[np.uint32]":
        import numpy as np  # noqa: PLC0415 - importing it takes longer than checking a message

        return np.asarray(self.rows)

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

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)._restored(self._shape, *self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._restored, (self._shape, *map(bytes, self.parts))

    @classmethod
    def _restored(cls, shape: tuple[int, int, int], *parts: "Buffer") -> Self:
        """Return counts with the bytes of other counts."""
        restored = cls.empty(*shape)
        for new, old in zip(restored, parts, strict=False):
            new.cast("B")[:] = old
        return restored

    @property
    def _shape(self) -> tuple[int, int, int]:
        return len(self.rows).bit_length() - 1, self.n_labels, len(self.personal).bit_length() - 1

    @property
    def parts(self) -> "list[memoryview[int]]":
        """The bytes of totals, held-out scores and tables, as stored; without the users' table if that is empty."""
        return self.buffers if any(self.personal_totals) else self.buffers[:-1]

    @property
    def buffers(self) -> "list[memoryview[int]]":
        """The bytes of all parts, including empty ones."""
        return [part.cast("B") for part in self]

    def add(self, buckets: "Buffer", label: int, held_out: HeldOut | None = None) -> None:
        """Count one message and the prediction made of it."""
        predicted = self._predictions(held_out)
        add(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, 1)

    def subtract(self, buckets: "Buffer", label: int, held_out: HeldOut | None = None) -> None:
        """Reverse one `add` exactly; ValueError is raised, and nothing changes, for a message that was never added."""
        predicted = self._predictions(held_out)
        subtract(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, -1)

    def add_personal(self, rows: "Buffer", label: int) -> None:
        """Count one message for a user, in the user's rows."""
        add(self.personal, rows, label)
        self.personal_totals[label] += 1

    def subtract_personal(self, rows: "Buffer", label: int) -> None:
        """Reverse one `add_personal` exactly; ValueError is raised, and nothing changes, if it was never added."""
        subtract(self.personal, rows, label)
        self.personal_totals[label] -= 1

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


def _memory(size: int) -> "memoryview[int]":
    """Return zeroed anonymous memory."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"not enough memory for counts of {size:,} bytes") from None
    if size >= _HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # not every kernel has them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


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
