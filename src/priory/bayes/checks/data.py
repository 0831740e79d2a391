"""Labelled tables for the checks: generated to suit an estimator, split into parts, and learned in lessons."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import has_fit_parameter

from priory.bayes.checks.comparison import name_of

Rows: TypeAlias = NDArray[np.intp]


def drawn_tables(estimator: Any, seed: int = 0) -> dict[str, tuple[Any, NDArray[np.int64]]]:
    """Return tables of three classes that suit an estimator's input tags, by name.

    They hold counts if the estimator takes nothing below zero or takes categories, otherwise real numbers; further
    tables have many zeros as CSR, gaps, or names, where the estimator accepts them. An estimator that takes no tables
    gets strings.

    >>> from priory.bayes import CategoricalNB
    >>> [(name, X.shape) for name, (X, y) in drawn_tables(CategoricalNB()).items()]
    [('dense', (60, 4)), ('gaps', (60, 4)), ('names', (60, 4))]
    """
    rng, tags = np.random.default_rng(seed), get_tags(estimator).input_tags
    y = rng.permutation(np.arange(60) % 3)
    counts = np.minimum(rng.poisson(np.array([[0.4, 1, 2, 1], [1, 2, 0.4, 1], [2, 0.4, 1, 1]])[y]), 3).astype(float)
    counts[-1, 0] = 4  # a value of one row only: it must disappear when that row is forgotten
    if not tags.two_d_array:
        texts = ["".join("abcde"[int(value)] for value in row) for row in counts]
        return {"strings": (np.array(texts, object), y)}
    dense = counts if tags.positive_only or tags.categorical else counts + rng.normal(0, 0.5, counts.shape)
    tables: dict[str, Any] = {"dense": dense}
    hole = rng.random(counts.shape) < 0.2
    if tags.sparse:
        tables["sparse"] = csr_matrix(np.where(hole, 0.0, dense))
    if tags.allow_nan:
        tables["gaps"] = np.where(hole, np.nan, dense)
    if tags.string:
        tables["names"] = np.array(["noon", "evening", "night", "dawn", "dusk"], object)[counts.astype(int)]
    return {name: (table, y) for name, table in tables.items()}


def with_value(X: Any, value: float) -> Any:
    """Return a copy of the table with one value replaced; in a frame, in a column of numbers if there is one."""
    if issparse(X):
        changed = X.tocsr().copy()
        changed.data[len(changed.data) // 2] = value
        return changed
    if hasattr(X, "iloc"):
        changed, numbers = X.copy(), [j for j, dtype in enumerate(X.dtypes) if dtype.kind in "iuf"]
        at = numbers[0] if numbers else 0
        changed.isetitem(at, X.iloc[:, at].astype(float if numbers else object))
        changed.iloc[len(X) // 2, at] = value
        return changed
    changed = np.array(X, object if np.asarray(X).dtype.kind in "OU" else float)
    changed[len(changed) // 2, 0] = value
    return changed


def learned(estimator: Any, X: Any, y: Any, *lessons: Rows, weights: Any = None) -> Any:
    """Return a copy of the estimator that has learned these groups of rows, one after the other."""
    model = clone(estimator)
    for rows in lessons:
        teach(model.partial_fit, X, y, rows, weights)
    return model


def teach(act: Any, X: Any, y: Any, rows: Rows, weights: Any = None) -> None:
    """Call a model's method with these rows, and their weights if there are any."""
    more = {} if weights is None else {"sample_weight": weights[rows]}
    try:
        act(*pick(X, y, rows), **more)
    except ValueError as error:
        raise AssertionError(f"{name_of(act.__self__)}: a lesson is refused: {error}") from error


def pick(X: Any, y: Any, rows: Rows) -> tuple[Any, Any]:
    """Return some of the rows, with their labels."""
    return _safe_indexing(X, rows), _safe_indexing(y, rows)


def by_class(y: Any) -> list[Rows]:
    """Return the rows of each class."""
    return [np.flatnonzero(np.asarray(y) == label) for label in np.unique(y)]


def halves(y: Any) -> tuple[Rows, Rows]:
    """Return two parts of the rows that both have every class."""
    parts = [np.array_split(rows, 2) for rows in by_class(y)]
    first, then = (np.sort(np.concatenate(part)) for part in zip(*parts, strict=True))
    return first, then


def some_weights(estimator: Any, n: int) -> list[NDArray[np.float64] | None]:
    """Return None, and quarters, which are exact in binary, if the estimator takes weights."""
    quarters = np.arange(1, n + 1) % 7 / 4
    return [None, quarters] if has_fit_parameter(estimator, "sample_weight") else [None]
