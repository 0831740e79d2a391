"""The columns of a table, as models of categories take them: each of numbers, or of names."""

from collections.abc import Iterable
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.bayes import frames

_EXACT: Final = 1 << 53


class Columns(list[NDArray[Any]]):
    """The columns of a table: each numbers with NaN, or strings with None where a value is missing.

    If all are numbers, `matrix` has them in one piece, [row, column].
    """

    def __init__(self, columns: Iterable[NDArray[Any]], matrix: NDArray[Any] | None = None) -> None:
        super().__init__(columns)
        self.matrix = matrix

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        if chosen.all():
            return self
        return type(self)((column[chosen] for column in self), None if self.matrix is None else self.matrix[chosen])


def read_columns(estimator: Any, X: Any, *, reset: bool) -> Columns:
    """Return the columns of an array or a frame, checked against those the estimator knows."""
    table = frames.read_table(estimator, X, reset=reset)
    if isinstance(table, np.ndarray):
        if table.dtype.kind in "biuf":
            return _of_numbers(table)
        columns: Iterable[NDArray[Any]] = table.T
    else:
        columns = [frames.values(table, np.array([j]))[:, 0] for j in range(table.shape[1])]
        if len({column.dtype for column in columns}) == 1 and columns[0].dtype.kind in "biuf":
            return _of_numbers(np.column_stack(columns))
    names = getattr(estimator, "feature_names_in_", None)
    return Columns(typed(column, str(j if names is None else names[j])) for j, column in enumerate(columns))


def _of_numbers(matrix: NDArray[Any]) -> Columns:
    _check_numbers(matrix, "X")
    matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64, copy=False)
    return Columns(matrix.T, matrix)


def _check_numbers(numbers: NDArray[Any], where: str) -> None:
    if numbers.dtype.kind in "iu" and not -_EXACT < numbers.min(initial=0) <= numbers.max(initial=0) < _EXACT:
        raise ValueError(
            f"{where} has whole numbers beyond 2**53, which floats cannot tell apart: pass them as strings"
        )
    if numbers.dtype.kind == "f" and np.isinf(numbers).any():
        raise ValueError(f"{where} contains infinity, which is no category")


def typed(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column of numbers, or of strings.

    >>> typed(np.array(["html", None, "text"], object), "form").tolist()
    ['html', None, 'text']
    >>> typed(np.array([1, None, 2.5], object), "size").tolist()
    [1.0, nan, 2.5]
    """
    if column.dtype.kind in "biuf":
        _check_numbers(column, f"column {name} of X")
        return column.astype(np.float64)
    values = column.tolist()
    if set(map(type, values)) == {str}:
        return column.astype(object)
    missing = np.array([frames.is_missing(value) for value in values], bool)
    if not missing.all() and all(isinstance(value, str) for value in column[~missing]):
        named = column.astype(object)
        named[missing] = None
        return named
    return _as_numbers(column, missing, name)


def _as_numbers(column: NDArray[Any], missing: NDArray[np.bool_], name: str) -> NDArray[np.float64]:
    numbers = np.full(len(column), np.nan)
    try:
        known = np.array(column[~missing].tolist())
        if known.dtype.kind not in "biuf":
            raise TypeError("no numbers")
        numbers[~missing] = known
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name} of X mixes numbers with other values: make it all strings") from error
    _check_numbers(known, f"column {name} of X")
    return numbers
