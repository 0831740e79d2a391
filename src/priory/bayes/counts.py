"""What was seen: how often each feature occurred under each label, and how earlier predictions turned out.

Everything here is a count, so learning is addition, forgetting is subtraction, both exact and in any order, and two
tables of the same shape add up to the table of the joined data.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.kernels import Buckets, add, subtract

#: Held-out scores are counted in bins of this width, from -LIMIT to LIMIT.
BIN_WIDTH: Final = 0.1
SCORE_LIMIT: Final = 20.0
N_BINS: Final = round(2 * SCORE_LIMIT / BIN_WIDTH)


def contrasts(n_labels: int) -> tuple[int, ...]:
    """Return the labels that are scored against the rest: with two labels the second one, its rest is the first.

    >>> contrasts(2), contrasts(3)
    ((1,), (0, 1, 2))
    """
    return (1,) if n_labels == 2 else tuple(range(n_labels))


@dataclass(frozen=True, slots=True)
class Counts:
    """The table of counts, and a histogram of held-out scores for each contrast.

    >>> counts = Counts.empty(bits=4, n_labels=2)
    >>> message = np.array([3, 7], np.uint32)
    >>> counts.add(message, label=1)
    >>> counts.add(message, label=1)
    >>> counts.subtract(message, label=1)
    >>> counts.table[3].tolist(), counts.totals.tolist()
    ([0, 1], [0, 1])
    """

    table: NDArray[np.uint32]  #: [bucket, label]: messages with this feature
    totals: NDArray[np.int64]  #: [label]: messages
    held_out: NDArray[np.int64]  #: [contrast, bin, 0 or 1]: messages scored before they were learned; 1 had the label

    @classmethod
    def empty(cls, bits: int, n_labels: int) -> Self:
        """Return counts of nothing."""
        return cls(
            np.zeros((1 << bits, n_labels), np.uint32),
            np.zeros(n_labels, np.int64),
            np.zeros((len(contrasts(n_labels)), N_BINS, 2), np.int64),
        )

    @property
    def n_labels(self) -> int:
        """How many labels there are."""
        return len(self.totals)

    def n_scored(self) -> list[int]:
        """Return how many messages of each label were scored before they were learned."""
        if self.n_labels == 2:
            return [int(n) for n in self.held_out[0].sum(axis=0)]
        return [int(n) for n in self.held_out[:, :, 1].sum(axis=1)]

    def add(self, buckets: Buckets, label: int, scores: NDArray[np.float32] | None = None) -> None:
        """Count one message, and the scores it had before."""
        add(self.table, buckets, label)
        self._count(label, scores, 1)

    def subtract(self, buckets: Buckets, label: int, scores: NDArray[np.float32] | None = None) -> None:
        """Take back one `add` exactly; what was never added raises ValueError and changes nothing."""
        subtract(self.table, buckets, label)
        self._count(label, scores, -1)

    def _count(self, label: int, scores: NDArray[np.float32] | None, sign: int) -> None:
        self.totals[label] += sign
        if scores is not None:
            for i, contrast in enumerate(contrasts(self.n_labels)):
                self.held_out[i, bin_of(float(scores[i])), int(contrast == label)] += sign


def bin_of(score: float) -> int:
    """Return the bin of a held-out score; beyond the limits it is the outermost."""
    return min(max(int((score + SCORE_LIMIT) / BIN_WIDTH), 0), N_BINS - 1)


def bin_centres() -> NDArray[np.float64]:
    """Return the score that each bin stands for."""
    return np.asarray((np.arange(N_BINS) + 0.5) * BIN_WIDTH - SCORE_LIMIT, np.float64)
