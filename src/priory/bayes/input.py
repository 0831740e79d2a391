"""Read and check the arguments of estimators: X as a matrix, table or categorical columns, y as labels, weights.

scikit-learn's own checks take some hundred microseconds whatever the size of the input, which is longer than learning a
row. So an array that already has the right type and shape is only checked for wrong values here. Everything else is
passed to scikit-learn, which converts lists and frames and reports errors.

Frames of pandas and polars are recognised by the module of their class, so neither library is required.
"""

from collections.abc import Iterable
from enum import Enum
from importlib import import_module
from math import isnan
from numbers import Integral, Real
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from priory.bayes.tables import Floats

Table: TypeAlias = Any  #: a frame of pandas or polars, or an array [row, column]
_PLAIN = (np.ndarray, csr_matrix, csr_array)
_EXACT: Final = 1 << 53  # floats represent whole numbers exactly up to here


class ColumnKind(Enum):
    """What a column of a table holds."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    REAL = "real"
    NAME = "name"


_KINDS: Final = {
    "b": ColumnKind.BOOLEAN,
    "i": ColumnKind.INTEGER,
    "u": ColumnKind.INTEGER,
    "f": ColumnKind.REAL,
} | dict.fromkeys("OUST", ColumnKind.NAME)
_KINDS_IN_POLARS: Final = {"Boolean": ColumnKind.BOOLEAN} | dict.fromkeys(
    ["String", "Categorical", "Enum", "Null"], ColumnKind.NAME
)


def read_matrix(estimator: Any, X: Any, *, reset: bool, sparse: bool = False, missing: bool = False) -> Any:
    """Return X as a float64 matrix, dense or CSR, with the columns that the estimator knows.

    CSR is returned only if `sparse` is true. NaN is accepted only if `missing` is true.
    """
    if not reset and is_ready(estimator, X, sparse=sparse) and _is_finite(X, missing):
        return X
    finite = "allow-nan" if missing else True
    numbers = validate_data(
        estimator, X, reset=reset, accept_sparse="csr" if sparse else False, dtype=np.float64, ensure_all_finite=finite
    )
    return numbers if type(numbers) is np.ndarray else _with_one_index_type(numbers)


def _with_one_index_type(X: Any) -> Any:
    """Return a CSR matrix whose `indices` and `indptr` have the same type, as the kernels require."""
    if X.indices.dtype == X.indptr.dtype:
        return X
    return csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)


def is_ready(estimator: Any, X: Any, *, sparse: bool = False) -> bool:
    """Tell whether X is an array that needs no conversion, and the estimator does not expect column names."""
    return (
        type(X) in _PLAIN
        and X.dtype == np.float64
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and (type(X) is np.ndarray or (sparse and X.indices.dtype == X.indptr.dtype))
    )


def _is_finite(X: Any, missing: bool) -> bool:
    values = X if type(X) is np.ndarray else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or (missing and not np.isinf(values).any()))


def read_labels(estimator: Any, y: Any, X: Any) -> NDArray[Any]:
    """Return y as an array with one label for each row of X."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = np.asarray(y) if type(y) in (list, np.ndarray) else y
    if not (type(labels) is np.ndarray and labels.ndim == 1 and labels.dtype.kind in "biuU"):
        labels = np.asarray(column_or_1d(y, warn=True))
        if labels.dtype.kind == "O" and any(is_missing(label) for label in labels):
            raise ValueError("y has a missing value (None or NaN): every row needs a label")
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    if not (type(X) in _PLAIN and X.shape[0] == len(labels)):
        check_consistent_length(X, labels)
    return labels


def read_weights(sample_weight: ArrayLike | None, labels: NDArray[Any]) -> Floats:
    """Return one weight for each label: 1 if no weights are given."""
    if sample_weight is None:
        return np.ones(len(labels))
    weights = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights, np.float64)


