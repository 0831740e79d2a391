"""Columns of names or numbers as codes: which values each column has had, and the cells of a table they fall into.

Column $j$ with $m_j$ known values owns $m_j + 1$ cells in a row: one for each value, in order, and one for all values
never seen, whose count stays zero. So a new value needs no special case: it falls into a cell like any other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

Columns: TypeAlias = list[NDArray[Any]]  #: each numbers with NaN, or strings with None where a value is missing
Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int32]
MISSING: Final = -1


def read_columns(estimator: Any, X: Any, *, reset: bool) -> Columns:
    """Return the columns of an array or a frame, checked against those the estimator knows."""
    X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
    if X.dtype.kind in "biuf":
        return list(X.T)
    return [_typed(column, name) for name, column in zip(_names(estimator, X.shape[1]), X.T, strict=True)]


def _names(estimator: Any, n: int) -> Sequence[str]:
    given = getattr(estimator, "feature_names_in_", None)
    return [f"{j}" for j in range(n)] if given is None else list(given)


def _typed(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column of numbers, or of strings."""
    missing = np.array([_is_missing(value) for value in column], bool)
    known = column[~missing]
    if len(known) and all(isinstance(value, str) for value in known):
        named = column.astype(object)
        named[missing] = None
        return named
    try:
        return np.where(missing, np.nan, column).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name} of X mixes numbers with other values: make it all strings") from error


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NA, which is not even equal to itself by a yes or no."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and isnan(value))


@dataclass(frozen=True)
class Coding:
    """The known values of each column, in order.

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
        return cls(tuple(_values(column) for column in columns))

    @classmethod
    def given(cls, categories: Iterable[ArrayLike]) -> Self:
        """Return the coding of values that are named."""
        return cls(tuple(_values(_typed(np.asarray(values, object), f"{j}")) for j, values in enumerate(categories)))

    @cached_property
    def n_values(self) -> NDArray[np.int64]:
        """How many values each column is known to have."""
        return np.array([len(values) for values in self.categories], np.int64)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where the cells of each column begin."""
        return np.concatenate([[0], np.cumsum(self.n_values + 1)[:-1]])

    @property
    def n_cells(self) -> int:
        """How many cells all columns have together."""
        return int((self.n_values + 1).sum())

    def codes(self, columns: Columns) -> Codes:
        """Return the number of each value in its column, [row, column]; one that is not known has the number after."""
        codes = np.empty((len(columns[0]), len(columns)), np.int32, order="F")
        for j, (column, values) in enumerate(zip(columns, self.categories, strict=True)):
            codes[:, j] = _codes(column, values)
        return np.ascontiguousarray(codes)

    def cells(self, columns: Columns) -> Codes:
        """Return the cell that each value falls into, [row, column]; missing values fall into none, which is -1."""
        return self.cells_of(self.codes(columns))

    def cells_of(self, codes: Codes) -> Codes:
        """Return the cells of values given by their codes."""
        return np.where(codes == MISSING, np.int32(MISSING), codes + self.offsets.astype(np.int32))

    def decoded(self, codes: Codes) -> NDArray[Any]:
        """Return the values of known codes, [row, column]: numbers, or objects if some column holds names."""
        columns = [values[code] for values, code in zip(self.categories, codes.T, strict=True)]
        named = any(column.dtype.kind == "U" for column in columns)
        return np.column_stack([column.astype(object) if named else column for column in columns])

    def joined(self, other: Self) -> Self:
        """Return the coding that knows the values of both."""
        pairs = zip(self.categories, other.categories, strict=True)
        return type(self)(tuple(_union(some, more, j) for j, (some, more) in enumerate(pairs)))

    def limited(self, used: NDArray[np.bool_]) -> Self:
        """Return the coding of those values alone whose cells are used."""
        places = zip(self.categories, self.offsets, strict=True)
        return type(self)(tuple(values[used[at : at + len(values)]] for values, at in places))

    def recoded(self, table: Floats, other: Self) -> Floats:
        """Return a table [cell, …] of this coding as one of the other; cells of values unknown here are zero."""
        moved = np.zeros((other.n_cells, *table.shape[1:]))
        for here, at, there, to in zip(self.categories, self.offsets, other.categories, other.offsets, strict=True):
            _, mine, others = np.intersect1d(here, there, assume_unique=True, return_indices=True)
            moved[to + others] = table[at + mine]
        return moved


def _values(column: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values of a column, in order, without missing ones."""
    if column.dtype.kind == "O":
        return np.unique(np.array([value for value in column if value is not None], dtype=str))
    if column.dtype.kind in "biu":
        return _whole_values(column)
    return np.unique(column[~np.isnan(column)])


def _whole_values(column: NDArray[Any]) -> NDArray[Any]:
    """Distinct whole numbers: by counting where they lie close together, by sorting elsewhere."""
    least = int(column.min())
    if int(column.max()) - least > 4 * len(column):
        return np.unique(column).astype(np.float64)
    return (np.flatnonzero(np.bincount(column.astype(np.int64) - least)) + least).astype(np.float64)


def _codes(column: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind == "O":
        return _codes_of_names(column, values)
    if values.dtype.kind == "U":
        return _nothing_but_missing(column, "numbers in a column that held names")
    if len(values) and values[0] == 0 and values[-1] == len(values) - 1 and column.dtype.kind in "biu":
        return np.where((column >= 0) & (column < len(values)), column, len(values))
    codes = np.searchsorted(values, column)
    known = np.append(values, np.nan)[codes] == column
    return np.where(np.isnan(column), MISSING, np.where(known, codes, len(values)))


def _codes_of_names(column: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "U" and len(values):
        return _nothing_but_missing(column, "names in a column that held numbers")
    number = {value: code for code, value in enumerate(values.tolist())}
    number[None] = MISSING
    return np.array([number.get(value, len(values)) for value in column], np.int32)


def _nothing_but_missing(column: NDArray[Any], complaint: str) -> NDArray[Any]:
    """Return the codes of a column without any value; if it has some, they are of the wrong kind."""
    if not all(_is_missing(value) for value in column.tolist()):
        raise ValueError(f"X has {complaint} when it was learned")
    return np.full(len(column), MISSING)


def _union(some: NDArray[Any], more: NDArray[Any], j: int) -> NDArray[Any]:
    if len(some) and len(more) and (some.dtype.kind == "U") != (more.dtype.kind == "U"):
        raise ValueError(f"column {j} of X holds names in one place and numbers in another")
    return more if not len(some) else some if not len(more) else np.union1d(some, more)
