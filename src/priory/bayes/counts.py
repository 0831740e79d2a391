"""What was seen: how often each feature occurred under each label, and how earlier predictions turned out.

Everything here is a whole number, so learning is addition, forgetting is subtraction, both exact and in any order, and
two tables of the same shape add up to the table of the joined data.
"""

from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priory.kernels import Buckets, add, subtract

#: Held-out scores are counted in bins of this width, from -LIMIT to LIMIT.
BIN_WIDTH: Final = 0.1
SCORE_LIMIT: Final = 20.0
N_BINS: Final = round(2 * SCORE_LIMIT / BIN_WIDTH)
#: What was predicted of a message just before it was learned, for each contrast: the score, and the correction by it.
HELD_OUT: Final = np.dtype([("score", "<f4"), ("correction", "i1")])
HeldOut: TypeAlias = NDArray[np.void]


def contrasts(n_labels: int) -> tuple[int, ...]:
    """Return the labels that are scored against the rest: with two labels the second one, its rest is the first.

    >>> contrasts(2), contrasts(3)
    ((1,), (0, 1, 2))
    """
    return (1,) if n_labels == 2 else tuple(range(n_labels))


def contrast_of(label: int, n_labels: int) -> tuple[int, int]:
    """Return in which contrast a label is found, and on which side: 1 if the contrast is about it, else -1.

    >>> contrast_of(1, 2), contrast_of(0, 2), contrast_of(2, 3)
    ((0, 1), (0, -1), (2, 1))
    """
    return (label, 1) if n_labels > 2 else (0, 2 * label - 1)


@dataclass(frozen=True, slots=True)
class Counts:
    """The table of counts with the corrections beside them, and a histogram of held-out scores for each contrast.

    >>> counts = Counts.empty(bits=4, n_labels=2)
    >>> message = np.array([3, 7], np.uint32)
    >>> counts.add(message, label=1)
    >>> counts.add(message, label=1)
    >>> counts.subtract(message, label=1)
    >>> counts.table[3].tolist(), counts.totals.tolist()
    ([0, 1], [0, 1])
    """

    rows: NDArray[np.uint32]  #: [bucket]: the counts of each label, then the corrections of each contrast
    totals: NDArray[np.int64]  #: [label]: messages
    held_out: NDArray[np.int64]  #: [contrast, bin, 0 or 1]: messages scored before they were learned; 1 had the label

    @classmethod
    def empty(cls, bits: int, n_labels: int) -> Self:
        """Return counts of nothing."""
        n_contrasts = len(contrasts(n_labels))
        return cls(
            np.zeros((1 << bits, n_labels + n_contrasts), np.uint32),
            np.zeros(n_labels, np.int64),
            np.zeros((n_contrasts, N_BINS, 2), np.int64),
        )

    @property
    def table(self) -> NDArray[np.uint32]:
        """[bucket, label]: messages with this feature."""
        return self.rows[:, : self.n_labels]

    @property
    def corrections(self) -> NDArray[np.int32]:
        """[bucket, contrast]: the corrections of the messages with this feature, added up."""
        return self.rows[:, self.n_labels :].view(np.int32)

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.totals)

    def n_scored(self) -> list[int]:
        """Return how many messages of each label were scored before they were learned."""
        if self.n_labels == 2:
            return [int(n) for n in self.held_out[0].sum(axis=0)]
        return [int(n) for n in self.held_out[:, :, 1].sum(axis=1)]

    def copy(self) -> Self:
        """Return counts that can change without these."""
        return type(self)(self.rows.copy(), self.totals.copy(), self.held_out.copy())

    def add(self, buckets: Buckets, label: int, held_out: HeldOut | None = None) -> None:
        """Count one message, and what was predicted of it."""
        self._check(held_out)
        add(self.rows, buckets, label, None if held_out is None else held_out["correction"])
        self._count(label, held_out, 1)

    def subtract(self, buckets: Buckets, label: int, held_out: HeldOut | None = None) -> None:
        """Take back one `add` exactly; what was never added raises ValueError and changes nothing."""
        self._check(held_out)
        subtract(self.rows, buckets, label, None if held_out is None else held_out["correction"])
        self._count(label, held_out, -1)

    def _check(self, held_out: HeldOut | None) -> None:
        n = len(self.held_out)
        if held_out is not None and len(held_out) != n:
            raise ValueError(f"{len(held_out)} predictions where {self.n_labels} labels have {n}")

    def _count(self, label: int, held_out: HeldOut | None, sign: int) -> None:
        self.totals[label] += sign
        if held_out is None:
            return
        scores: list[float] = held_out["score"].tolist()
        for i, (contrast, score) in enumerate(zip(contrasts(self.n_labels), scores, strict=True)):
            self.held_out[i, bin_of(score), int(contrast == label)] += sign


def bin_of(score: float) -> int:
    """Return the bin of a held-out score; beyond the limits it is the outermost."""
    return min(max(int((score + SCORE_LIMIT) / BIN_WIDTH), 0), N_BINS - 1)


def bin_centres() -> NDArray[np.float64]:
    """Return the score that each bin stands for."""
    return np.asarray((np.arange(N_BINS) + 0.5) * BIN_WIDTH - SCORE_LIMIT, np.float64)
