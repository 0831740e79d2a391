"""Tables as people have them: frames of pandas or polars, and arrays; and what kind of thing each column holds.

pandas and polars are not needed: a frame is known by where its class comes from, and who has one has its library.
"""

from importlib import import_module
from math import isnan
from numbers import Integral, Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

Table: TypeAlias = Any  #: a frame of pandas or polars, or an array [row, column]
_KINDS: Final = {"b": "truth", "i": "whole", "u": "whole", "f": "real"} | dict.fromkeys("OUST", "name")
_KINDS_IN_POLARS: Final = {"Boolean": "truth"} | dict.fromkeys(["String", "Categorical", "Enum", "Null"], "name")


def read_table(estimator: Any, X: Any, *, reset: bool) -> Table:
    """Return X as a frame, if it is one, or as an array, with the columns that the estimator knows."""
    if origin(X):
        if not all(X.shape):
            raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: there must be at least one of each")
        if len(set(X.columns)) < X.shape[1]:
            raise ValueError(f"X has two columns of the same name: {list(X.columns)}")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    if isinstance(X, list):
        plain = np.asarray(X)
        X = np.asarray(X, object) if plain.dtype.kind in "US" else plain  # numbers beside names stay numbers
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, or pandas' NA, which is not even equal to itself by a yes or no."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and isnan(value))


def origin(X: Any) -> str | None:
    """Return the name of the library that a frame is from; None for all other things."""
    name = type(X).__module__.partition(".")[0]
    return name if name in ("pandas", "polars") and hasattr(X, "columns") and hasattr(X, "shape") else None


def kind(table: Table, j: int) -> str | None:
    """Return what a column holds by its dtype: "truth", "whole", "real" or "name"; None if it is something else.

    >>> [kind(np.array([["ann", 2, 0.5, True]], object), j) for j in range(4)]
    ['name', 'whole', 'real', 'truth']
    """
    if origin(table) == "polars":
        return _kind_in_polars(table.dtypes[j])
    dtype = table.dtype if isinstance(table, np.ndarray) else table.dtypes.iloc[j]
    if dtype.name != "object":
        return _KINDS.get(dtype.kind)
    values = table[:, j] if isinstance(table, np.ndarray) else table.iloc[:, j].tolist()
    return _kind_of_all([value for value in values if not is_missing(value)])


def _kind_in_polars(dtype: Any) -> str | None:
    if dtype.is_integer():
        return "whole"
    if dtype.is_numeric():
        return "real"
    return _KINDS_IN_POLARS.get(str(dtype.base_type()))


def _kind_of_all(values: list[Any]) -> str:
    """Return the kind of values that have no dtype; if there are none, or of several kinds, they can only be names."""
    for name, types in (("truth", (bool, np.bool_)), ("whole", Integral), ("real", Real)):
        if values and all(isinstance(value, types) for value in values):
            return name
    return "name"


def numbers(table: Table, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return columns as numbers, with NaN where they are missing."""
    if origin(table) == "pandas":
        return np.asarray(table.iloc[:, columns].to_numpy(np.float64, na_value=np.nan))
    return values(table, columns).astype(np.float64, copy=False)


def values(table: Table, columns: NDArray[np.int64]) -> NDArray[Any]:
    """Return columns as they are: an array of numbers if all are, otherwise of objects."""
    if origin(table) == "pandas":
        return np.asarray(table.iloc[:, columns].to_numpy())
    if origin(table):
        return np.asarray(table[:, columns.tolist()].to_numpy())
    return np.asarray(table if len(columns) == table.shape[1] else table[:, columns])


def empty(table: Table) -> Table:
    """Return a table without rows that has the same columns."""
    return table[:0].copy() if origin(table) != "polars" else table.clear()


def like(template: Table, columns: list[NDArray[Any]], exact: list[bool]) -> Table:
    """Return columns as a table of the same make; those that are exact with its dtypes, the others as real numbers."""
    if not origin(template):
        named = any(column.dtype.kind in "OU" for column in columns)
        return np.column_stack([column.astype(object) if named else column for column in columns])
    made = import_module(str(origin(template)))
    if origin(template) == "pandas":
        frame = made.concat([made.Series(column) for column in columns], axis=1)
        frame.columns = template.columns
        return frame.astype(
            {name: dtype for name, dtype, cast in zip(frame, template.dtypes, exact, strict=True) if cast}
        )
    series = [made.Series(name, column.tolist()) for name, column in zip(template.columns, columns, strict=True)]
    kinds = zip(series, template.dtypes, exact, strict=True)
    return made.DataFrame([one.cast(dtype) if cast else one for one, dtype, cast in kinds])
