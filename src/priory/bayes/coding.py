"""Categorical columns as codes: the known values of each column, and the cells of a table that they fall into.

Column $j$ with $m_j$ known values owns $m_j + 1$ adjacent cells: one for each value, in order, and one for all values
never seen, whose count stays zero. So a new value needs no special case: it falls into a cell like any other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priory.bayes.input import Columns, is_missing, typed_column
from priory.bayes.kernels import look_up_codes, occurring_values
from priory.bayes.tables import Floats

Codes: TypeAlias = NDArray[np.int32]
MISSING: Final = -1
_WIDEST: Final = 1 << 22  #: whole numbers that span more than this are found by binary search instead of a table


@dataclass(frozen=True)
class Coding:
    """The known values of each column, sorted.

    >>> coding = Coding.of([np.array(["red", "blue", None], object), np.array([1.0, 2.0, 2.0])])
    >>> coding.codes([np.array(["blue", "green", None], object), np.array([2.0, 2.0, 1.0])]).tolist()
    [[0, 1], [2, 1], [-1, 0]]
    >>> coding.cells([np.array(["red"], object), np.array([7.0])]).tolist(), coding.n_cells
    ([[1, 5]], 6)
    """

    categories: tuple[NDArray[Any], ...]

    @classmethod
    def of(cls, columns: Columns) -> Self:
        """Return the coding of the values in these columns."""
        matrix = getattr(columns, "matrix", None)
        if matrix is not None and matrix.dtype == np.int64 and len(matrix):
            least, most = matrix.min(axis=0), matrix.max(axis=0)
            if (most - least + 1.0).sum() <= max(_WIDEST, 4 * matrix.size):
                starts = np.concatenate([[0], np.cumsum(most - least + 1)])
                flags = np.split(occurring_values(matrix, least, starts), starts[1:-1])
                return cls(tuple((np.flatnonzero(f) + low).astype(float) for f, low in zip(flags, least, strict=True)))
        return cls(tuple(_values(column) for column in columns))

    @classmethod
    def from_values(cls, categories: Iterable[ArrayLike]) -> Self:
        """Return the coding of explicitly listed values."""
        return cls(
            tuple(_values(typed_column(np.asarray(values, object), f"{j}")) for j, values in enumerate(categories))
        )

    @classmethod
    def from_parameter(cls, categories: Sequence[ArrayLike] | None, n_columns: int) -> Self:
        """Return the coding of an estimator's `categories` parameter; without it, no value is known."""
        if isinstance(categories, (Mapping, str)) or any(
            isinstance(values, (Mapping, str)) for values in categories or ()
        ):
            raise ValueError("categories must be a list with the values of each column, in order")
        given = [[]] * n_columns if categories is None else categories
        if len(given) != n_columns:
            raise ValueError(f"categories has the values of {len(given)} columns, but X has {n_columns} columns")
        return cls.from_values(given)

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """The number of known values of each column."""
        return np.array([len(values) for values in self.categories], np.int64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the cells of each column begin."""
        return np.concatenate([[0], np.cumsum(self.n_values + 1)[:-1]])

    @property
    def n_cells(self) -> int:
        """The number of cells of all columns together."""
        return int((self.n_values + 1).sum())

    def codes(self, columns: Columns) -> Codes:
        """Return the code of each value in its column, [row, column]; an unknown value has the code after the last."""
        return self._numbers(columns, np.zeros(len(columns), np.int64))

    def cells(self, columns: Columns) -> Codes:
        """Return the cell of each value, [row, column]; -1 for missing values."""
        return self._numbers(columns, self.offsets)

    def _numbers(self, columns: Columns, offsets: NDArray[np.int64]) -> Codes:
        """Return codes plus each column's offset: from one table if all values are whole numbers, else by column."""
        matrix = getattr(columns, "matrix", None)
        if matrix is not None and self._spans is not None:
            least, starts = self._spans
            table = np.repeat((self.n_values + offsets).astype(np.int32), np.diff(starts))
            for values, low, at, offset in zip(self.categories, least, starts, offsets, strict=False):
                table[at + values.astype(np.int64) - low] = offset + np.arange(len(values))
            return look_up_codes(matrix, table, least, starts, (self.n_values + offsets).astype(np.int32), MISSING)
        return self.cells_of(self._codes(columns), offsets)

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Where each column's table of whole numbers begins, and its part in the joint table; None if too large."""
        if not all(values.dtype.kind == "f" and (values % 1 == 0).all() for values in self.categories):
            return None
        least = np.array([values[0] if len(values) else 0.0 for values in self.categories])
        most = np.array([values[-1] if len(values) else -1.0 for values in self.categories])
        if (most - least + 1).sum() > _WIDEST:
            return None
        return least.astype(np.int64), np.concatenate([[0], np.cumsum(most - least + 1)]).astype(np.int64)

    @cached_property
    def _name_codes(self) -> dict[int, dict[Any, int]]:
        """Dictionaries from names to codes by column, filled on first use."""
        return {}

    def _codes(self, columns: Columns) -> Codes:
        codes = np.empty((len(columns[0]), len(columns)), np.int32, order="F")
        for j, column in enumerate(columns):
            codes[:, j] = (
                self._codes_of_names(j, column) if column.dtype.kind == "O" else self._codes_of_numbers(j, column)
            )
        return np.ascontiguousarray(codes)

    def _codes_of_numbers(self, j: int, column: NDArray[Any]) -> NDArray[Any]:
        values = self.categories[j]
        if values.dtype.kind == "U":
            return _nothing_but_missing(column, "numbers in a column that held names")
        codes = np.searchsorted(values, column)
        known = np.append(values, np.nan)[codes] == column
        return np.where(np.isnan(column), MISSING, np.where(known, codes, len(values)))

    def _codes_of_names(self, j: int, column: NDArray[Any]) -> NDArray[Any]:
        values = self.categories[j]
        if values.dtype.kind != "U" and len(values):
            return _nothing_but_missing(column, "names in a column that held numbers")
        if j not in self._name_codes:
            self._name_codes[j] = {name: code for code, name in enumerate(values.tolist())} | {None: MISSING}
        return np.fromiter(map(self._name_codes[j].get, column.tolist(), repeat(len(values))), np.int32, len(column))

    def cells_of(self, codes: Codes, offsets: NDArray[np.int64] | None = None) -> Codes:
        """Return the cells of values given by their codes."""
        offsets = self.offsets if offsets is None else offsets
        return np.where(codes == MISSING, np.int32(MISSING), codes + offsets.astype(np.int32))

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Return the values of known codes, [row, column]: numbers, or objects if some column holds names."""
        columns = [
            values[code] if len(values) else np.full(len(code), np.nan)
            for values, code in zip(self.categories, codes.T, strict=True)
        ]
        named = any(column.dtype.kind == "U" for column in columns)
        return np.column_stack([column.astype(object) if named else column for column in columns])

    def union(self, other: Self) -> Self:
        """Return the coding that knows the values of both."""
        pairs = zip(self.categories, other.categories, strict=True)
        return type(self)(tuple(_union(first, second, j) for j, (first, second) in enumerate(pairs)))

    def widen(self, columns: Columns) -> Self:
        """Return the coding that also knows the values of these columns; itself if there are no new values."""
        if not len(columns[0]) or (self.codes(columns) < self.n_values).all():
            return self
        return self.union(type(self).of(columns))

    def restrict(self, used: NDArray[np.bool_]) -> Self:
        """Return the coding of only those values whose cells are used."""
        places = zip(self.categories, self.offsets, strict=True)
        return type(self)(tuple(values[used[at : at + len(values)]] for values, at in places))

    def recode(self, table: Floats, other: Self) -> Floats:
        """Return a table [cell, …] of this coding in the cells of another; cells of values unknown here are zero."""
        moved = np.zeros((other.n_cells, *table.shape[1:]))
        for here, at, there, to in zip(self.categories, self.offsets, other.categories, other.offsets, strict=True):
            _, mine, others = np.intersect1d(here, there, assume_unique=True, return_indices=True)
            moved[to + others] = table[at + mine]
        return moved


def _values(column: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values of a column, sorted, without missing ones."""
    if column.dtype.kind == "O":
        return np.array(sorted(set(column.tolist()) - {None}), dtype=str)
    numbers = column.astype(np.float64)
    return np.unique(numbers[~np.isnan(numbers)])


def _nothing_but_missing(column: NDArray[Any], complaint: str) -> NDArray[Any]:
    """Return the codes of a column that must have no values; raise ValueError if it has some, of the wrong kind."""
    if not all(is_missing(value) for value in column.tolist()):
        raise ValueError(f"X has {complaint} when it was learned")
    return np.full(len(column), MISSING)


def _union(first: NDArray[Any], second: NDArray[Any], j: int) -> NDArray[Any]:
    if len(first) and len(second) and (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise ValueError(f"column {j} of X holds names in one place and numbers in another")
    return second if not len(first) else first if not len(second) else np.union1d(first, second)


def draw_codes(logs: Floats, rng: np.random.Generator) -> Codes:
    """Draw one code for each row of log-probabilities [row, code]."""
    ends = np.exp(logs).cumsum(axis=1)
    return np.asarray((rng.random((len(logs), 1)) * ends[:, -1:] >= ends).sum(axis=1), np.int32)
