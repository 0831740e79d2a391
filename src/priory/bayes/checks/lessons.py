"""Rows in parts, and models that learn them lesson by lesson."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from priory.bayes.checks.comparison import name_of

Rows: TypeAlias = NDArray[np.intp]


def learned(estimator: Any, X: Any, y: Any, *lessons: Rows, weights: Any = None) -> Any:
    """Return a copy of the estimator that has learned these rows, lesson by lesson."""
    model = clone(estimator)
    for rows in lessons:
        teach(model.partial_fit, X, y, rows, weights)
    return model


def teach(act: Any, X: Any, y: Any, rows: Rows, weights: Any = None) -> None:
    """Let a model's method have these rows, and their weights if there are any."""
    more = {} if weights is None else {"sample_weight": weights[rows]}
    try:
        act(*pick(X, y, rows), **more)
    except ValueError as error:
        raise AssertionError(f"{name_of(act.__self__)}: a lesson is refused: {error}") from error


def pick(X: Any, y: Any, rows: Rows) -> tuple[Any, Any]:
    """Return some of the rows, with their labels."""
    return _safe_indexing(X, rows), _safe_indexing(y, rows)


def by_class(y: Any) -> list[Rows]:
    """The rows of each class."""
    return [np.flatnonzero(np.asarray(y) == label) for label in np.unique(y)]


def halves(y: Any) -> tuple[Rows, Rows]:
    """Two parts of the rows that both have every class."""
    parts = [np.array_split(rows, 2) for rows in by_class(y)]
    first, then = (np.sort(np.concatenate(part)) for part in zip(*parts, strict=True))
    return first, then


def some_weights(estimator: Any, n: int) -> list[NDArray[np.float64] | None]:
    """No weights, and if they are taken, quarters, which binary fractions hold exactly."""
    quarters = np.arange(1, n + 1) % 7 / 4
    return [None, quarters] if has_fit_parameter(estimator, "sample_weight") else [None]