def same_kind(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Tell whether both arrays of labels hold names, or both hold numbers."""
    return (first.dtype.kind in "OSU") == (second.dtype.kind in "OSU")


def nearest(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Return the class at the place where each label would be sorted in: for a known label, the label itself."""
    return np.asarray(classes[np.minimum(np.searchsorted(classes, labels), len(classes) - 1)])


def union(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels of both arrays, sorted."""
    if not same_kind(first, second):
        raise ValueError(f"y mixes names and numbers as labels: {first.tolist()[:1]} and {second.tolist()[:1]}")
    return np.union1d(first, second)


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Return X as a frame, if it is one, or as an array, with the columns that the estimator knows."""
    if frame_library(X):
        if not all(X.shape):
            raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: there must be at least one of each")
        if len(set(X.columns)) < X.shape[1]:
            raise ValueError(f"X has two columns of the same name: {list(X.columns)}")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    if isinstance(X, list):
        plain = np.asarray(X)
        X = np.asarray(X, object) if plain.dtype.kind in "US" else plain  # keep numbers beside names as numbers
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def frame_library(X: Any) -> str | None:
    """Return "pandas" or "polars" for a frame of that library; None for anything else."""
    name = type(X).__module__.partition(".")[0]
    return name if name in ("pandas", "polars") and hasattr(X, "columns") and hasattr(X, "shape") else None


def column_kind(table: Table, j: int) -> ColumnKind | None:
    """Return the kind of a column by its dtype; None for a dtype that no model takes.

    >>> [column_kind(np.array([["ann", 2, 0.5, True]], object), j).value for j in range(4)]
    ['name', 'integer', 'real', 'boolean']
    """
    if frame_library(table) == "polars":
        return _kind_in_polars(table.dtypes[j])
    dtype = table.dtype if isinstance(table, np.ndarray) else table.dtypes.iloc[j]
    if dtype.name != "object":
        return _KINDS.get(dtype.kind)
    values = table[:, j] if isinstance(table, np.ndarray) else table.iloc[:, j].tolist()
    return _kind_of_all([value for value in values if not is_missing(value)])


def _kind_in_polars(dtype: Any) -> ColumnKind | None:
    if dtype.is_integer():
        return ColumnKind.INTEGER
    if dtype.is_numeric():
        return ColumnKind.REAL
    return _KINDS_IN_POLARS.get(str(dtype.base_type()))


def _kind_of_all(values: list[Any]) -> ColumnKind:
    """Return the kind of values without a dtype; no values at all, or values of several kinds, count as names."""
    types: dict[ColumnKind, Any] = {
        ColumnKind.BOOLEAN: (bool, np.bool_),
        ColumnKind.INTEGER: Integral,
        ColumnKind.REAL: Real,
    }
    for kind, of_kind in types.items():
        if values and all(isinstance(value, of_kind) for value in values):
            return kind
    return ColumnKind.NAME


def column_numbers(table: Table, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return columns as float64, with NaN for missing values."""
    if frame_library(table) == "pandas":
        return np.asarray(table.iloc[:, columns].to_numpy(np.float64, na_value=np.nan))
    return column_values(table, columns).astype(np.float64, copy=False)


def column_values(table: Table, columns: NDArray[np.int64]) -> NDArray[Any]:
    """Return columns unchanged: as an array of numbers if all of them are numbers, otherwise of objects."""
    if frame_library(table) == "pandas":
        return np.asarray(table.iloc[:, columns].to_numpy())
    if frame_library(table):
        return np.asarray(table[:, columns.tolist()].to_numpy())
    return np.asarray(table if len(columns) == table.shape[1] else table[:, columns])


def empty_table(table: Table) -> Table:
    """Return a table without rows that has the same columns."""
    return table[:0].copy() if frame_library(table) != "polars" else table.clear()


def table_like(template: Table, columns: list[NDArray[Any]], exact: list[bool]) -> Table:
    """Return columns as a table of the same type as the template.

    Columns marked as exact get the template's dtypes; the others are real numbers.
    """
    if not frame_library(template):
        named = any(column.dtype.kind in "OU" for column in columns)
        return np.column_stack([column.astype(object) if named else column for column in columns])
    made = import_module(str(frame_library(template)))
    if frame_library(template) == "pandas":
        frame = made.concat([made.Series(column) for column in columns], axis=1)
        frame.columns = template.columns
        return frame.astype(
            {name: dtype for name, dtype, cast in zip(frame, template.dtypes, exact, strict=True) if cast}
        )
    series = [made.Series(name, column.tolist()) for name, column in zip(template.columns, columns, strict=True)]
    kinds = zip(series, template.dtypes, exact, strict=True)
    return made.DataFrame([one.cast(dtype) if cast else one for one, dtype, cast in kinds])


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, pandas' NA or NaT. NA needs its own test: comparing it gives no bool."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and isnan(value))


class Columns(list[NDArray[Any]]):
    """The columns of a table for models of categories: numbers with NaN, or strings with None, for missing values.

    If all columns are numbers, `matrix` holds them in one array, [row, column].
    """

    def __init__(self, columns: Iterable[NDArray[Any]], matrix: NDArray[Any] | None = None) -> None:
        super().__init__(columns)
        self.matrix = matrix

    def where(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows for which the mask is true."""
        if mask.all():
            return self
        return type(self)((column[mask] for column in self), None if self.matrix is None else self.matrix[mask])


def read_columns(estimator: Any, X: Any, *, reset: bool) -> Columns:
    """Return the columns of an array or a frame, checked against those the estimator knows."""
    table = read_table(estimator, X, reset=reset)
    if isinstance(table, np.ndarray):
        if table.dtype.kind in "biuf":
            return _of_numbers(table)
        columns: Iterable[NDArray[Any]] = table.T
    else:
        columns = [column_values(table, np.array([j]))[:, 0] for j in range(table.shape[1])]
        if len({column.dtype for column in columns}) == 1 and columns[0].dtype.kind in "biuf":
            return _of_numbers(np.column_stack(columns))
    names = getattr(estimator, "feature_names_in_", None)
    return Columns(typed_column(column, str(j if names is None else names[j])) for j, column in enumerate(columns))


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
        raise ValueError(f"{where} contains infinity, which is not a category")


def typed_column(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column as floats, or as an object array of strings.

    >>> typed_column(np.array(["html", None, "text"], object), "form").tolist()
    ['html', None, 'text']
    >>> typed_column(np.array([1, None, 2.5], object), "size").tolist()
    [1.0, nan, 2.5]
    """
    if column.dtype.kind in "biuf":
        _check_numbers(column, f"column {name} of X")
        return column.astype(np.float64)
    values = column.tolist()
    if set(map(type, values)) == {str}:
        return column.astype(object)
    missing = np.array([is_missing(value) for value in values], bool)
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
