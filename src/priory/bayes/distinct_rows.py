"""All rows that were learned, each kept once with its weight under each class: for models that need whole rows.

A row is kept as the bytes of its values' numbers. A value gets its number when it is first seen and keeps it until no
kept row has it, so rows that are kept stay as they are when values come that sort before theirs. How many of the kept
rows have a value is a whole number, whatever they weigh: so it is exact which values are known.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.columns import Columns
from priory.bayes.seen import Seen, Slots
from priory.bayes.tables import Floats, Labels


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The rows that were learned and how much they weigh, and the coding of the values they have.

    >>> rows = Columns([np.array(["html", "text", "html"], object)])
    >>> kept = DistinctRows.empty(Coding.named(None, 1), n_classes=2).changed(rows, np.array([0, 0, 1]), np.ones(3))
    >>> codes, weights = kept.counted()
    >>> kept.coding.decoded(codes).tolist(), weights.tolist()
    ([['html'], ['text']], [[1.0, 1.0], [1.0, 0.0]])
    """

    given: Coding  #: values that are known even if no row has them
    coding: Coding
    numbers: Floats  #: of the value of each cell, from 1 up; 0 for values never seen
    uses: Floats  #: how many of the rows have the value of each cell
    seen: Seen

    @classmethod
    def empty(cls, given: Coding, n_classes: int) -> Self:
        """Return no rows."""
        nothing = np.zeros(given.n_cells)
        return cls(given, given, _numbered(nothing, given), nothing, Seen(n_classes))

    def changed(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        """Return the rows with these, or, where weights are below zero, without them; what is kept changes in place.

        If rows are taken back that were never there, ValueError is raised and nothing is changed.
        """
        counted = weights != 0
        rows, labels, weights = rows.where(counted), labels[counted], weights[counted]
        return (self._without if (weights < 0).any() else self._with)(rows, labels, weights)

    def joined(self, other: Self) -> Self:
        """Return the rows of both; what this one keeps is changed in place."""
        wider = self._recoded(self.coding.joined(other.coding))
        codes, weights = other._recoded(wider.coding).counted()
        cells = wider.coding.cells_of(codes)
        slots = wider.seen.placed(wider._keys(cells))
        wider = wider._used(cells, slots, 1)
        wider.seen.counts[slots] += weights
        return wider

    def spread(self, where: NDArray[np.int64], n_classes: int) -> Self:
        """Return the rows with the classes moved to new places among more of them; these stay as they are."""
        return replace(self, seen=self.seen.spread(where, n_classes))

    def counted(self) -> tuple[Codes, Floats]:
        """Return the rows as codes [row, column], in the order they came, and their weights [row, class]."""
        stored = np.frombuffer(b"".join(self.seen.places), np.int32).reshape(-1, len(self.coding.categories))
        codes = np.full(int(self.numbers.max()) + 2, MISSING, np.int32)  # the last, at -1, is for missing values
        first = np.repeat(self.coding.offsets, self.coding.n_values + 1)
        codes[self.numbers.astype(np.int64)] = np.arange(len(first)) - first
        return codes[stored], self.seen.counts[np.fromiter(self.seen.places.values(), np.int64)]

    def weights_of(self, codes: Codes) -> Floats:
        """Return the weights of rows given by their codes, [row, class]; of those never learned zero."""
        return np.asarray(self.seen.counts[self.seen.slots(self._keys(self.coding.cells_of(codes)))])

    def _with(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        wider = self._recoded(self.coding.widened(rows))
        cells = wider.coding.cells(rows)
        slots = wider.seen.placed(wider._keys(cells))
        wider = wider._used(cells, slots, 1)
        wider.seen.add_each(slots, labels, weights)
        return wider

    def _without(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        cells = self.coding.cells(rows)
        keys = self._keys(cells)
        slots = self.seen.slots(keys)
        self.seen.add_each(slots, labels, weights)
        left = self._used(cells, slots, -1)
        left.seen.drop_empty(keys, slots)
        return left._recoded(left.coding.limited(left.uses > 0).joined(left.given))

    def _used(self, cells: Codes, slots: Slots, amount: int) -> Self:
        """The rows with the uses changed by those of these whose slots are empty: not yet filled, or left so."""
        empty = np.flatnonzero((slots > 0) & ~self.seen.counts[slots].any(axis=1))
        _, once = np.unique(slots[empty], return_index=True)
        uses = np.bincount(cells[empty[once]].ravel() + 1, minlength=len(self.uses) + 1)[1:]
        return replace(self, uses=self.uses + amount * uses)

    def _keys(self, cells: Codes) -> list[bytes]:
        """What each row is kept as; -1 is for missing values, 0 for those never seen."""
        stored = np.append(self.numbers, MISSING).astype(np.int32)[cells]
        keys: list[bytes] = stored.view(f"V{stored.itemsize * stored.shape[1]}")[:, 0].tolist()
        return keys

    def _recoded(self, coding: Coding) -> Self:
        """The rows with another coding, which has all values that they have."""
        if coding.n_cells == self.coding.n_cells:
            return self
        numbers, uses = (self.coding.recoded(table, coding) for table in (self.numbers, self.uses))
        return replace(self, coding=coding, numbers=_numbered(numbers, coding), uses=uses)


def _numbered(numbers: Floats, coding: Coding) -> Floats:
    """Return the numbers of all values: those that have none, which is 0, get the lowest that are free."""
    fresh = numbers == 0
    fresh[coding.offsets + coding.n_values] = False  # the cells of values never seen
    free = np.setdiff1d(np.arange(1.0, coding.n_cells), numbers)
    all_numbers = numbers.copy()
    all_numbers[fresh] = free[: np.count_nonzero(fresh)]
    return all_numbers
