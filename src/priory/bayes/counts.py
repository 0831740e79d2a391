"""What was seen: how often each feature occurred under each label, and how earlier predictions turned out.

Everything here is a whole number, so learning is addition, forgetting is subtraction, both exact and in any order, and
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

from priory.bayes.line import n_outcomes
from priory.table import add, score_bin, subtract

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Buffer

#: Held-out scores are counted in bins of this width, from -LIMIT to LIMIT.
BIN_WIDTH: Final = 0.1
SCORE_LIMIT: Final = 20.0
N_BINS: Final = round(2 * SCORE_LIMIT / BIN_WIDTH)
#: What was predicted of a message just before it was learned, as it is stored: for each contrast the score as a short
#: float, and the correction by it as a byte.
HeldOut: TypeAlias = bytes
_PREDICTION: Final = Struct("<fb")
PREDICTION_BYTES: Final = _PREDICTION.size
#: The score about a label of which next to nothing was known when a message was scored. It is not counted.
NO_SCORE: Final = float("-inf")
NO_PREDICTION: Final = _PREDICTION.pack(NO_SCORE, 0)
_HUGE_BYTES: Final = 1 << 22  # from here on memory is asked for in large pages: most counts are on a page of their own


def contrasts(n_labels: int) -> tuple[int, ...]:
    """Return the labels that are scored against the rest: with two labels the second one, its rest is the first.

    >>> contrasts(2), contrasts(3)
    ((1,), (0, 1, 2))
    """
    return (1,) if n_labels == 2 else tuple(range(n_labels))


def stored(predictions: Iterable[tuple[float, int]]) -> HeldOut:
    """Return predictions, a score and a correction for each contrast, as they are stored."""
    return b"".join(starmap(_PREDICTION.pack, predictions))


def predictions(held_out: HeldOut) -> list[tuple[float, int]]:
    """Return what `stored` was given, the scores with the digits that a short float has.

    >>> predictions(stored([(-1.5, 3)]))
    [(-1.5, 3)]
    """
    return list(_PREDICTION.iter_unpack(held_out))


def stored_scores(scores: Sequence[float], n_contrasts: int) -> list[HeldOut | None]:
    """Return as they are stored the scores of several messages that correct nothing, a score for each contrast.

    A message that was not scored has not a number.

    >>> [held_out and predictions(held_out) for held_out in stored_scores([2.5, float("nan")], n_contrasts=1)]
    [[(2.5, 0)], None]
    """
    each = [None if isnan(score) else _PREDICTION.pack(score, 0) for score in scores]
    if n_contrasts == 1:
        return each
    return [b"".join(filter(None, of_one)) or None for of_one in zip(*[iter(each)] * n_contrasts, strict=True)]


class Counts(NamedTuple):
    """The table of counts with the corrections beside them, and a histogram of held-out scores for each contrast.

    Beside it stands what counts for single persons (see `personal`). All lies in memory that is zero, and not even
    there, until something is counted; or in a file that is mapped.

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
    personal_totals: "memoryview[int]"  #: [label]: messages that count for single persons
    personal: "memoryview[int]"  #: [row]: the counts of each label; which rows are a person's, the person says

    @classmethod
    def empty(cls, bits: int, n_labels: int, personal_bits: int = 0) -> Self:
        """Return counts of nothing."""
        return cls.lying_in(_memory(cls.size_bytes(bits, n_labels)), bits, n_labels, personal_bits)

    @classmethod
    def lying_in(cls, memory: "memoryview[int]", bits: int, n_labels: int, personal_bits: int) -> Self:
        """Return the counts that lie one after the other in so many bytes, with or without the personal ones."""
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
        """Return how much memory counts take, with a table of what counts for persons if its size is given."""
        n_contrasts = len(contrasts(n_labels))
        personal = 0 if personal_bits is None else 4 * n_labels << personal_bits
        return 16 * n_labels + 16 * N_BINS * n_contrasts + (4 * (n_labels + n_contrasts) << bits) + personal

    @property
    def table(self) -> "NDArray[np.uint32]":
        """[bucket, label]: messages with this feature; for who has numpy at hand."""
        return self._rows[:, : self.n_labels]

    @property
    def corrections(self) -> "NDArray[np.int32]":
        """[bucket, contrast]: the corrections of the messages with this feature, added up."""
        return self._rows[:, self.n_labels :].view("int32")

    @property
    def _rows(self) -> "NDArray[np.uint32]":
        import numpy as np  # noqa: PLC0415 - to load it takes longer than to check a message

        return np.asarray(self.rows)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.totals)

    def outcomes(self, contrast: int) -> "memoryview[int]":
        """Return what is held out of a contrast, [bin, 0 or 1]."""
        size = 16 * N_BINS
        return self.held_out.cast("B")[contrast * size : (contrast + 1) * size].cast("q", (N_BINS, 2))

    def n_scored(self) -> list[int]:
        """Return how many messages of each label were scored before they were learned."""
        if self.n_labels == 2:
            return list(n_outcomes(self.outcomes(0)))
        return [n_outcomes(self.outcomes(contrast))[1] for contrast in range(self.n_labels)]

    def copy(self) -> Self:
        """Return counts that can change without these."""
        return type(self)._restored(self._shape, *self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._restored, (self._shape, *map(bytes, self.parts))

    @classmethod
    def _restored(cls, shape: tuple[int, int, int], *parts: "Buffer") -> Self:
        """Counts with the bytes of others."""
        restored = cls.empty(*shape)
        for new, old in zip(restored, parts, strict=False):
            new.cast("B")[:] = old
        return restored

    @property
    def _shape(self) -> tuple[int, int, int]:
        return len(self.rows).bit_length() - 1, self.n_labels, len(self.personal).bit_length() - 1

    @property
    def parts(self) -> "list[memoryview[int]]":
        """The bytes of totals, held-out scores and so on, as they are stored; of the personal ones if there are any."""
        return self.room if any(self.personal_totals) else self.room[:-1]

    @property
    def room(self) -> "list[memoryview[int]]":
        """The bytes of all parts, whether there is anything in them or not."""
        return [part.cast("B") for part in self]

    def add(self, buckets: "Buffer", label: int, held_out: HeldOut | None = None) -> None:
        """Count one message, and what was predicted of it."""
        predicted = self._predictions(held_out)
        add(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, 1)

    def subtract(self, buckets: "Buffer", label: int, held_out: HeldOut | None = None) -> None:
        """Take back one `add` exactly; what was never added raises ValueError and changes nothing."""
        predicted = self._predictions(held_out)
        subtract(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, -1)

    def add_personal(self, rows: "Buffer", label: int) -> None:
        """Count one message for a person, in these rows."""
        add(self.personal, rows, label)
        self.personal_totals[label] += 1

    def subtract_personal(self, rows: "Buffer", label: int) -> None:
        """Take back one `add_personal` exactly; what was never added raises ValueError and changes nothing."""
        subtract(self.personal, rows, label)
        self.personal_totals[label] -= 1

    def _predictions(self, held_out: HeldOut | None) -> list[tuple[float, int]]:
        if held_out is None:
            return []
        found, n = predictions(held_out), len(self.held_out)
        if len(found) != n:
            raise ValueError(f"{len(found)} predictions where {self.n_labels} labels have {n}")
        return found

    def _count(self, label: int, predicted: list[tuple[float, int]], sign: int) -> None:
        self.totals[label] += sign
        about = contrasts(len(self.totals))
        for i, (score, _) in enumerate(predicted):
            if score > NO_SCORE:
                self.held_out[i, bin_of(score), int(about[i] == label)] += sign


def _memory(size: int) -> "memoryview[int]":
    """So many bytes, all zero."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"there is no memory for counts of {size:,} bytes") from None
    if size >= _HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # not every kernel has them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(memory)


def corrects(held_out: HeldOut) -> bool:
    """Tell whether a message was corrected by: what was predicted of it was not certain enough."""
    return any(correction for _, correction in predictions(held_out))


def _corrections(predicted: list[tuple[float, int]]) -> "array[int] | None":
    """The corrections of all contrasts; None if there are none, as for most messages."""
    corrections = [correction for _, correction in predicted]
    return array("b", corrections) if any(corrections) else None


def bin_of(score: float) -> int:
    """Return the bin of a held-out score; beyond the limits it is the outermost."""
    return score_bin(score, SCORE_LIMIT, BIN_WIDTH, N_BINS)


def bin_centres() -> "array[float]":
    """Return the score that each bin stands for."""
    return array("d", ((i + 0.5) * BIN_WIDTH - SCORE_LIMIT for i in range(N_BINS)))
