"""Labelled tables to put a classifier to the test: drawn to suit it, and with a value that does not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import get_tags


def drawn_tables(estimator: Any, seed: int = 0) -> dict[str, tuple[Any, NDArray[np.int64]]]:
    """Return tables of three classes that suit an estimator's input tags, by name.

    Counts where an estimator takes nothing below zero, or categories; otherwise real numbers; the same with many
    zeros as CSR, with gaps, and names, where an estimator takes them. Strings, where it takes no tables.

    >>> from priory.bayes import CategoricalNB
    >>> [(name, X.shape) for name, (X, y) in drawn_tables(CategoricalNB()).items()]
    [('dense', (60, 4)), ('gaps', (60, 4)), ('names', (60, 4))]
    """
    rng, tags = np.random.default_rng(seed), get_tags(estimator).input_tags
    y = rng.permutation(np.arange(60) % 3)
    counts = np.minimum(rng.poisson(np.array([[0.4, 1, 2, 1], [1, 2, 0.4, 1], [2, 0.4, 1, 1]])[y]), 3).astype(float)
    counts[-1, 0] = 4  # a value that only one row has: it must be gone when that is forgotten
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
    """A copy of the table in which one value is another; in a frame one of a column of numbers, if there is any."""
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
