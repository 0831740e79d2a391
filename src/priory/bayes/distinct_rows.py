"""All rows that were learned, each kept once with its weight: for models whose structure hangs on all of them.

A row is kept as the bytes of its values' numbers. A value gets its number when it is first seen and keeps it until it
is forgotten, so rows that are kept stay as they are when values come that sort before theirs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.columns import Columns
from priory.bayes.tables import ROUNDING, Floats, Labels, add_cells_to, rounding_of, spread

_UNKNOWN: Final = -2  # the number of all values that were never learned


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The weight of each distinct row by class.

    >>> rows = Columns([np.array(["html", "html", "text"], object)])
    >>> kept = DistinctRows.empty(1, n_classes=2).learned(rows, np.array([0, 0, 1]), np.ones(3))
    >>> [part.tolist() for part in kept.counted()]
    [[[0], [1]], [0, 1], [2.0, 1.0]]
    """

    coding: Coding
    numbers: tuple[NDArray[np.int32], ...]  #: of each value of each column, in the order of the coding
    counts: Floats  #: weight of the rows by one value, [cell, class]
    weights: tuple[dict[bytes, float], ...]  #: by class and row

    @classmethod
    def empty(cls, n_columns: int, n_classes: int) -> Self:
        """Return no rows."""
        coding = Coding.given([[] for _ in range(n_columns)])
        numbers = (np.empty(0, np.int32),) * n_columns
        return cls(coding, numbers, np.zeros((coding.n_cells, n_classes)), tuple({} for _ in range(n_classes)))

    def learned(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        """Return the rows with these; what is kept is changed in place."""
        wider = self._recoded(self.coding.joined(Coding.of(rows.where(weights > 0))))
        codes = wider.coding.codes(rows)
        add_cells_to(wider.counts, wider.coding.cells_of(codes), labels, weights)
        wider._keep(codes, labels, weights)
        return wider

    def forgotten(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        """Return the rows without these, changed in place; if some were never learned, raise and change nothing."""
        codes = self.coding.codes(rows)
        taken: tuple[dict[bytes, float], ...] = tuple({} for _ in self.weights)
        for key, label, weight in self._lessons(codes, labels, weights):
            taken[label][key] = taken[label].get(key, 0.0) + weight
        for kept, less in zip(self.weights, taken, strict=True):
            if any(weight > kept.get(key, 0.0) * (1 + ROUNDING) for key, weight in less.items()):
                raise ValueError(
                    "X and y hold rows that were never learned, or were forgotten already: nothing was changed"
                )
        add_cells_to(self.counts, self.coding.cells_of(codes), labels, -weights)
        rounding = rounding_of(-weights)  # the same for rows as for values
        for kept, less in zip(self.weights, taken, strict=True):
            for key, weight in less.items():
                kept[key] -= weight
                if kept[key] <= rounding:
                    del kept[key]
        return self._recoded(self.coding.limited(np.asarray((self.counts > 0).any(axis=1))))

    def joined(self, other: Self) -> Self:
        """Return the rows of both; what this one keeps is changed in place."""
        wider = self._recoded(self.coding.joined(other.coding))
        codes, labels, weights = other.counted()
        for j, (values, known) in enumerate(zip(other.coding.categories, wider.coding.categories, strict=True)):
            codes[:, j] = np.append(np.searchsorted(known, values), MISSING)[codes[:, j]]
        wider._keep(codes, labels, weights)
        return replace(wider, counts=wider.counts + other.coding.recoded(other.counts, wider.coding))

    def spread(self, where: NDArray[np.int64], n_classes: int) -> Self:
        """Return the rows with the classes moved to new places among more of them."""
        weights: list[dict[bytes, float]] = [{} for _ in range(n_classes)]
        for place, kept in zip(where.tolist(), self.weights, strict=True):
            weights[place] = kept
        return replace(self, counts=spread(self.counts, where, n_classes), weights=tuple(weights))

    def counted(self) -> tuple[Codes, Labels, Floats]:
        """Return the rows as codes [row, column], with class and weight; a row of two classes comes twice."""
        flat = np.frombuffer(b"".join(key for kept in self.weights for key in kept), np.int32)
        stored = flat.reshape(-1, len(self.numbers))
        codes = np.empty(stored.shape, np.int32)
        for j, numbers in enumerate(self.numbers):
            n_places = max(_largest(numbers), _largest(stored[:, j])) + 2
            places = np.full(n_places, MISSING, np.int32)  # the last, which is also at -1, is for missing values
            places[numbers] = np.arange(len(numbers))
            codes[:, j] = places[stored[:, j]]
        labels = np.repeat(np.arange(len(self.weights)), [len(kept) for kept in self.weights])
        weights = np.fromiter((weight for kept in self.weights for weight in kept.values()), np.float64)
        return codes, labels, weights

    def _keep(self, codes: Codes, labels: Labels, weights: Floats) -> None:
        for key, label, weight in self._lessons(codes, labels, weights):
            kept = self.weights[label]
            kept[key] = kept.get(key, 0.0) + weight

    def _lessons(self, codes: Codes, labels: Labels, weights: Floats) -> Iterator[tuple[bytes, int, float]]:
        """The rows that weigh something, as bytes, with class and weight."""
        rows = weights > 0
        stored = np.empty((np.count_nonzero(rows), len(self.numbers)), np.int32)
        for j, numbers in enumerate(self.numbers):
            stored[:, j] = np.append(numbers, [_UNKNOWN, MISSING])[codes[rows, j]]
        keys = stored.view(f"V{stored.itemsize * stored.shape[1]}")[:, 0].tolist()
        return zip(keys, labels[rows].tolist(), weights[rows].tolist(), strict=True)

    def _recoded(self, coding: Coding) -> Self:
        """The rows with another coding; values that are new get their numbers."""
        if coding.n_cells == self.coding.n_cells:
            return self
        numbers = []
        for j, (values, known) in enumerate(zip(self.coding.categories, coding.categories, strict=True)):
            _, mine, others = np.intersect1d(values, known, assume_unique=True, return_indices=True)
            new = np.full(len(known), MISSING, np.int32)
            new[others] = self.numbers[j][mine]
            fresh = new == MISSING
            new[fresh] = _largest(new) + 1 + np.arange(np.count_nonzero(fresh))
            numbers.append(new)
        return type(self)(coding, tuple(numbers), self.coding.recoded(self.counts, coding), self.weights)


def _largest(numbers: NDArray[np.int32]) -> int:
    return int(numbers.max(initial=-1))
