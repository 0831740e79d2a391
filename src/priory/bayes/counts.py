"""What was seen: how often each feature occurred under each label, and how earlier predictions turned out.

Everything here is a whole number, so learning is addition, forgetting is subtraction, both exact and in any order, and
two tables of the same shape add up to the table of the joined data.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat, starmap
from struct import Struct
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priory.kernels import Buckets, add, score_bin, subtract

#: Held-out scores are counted in bins of this width, from -LIMIT to LIMIT.
BIN_WIDTH: Final = 0.1
SCORE_LIMIT: Final = 20.0
N_BINS: Final = round(2 * SCORE_LIMIT / BIN_WIDTH)
#: What was predicted of a message just before it was learned, as it is stored: for each contrast the score as a short
#: float, and the correction by it as a byte.
HeldOut: TypeAlias = bytes
_PREDICTION: Final = Struct("<fb")
PREDICTION_BYTES: Final = _PREDICTION.size


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


def stored(predictions: Iterable[tuple[float, int]]) -> HeldOut:
    """Return predictions, a score and a correction for each contrast, as they are stored."""
    return b"".join(starmap(_PREDICTION.pack, predictions))


def predictions(held_out: HeldOut) -> list[tuple[float, int]]:
    """Return what `stored` was given, the scores with the digits that a short float has.

    >>> predictions(stored([(-1.5, 3)]))
    [(-1.5, 3)]
    """
    return list(_PREDICTION.iter_unpack(held_out))


def stored_scores(scores: NDArray[np.float64]) -> list[HeldOut | None]:
    """Return as they are stored the scores of several messages that correct nothing, [message, contrast].

    A message that was not scored has not a number.

    >>> [held_out and predictions(held_out) for held_out in stored_scores(np.array([[2.5], [np.nan]]))]
    [[(2.5, 0)], None]
    """
    was_scored = (~np.isnan(scores[:, 0])).tolist()
    parts = zip(*(map(_PREDICTION.pack, of_contrast, repeat(0)) for of_contrast in scores.T.tolist()), strict=True)
    return [b"".join(each) if was else None for each, was in zip(parts, was_scored, strict=True)]


def totals_before(totals: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the totals as they are when each of several messages is about to be counted, [message, label].

    >>> totals_before(np.array([5, 0]), np.array([1, 1, 0])).tolist()
    [[5, 0], [5, 1], [5, 2]]
    """
    each = labels[:, np.newaxis] == np.arange(len(totals))
    return np.asarray(totals + each.cumsum(axis=0) - each, np.int64)


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
        predicted = self._predictions(held_out)
        add(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, 1)

    def subtract(self, buckets: Buckets, label: int, held_out: HeldOut | None = None) -> None:
        """Take back one `add` exactly; what was never added raises ValueError and changes nothing."""
        predicted = self._predictions(held_out)
        subtract(self.rows, buckets, label, _corrections(predicted))
        self._count(label, predicted, -1)

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
            self.held_out[i, bin_of(score), int(about[i] == label)] += sign


def _corrections(predicted: list[tuple[float, int]]) -> NDArray[np.int8] | None:
    """The corrections of all contrasts; None if there are none, as for most messages."""
    corrections = [correction for _, correction in predicted]
    return np.array(corrections, np.int8) if any(corrections) else None


def bin_of(score: float) -> int:
    """Return the bin of a held-out score; beyond the limits it is the outermost."""
    return score_bin(score, SCORE_LIMIT, BIN_WIDTH, N_BINS)


def bin_centres() -> NDArray[np.float64]:
    """Return the score that each bin stands for."""
    return np.asarray((np.arange(N_BINS) + 0.5) * BIN_WIDTH - SCORE_LIMIT, np.float64)
