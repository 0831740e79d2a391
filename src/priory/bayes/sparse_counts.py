"""Counts where nearly all possible keys never occur: runs of symbols, whole rows, and combinations of values.

A table of all runs of four letters, or of all combinations of values, is far too large; the part that occurs is small.

- `SparseCounts` gives each key that occurs a row in a growing table [slot, class]; a dictionary maps keys to slots.
  Slot 0 stays zero and stands for all other keys.
- `DistinctRows` keeps each distinct learned row once, as the bytes of its values' numbers, with its weight under each
  class. A value gets its number when it is first seen and keeps it until no row has it, so stored rows stay valid when
  new values sort before theirs. The number of stored rows that have a value is a whole number, so the set of known
  values is exact whatever the rows weigh.
- `Combinations` holds the probabilities of a value given the values of several other columns. Five columns of 50 values
  have 312 million combinations, but a thousand rows have at most a thousand. A combination is numbered column by
  column: the number so far and the next value form a key, and the keys that occur are numbered in order.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.input import Columns
from priory.bayes.tables import Floats, Labels, add_to, log_shares, spread

Keys: TypeAlias = list[Any]  #: hashable objects
Slots: TypeAlias = NDArray[np.int64]
#: A table of all possible keys is used if it is no larger than this, or than a few times the number of rows. Predicting
#: 100,000 rows of 20 columns with 5 values and k = 2 takes 0.18 s, with binary search 0.30 s.
SMALL_TABLE: Final = 2**16


class SparseCounts:
    """The keys that occur and their counts under each class.

    >>> from scipy.sparse import csr_matrix
    >>> seen = SparseCounts(n_classes=2)
    >>> slots = seen.allocate(["offer", "lunch", "offer"])
    >>> slots.tolist(), seen.slots(["lunch", "hello"]).tolist()
    ([1, 2, 1], [2, 0])
    >>> messages = csr_matrix((np.ones(3), slots, [0, 1, 3]), (2, len(seen.table)))
    >>> seen.add(messages, np.array([0, 1]), np.ones(2))
    >>> seen.table[slots].tolist()
    [[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, n_classes: int) -> None:
        self.places: dict[Any, int] = {}
        self.table: Floats = np.zeros((16, n_classes))
        self._free: list[int] = []

    def statistics(self) -> dict[str, Any]:
        """Return the counts of each key and of all other slots, independent of the order of slots and of free ones.

        >>> SparseCounts(n_classes=2).statistics()
        {'keys': {}, 'else': array([0., 0.])}
        """
        spare = np.delete(self.table, list(self.places.values()), axis=0)
        keys = {key: self.table[slot] for key, slot in self.places.items()}
        return {"keys": keys, "else": np.abs(spare).sum(axis=0)}

    def slots(self, keys: Iterable[Any]) -> Slots:
        """Return the slot of each key; 0 for keys that do not occur."""
        return np.fromiter(map(self.places.get, keys, repeat(0)), np.int64)

    def allocate(self, keys: Keys) -> Slots:
        """Return the slot of each key, with new slots for new keys."""
        places = self.places
        new = [key for key in dict.fromkeys(keys) if key not in places]
        reused = self._free[: len(new)]
        first = 1 + len(places) + len(self._free)
        last = first + len(new) - len(reused)
        if last > len(self.table):
            more = np.zeros((max(last, 2 * len(self.table)) - len(self.table), self.table.shape[1]))
            self.table = np.vstack([self.table, more])
        places.update(zip(new, [*reused, *range(first, last)], strict=True))
        del self._free[: len(reused)]
        return self.slots(keys)

    def add(self, rows: Any, labels: Labels, weights: Floats) -> None:
        """Add the rows of a sparse matrix [row, slot]; negative weights subtract, or raise ValueError."""
        add_to(self.table, rows, labels, weights)

    def add_each(self, slots: Slots, labels: Labels, weights: Floats) -> None:
        """Add rows that consist of a single key, given by its slot; otherwise as `add`."""
        ones, ends = np.ones(len(slots)), np.arange(len(slots) + 1)
        self.add(csr_matrix((ones, slots, ends), (len(slots), len(self.table))), labels, weights)

    def drop_empty(self, keys: Keys, slots: Slots) -> None:
        """Free the slots of those keys that no class has any more."""
        for i in np.flatnonzero(~self.table[slots].any(axis=1)):
            slot = self.places.pop(keys[i], None)
            if slot is not None:
                self._free.append(slot)

    def spread(self, where: NDArray[np.int64], n_classes: int) -> "SparseCounts":
        """Return a copy with the classes at new places among more classes."""
        wider = SparseCounts(n_classes)
        wider.places, wider._free = dict(self.places), list(self._free)
        wider.table = spread(self.table, where, n_classes)
        return wider

    def join(self, other: "SparseCounts") -> None:
        """Add the counts of another instance with the same classes."""
        keys = list(other.places)
        slots = self.allocate(keys)
        self.table[slots] += other.table[other.slots(keys)]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows that were learned, their weights, and the coding of their values.

    >>> rows = Columns([np.array(["html", "text", "html"], object)])
    >>> kept = DistinctRows.empty(Coding.from_parameter(None, 1), n_classes=2)
    >>> kept = kept.update(rows, np.array([0, 0, 1]), np.ones(3))
    >>> codes, weights = kept.codes_and_weights()
    >>> kept.coding.decode(codes).tolist(), weights.tolist()
    ([['html'], ['text']], [[1.0, 1.0], [1.0, 0.0]])
    """

    given: Coding  #: values that stay known even if no row has them
    coding: Coding
    numbers: Floats  #: number of the value of each cell, from 1 up; 0 for values never seen
    uses: Floats  #: number of distinct rows with the value of each cell
    counts: SparseCounts

    @classmethod
    def empty(cls, given: Coding, n_classes: int) -> Self:
        """Return an instance without rows."""
        nothing = np.zeros(given.n_cells)
        return cls(given, given, _number_values(nothing, given), nothing, SparseCounts(n_classes))

    def update(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        """Return the rows after adding these, or removing them if weights are negative; the counts change in place.

        Rows that were never learned raise ValueError, and nothing changes.
        """
        counted = weights != 0
        rows, labels, weights = rows.where(counted), labels[counted], weights[counted]
        return (self._without if (weights < 0).any() else self._with)(rows, labels, weights)

    def plus(self, other: Self) -> Self:
        """Return the rows of both; the counts of this instance change in place."""
        wider = self._recode(self.coding.union(other.coding))
        codes, weights = other._recode(wider.coding).codes_and_weights()
        cells = wider.coding.cells_of(codes)
        slots = wider.counts.allocate(wider._keys(cells))
        wider = wider._update_uses(cells, slots, 1)
        wider.counts.table[slots] += weights
        return wider

    def spread(self, where: NDArray[np.int64], n_classes: int) -> Self:
        """Return a copy with the classes moved to new places among more classes."""
        return replace(self, counts=self.counts.spread(where, n_classes))

    def codes_and_weights(self) -> tuple[Codes, Floats]:
        """Return the rows as codes [row, column], in the order in which they came, and their weights [row, class]."""
        stored = np.frombuffer(b"".join(self.counts.places), np.int32).reshape(-1, len(self.coding.categories))
        codes = np.full(int(self.numbers.max()) + 2, MISSING, np.int32)  # the last, at index -1, is for missing values
        first = np.repeat(self.coding.offsets, self.coding.n_values + 1)
        codes[self.numbers.astype(np.int64)] = np.arange(len(first)) - first
        return codes[stored], self.counts.table[np.fromiter(self.counts.places.values(), np.int64)]

    def weights_of(self, codes: Codes) -> Floats:
        """Return the weights of rows given by their codes, [row, class]; zero for rows never learned."""
        return np.asarray(self.counts.table[self.counts.slots(self._keys(self.coding.cells_of(codes)))])

    def _with(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        wider = self._recode(self.coding.widen(rows))
        cells = wider.coding.cells(rows)
        slots = wider.counts.allocate(wider._keys(cells))
        wider = wider._update_uses(cells, slots, 1)
        wider.counts.add_each(slots, labels, weights)
        return wider

    def _without(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        cells = self.coding.cells(rows)
        keys = self._keys(cells)
        slots = self.counts.slots(keys)
        self.counts.add_each(slots, labels, weights)
        left = self._update_uses(cells, slots, -1)
        left.counts.drop_empty(keys, slots)
        return left._recode(left.coding.restrict(left.uses > 0).union(left.given))

    def _update_uses(self, cells: Codes, slots: Slots, amount: int) -> Self:
        """Return a copy whose `uses` change by the rows with empty slots: not filled yet, or just emptied."""
        empty = np.flatnonzero((slots > 0) & ~self.counts.table[slots].any(axis=1))
        _, once = np.unique(slots[empty], return_index=True)
        uses = np.bincount(cells[empty[once]].ravel() + 1, minlength=len(self.uses) + 1)[1:]
        return replace(self, uses=self.uses + amount * uses)

    def _keys(self, cells: Codes) -> list[bytes]:
        """Return the key of each row; in it -1 stands for a missing value and 0 for a value never seen."""
        stored = np.append(self.numbers, MISSING).astype(np.int32)[cells]
        keys: list[bytes] = stored.view(f"V{stored.itemsize * stored.shape[1]}")[:, 0].tolist()
        return keys

    def _recode(self, coding: Coding) -> Self:
        """Return the rows under another coding, which has all values that they have."""
        if coding.n_cells == self.coding.n_cells:
            return self
        numbers, uses = (self.coding.recode(table, coding) for table in (self.numbers, self.uses))
        return replace(self, coding=coding, numbers=_number_values(numbers, coding), uses=uses)


def _number_values(numbers: Floats, coding: Coding) -> Floats:
    """Return the numbers of all values: a value without one, which has 0, gets the lowest free number."""
    new = numbers == 0
    new[coding.offsets + coding.n_values] = False  # the cells of values never seen
    free = np.setdiff1d(np.arange(1.0, coding.n_cells), numbers)
    all_numbers = numbers.copy()
    all_numbers[new] = free[: np.count_nonzero(new)]
    return all_numbers


@dataclass(frozen=True, eq=False)
class WeightedLabels:
    """Class and weight of each row."""

    labels: Labels
    weights: Floats
    n_classes: int

    def of(self, rows: NDArray[np.bool_]) -> Self:
        """Return the labels and weights of the rows for which the mask is true."""
        return type(self)(self.labels[rows], self.weights[rows], self.n_classes)

    def sums(self, numbers: NDArray[np.int64], n: int) -> Floats:
        """Return the weights [number, class] of rows that have one of n numbers each."""
        places = numbers * self.n_classes + self.labels
        weights = np.bincount(places, self.weights, minlength=n * self.n_classes)
        return np.asarray(weights, np.float64).reshape(n, self.n_classes)


@dataclass(frozen=True, eq=False)
class Combinations:
    r"""log p(value given its parents' values and the class); the last column is the value's.

    `logs` [number, class] has three parts: the combinations that occur; for each combination of parents the probability
    of a value not seen with it, $\alpha / (n + m\alpha)$; and last $1/m$, for parents never seen.

    >>> lessons = WeightedLabels(np.array([0, 0, 0]), np.ones(3), n_classes=1)
    >>> table = Combinations.of(np.array([[0, 1], [0, 1], [1, 0]], np.int32), [3, 3], lessons, alpha=1.0)
    >>> np.exp(table.logs_of(np.array([[0, 1], [0, 0], [2, 0]], np.int32))).round(9).T.tolist()
    [[0.75, 0.25, 0.5]]
    """

    widths: list[int]
    numbers: "list[KeyIndex]"
    logs: Floats

    @classmethod
    def of(cls, codes: Codes, widths: list[int], lessons: WeightedLabels, alpha: float) -> Self:
        """Count rows of codes without missing values; a column of width m + 1 has m known values."""
        combinations = parents = np.zeros(len(codes), np.int64)
        numbers: list[KeyIndex] = []
        n_combinations = n_parents = 1
        for code, width in zip(codes.T, widths, strict=True):
            keys, parents, n_parents = combinations * width + code, combinations, n_combinations
            numbers.append(KeyIndex.of(keys, n_parents * width))
            combinations, n_combinations = numbers[-1].find(keys), len(numbers[-1].keys)
        totals = np.vstack([lessons.sums(parents, n_parents), np.zeros(lessons.n_classes)])
        n_values = max(widths[-1] - 1, 1)
        seen = log_shares(
            lessons.sums(combinations, n_combinations), totals[numbers[-1].keys // widths[-1]], n_values, alpha
        )
        return cls(widths, numbers, np.vstack([seen, log_shares(np.zeros_like(totals), totals, n_values, alpha)]))

    def logs_of(self, codes: Codes) -> Floats:
        """Return the log-probabilities of values given by their codes after their parents' codes, [row, class]."""
        combinations = parents = np.zeros(len(codes), np.int64)
        for code, width, numbers in zip(codes.T, self.widths, self.numbers, strict=True):
            parents, combinations = combinations, numbers.find(combinations * width + code)
        n_seen = len(self.numbers[-1].keys)
        return np.asarray(
            self.logs[np.where(combinations >= 0, combinations, np.where(parents >= 0, n_seen + parents, -1))]
        )


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """The distinct keys of a combination, sorted, and a table of their places unless it would be too large."""

    keys: NDArray[np.int64]
    places: NDArray[np.int64] | None

    @classmethod
    def of(cls, keys: NDArray[np.int64], n_possible: int) -> Self:
        """Number the keys that occur."""
        if n_possible > max(SMALL_TABLE, 4 * len(keys)):
            return cls(np.unique(keys), None)
        occurs = np.zeros(max(n_possible, 1), bool)
        occurs[keys] = True
        return cls(np.flatnonzero(occurs), np.where(occurs, occurs.cumsum() - 1, -1))

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each key; -1 for a key that does not occur or is negative."""
        if self.places is not None:
            return np.where(keys >= 0, self.places[np.maximum(keys, 0)], -1)
        places = np.searchsorted(self.keys, keys)
        return np.where((np.append(self.keys, -1)[places] == keys) & (keys >= 0), places, -1)
