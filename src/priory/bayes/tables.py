r"""Tables of counts, and the smoothed share that reads them.

A discrete model counts how often each thing $j$ was seen under each class $c$, in a table `counts[thing, class]`. A
thing is a word of a bag, a value of a column, or a value of a column together with its parents' values. All tables are
read by the same smoothed share, where $m$ things exclude each other and were seen $n_c$ times in total:

$$ \log p(j \mid c) = \log \frac{n_{cj} + \alpha}{n_c + m\alpha} $$

$\alpha = 0$ is maximum likelihood: a thing never seen has probability zero. Where nothing was seen at all, 0/0, the
share is $1/m$, its limit for small $\alpha$.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from priory.bayes.kernels import add_cells, add_rows

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
#: For counts that are not whole: how far below zero rounding may bring them, and how large a rest is only rounding.
#: Both are relative to the counts before the subtraction.
SLACK: Final = 1e-6
RESIDUE: Final = 1e-12
ROUNDING: Final = 1e-9  #: the same as `SLACK` for sums of real numbers
NEVER_LEARNED: Final = "X and y hold rows that were never learned, or were forgotten already: nothing was changed"


def log_shares(
    counts: ArrayLike, totals: ArrayLike, n_values: ArrayLike, alpha: float, out: Floats | None = None
) -> Floats:
    """Return log((counts + α) / (totals + m·α)), with 0/0 = 1/m.

    `out` may be the array of counts, which saves memory for large tables.

    >>> np.exp(log_shares([0, 3], 3, 2, alpha=1.0)).round(9).tolist()
    [0.2, 0.8]
    >>> np.exp(log_shares([0, 3], 3, 2, alpha=0.0)).tolist(), np.exp(log_shares([0], 0, 2, alpha=0.0)).tolist()
    ([0.0, 1.0], [0.5])
    """
    values = np.asarray(n_values, np.float64)
    if alpha > 0:
        shares, total = log_pseudo(counts, alpha, out), log_pseudo(totals, values * alpha)
        whole = np.broadcast_shapes(shares.shape, total.shape) == shares.shape
        return np.subtract(shares, total, out=shares if whole else None)  # in place: tables may be large
    counts, totals = np.broadcast_arrays(np.asarray(counts, np.float64), np.asarray(totals, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = log_pseudo(counts, 0.0) - log_pseudo(totals, 0.0)
    return np.where(totals > 0, shares, -np.log(values))


def weighted_logs(rows: Any, logs: Floats) -> Floats:
    """Return rows @ logs with 0 · log 0 = 0: a thing that does not occur in a row may be impossible.

    All infinite logarithms must have the same sign.
    """
    least, most = logs.min(initial=0.0), logs.max(initial=0.0)
    if np.isfinite(least) and np.isfinite(most):
        return np.asarray(rows @ logs, np.float64)
    infinite = np.isinf(logs)
    sums = np.asarray(rows @ np.where(infinite, 0.0, logs), np.float64)
    return np.where(rows @ infinite.astype(np.float64) > 0, most if np.isfinite(least) else least, sums)


def add_to(
    table: Floats, rows: Any, labels: Labels, weights: Floats, fits: Callable[[], bool] = lambda: True
) -> Floats:
    """Add rows (dense or CSR) to table[column, class] in place; negative weights subtract them.

    Return the total added to each class. ValueError is raised, and the table restored, if a count would fall below zero
    or `fits` returns false.
    """
    touched = lambda: np.unique(rows.indices) if issparse(rows) else slice(None)  # noqa: E731
    with _undone_unless_learned(table, touched, weights, fits):
        if issparse(rows):
            return add_rows(table, rows.indptr, rows.indices, np.asarray(rows.data, np.float64), labels, weights)
        sums = _class_sums(rows, labels, weights, table.shape[1])
        table += sums
        return np.asarray(sums.sum(axis=0))


def add_cells_to(
    table: Floats,
    cells: NDArray[np.int32],
    labels: Labels,
    weights: Floats,
    fits: Callable[[], bool] = lambda: True,
) -> None:
    """Add rows given by the cells they fall into (-1 is none) to table[cell, class] in place; otherwise as `add_to`."""
    with _undone_unless_learned(table, lambda: slice(None), weights, fits):
        add_cells(table, cells, labels, weights)


@contextmanager
def _undone_unless_learned(
    table: Floats, touched: Callable[[], Any], weights: Floats, fits: Callable[[], bool]
) -> Iterator[None]:
    """Restore the touched columns if the rows that are subtracted were never learned."""
    if not (weights < 0).any():
        yield
        return
    columns = touched()
    before = table[columns].copy()
    yield
    try:
        table[columns] = settle(before, table[columns])
        if not fits():
            raise ValueError(NEVER_LEARNED)
    except ValueError:
        table[columns] = before
        raise


def are_within(counts: Floats, n_left: Any, n_before: Any) -> bool:
    """Tell whether no count is above the number of rows left, up to rounding where numbers are not whole.

    A feature present or known in more rows than are left means that its absence or gap was forgotten without having
    been learned.
    """
    above = counts > n_left
    if not above.any():
        return True
    more, left, before = (part[above] for part in np.broadcast_arrays(counts, n_left, n_before))
    whole = (more == np.rint(more)) & (left == np.rint(left))
    return bool((more - left <= np.where(whole, 0.0, SLACK * before)).all())


def settle(before: Floats, after: Floats) -> Floats:
    """Return the counts after a subtraction without rounding residue; raise ValueError if a count fell below zero.

    Whole numbers are exact. Others are off by rounding, relative to the old counts: a count below zero within `SLACK`
    is no proof that unlearned rows were subtracted, and a rest within `RESIDUE` counts as zero.

    >>> settle(np.array([0.3, 3.0, 1e9 + 1]), np.array([0.3 - 0.1 - 0.2, 0.0, 1.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    largest = np.maximum(np.abs(before), np.abs(before - after))
    whole = (before == np.rint(before)) & (after == np.rint(after))
    if (after < np.where(whole, 0.0, -SLACK * largest)).any():
        raise ValueError(NEVER_LEARNED)
    return np.where(~whole & (after <= RESIDUE * largest), 0.0, after)


def used_columns(rows: Any) -> tuple[Any, Any]:
    """Return the columns used by a few sparse rows and the rows restricted to them; for other rows, all columns."""
    if not issparse(rows) or rows.nnz > rows.shape[1] // 4:
        return slice(None), rows
    columns, places = np.unique(rows.indices, return_inverse=True)
    narrow = csr_matrix((rows.data, places.astype(rows.indices.dtype), rows.indptr), (rows.shape[0], len(columns)))
    return columns, narrow


def _class_sums(rows: NDArray[Any], labels: Labels, weights: Floats, n_classes: int) -> Floats:
    """Return the sums of dense rows by class, [column, class], as a product with the classes' indicator matrix."""
    indicator = np.zeros((len(rows), n_classes))
    indicator[np.arange(len(rows)), labels] = weights
    return np.asarray(rows.T @ indicator, np.float64)


def spread(table: Floats, where: NDArray[np.int64], n_classes: int) -> Floats:
    """Return the table with its classes (the last axis) moved to new places among more classes; the rest is zero."""
    wider = np.zeros((*table.shape[:-1], n_classes))
    wider[..., where] = table
    return wider


def log_pseudo(counts: ArrayLike, pseudo: Any, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return log(count + pseudo-count): the numerator or denominator of a smoothed share."""
    smoothed = np.asarray(np.add(np.asarray(counts, np.float64), pseudo, out=out))
    return np.asarray(np.log(smoothed, out=smoothed))
