r"""Tables of counts, and the one formula that reads them.

A discrete model counts how often each thing $j$ was seen under each class $c$, in a table `counts[thing, class]`: words
of a bag, values of a column, values of a column together with those of its parents. All of them are read by the same
smoothed share, in which the things that exclude each other have $m$ values and were seen $n_c$ times in all:

$$ \log p(j \mid c) = \log \frac{n_{cj} + \alpha}{n_c + m\alpha} $$

$\alpha = 0$ is maximum likelihood; then a thing never seen has probability zero exactly, and where nothing was seen at
all, 0/0, the share is what it is for every $\alpha > 0$, however small: $1/m$.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from priory.bayes.smoothing import log_pseudo
from priory.kernels import add_cells, add_rows

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
#: Of counts that are not whole: how far below zero rounding may bring them, and what is nothing but rounding, both as
#: shares of what was there.
SLACK: Final = 1e-6
RESIDUE: Final = 1e-12
ROUNDING: Final = 1e-9  #: the same of sums of real numbers
NEVER_LEARNED: Final = "X and y hold rows that were never learned, or were forgotten already: nothing was changed"


def log_shares(
    counts: ArrayLike, totals: ArrayLike, n_values: ArrayLike, alpha: float, out: Floats | None = None
) -> Floats:
    """Return log((counts + α) / (totals + m·α)), with 0/0 = 1/m. Tables may be large: `out` may be that of the counts.

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
    """Return rows @ logs where 0 · log 0 is 0: what does not occur may well be impossible.

    The logarithms that are infinite all have the same sign.
    """
    least, most = logs.min(initial=0.0), logs.max(initial=0.0)
    if np.isfinite(least) and np.isfinite(most):
        return np.asarray(rows @ logs, np.float64)
    infinite = np.isinf(logs)
    found = np.asarray(rows @ np.where(infinite, 0.0, logs), np.float64)
    return np.where(rows @ infinite.astype(np.float64) > 0, most if np.isfinite(least) else least, found)


def add_to(
    table: Floats, rows: Any, labels: Labels, weights: Floats, fits: Callable[[], bool] = lambda: True
) -> Floats:
    """Add rows (dense, or CSR) to table[column, class], in place; weights below zero take them back.

    Returns what was added to each class in all. If something is taken back that was never there, or the result does not
    fit, the table stays as it was and ValueError is raised.
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
    """Add rows that name the cells they fall into (-1 is none) to table[cell, class], in place; else as `add_to`."""
    with _undone_unless_learned(table, lambda: slice(None), weights, fits):
        add_cells(table, cells, labels, weights)


@contextmanager
def _undone_unless_learned(
    table: Floats, touched: Callable[[], Any], weights: Floats, fits: Callable[[], bool]
) -> Iterator[None]:
    """Undo what is done to the columns touched if rows are taken back that were never there."""
    if not (weights < 0).any():
        yield
        return
    columns = touched()
    before = table[columns].copy()
    yield
    try:
        table[columns] = settled(before, table[columns])
        if not fits():
            raise ValueError(NEVER_LEARNED)
    except ValueError:
        table[columns] = before
        raise


def are_within(counts: Floats, n_left: Any, n_before: Any) -> bool:
    """Whether no count is above the rows left of those before; if not both are whole numbers, by more than rounding.

    What is present, or known, in more rows than there are was taken back where it was absent, or missing.
    """
    above = counts > n_left
    if not above.any():
        return True
    more, left, before = (part[above] for part in np.broadcast_arrays(counts, n_left, n_before))
    whole = (more == np.rint(more)) & (left == np.rint(left))
    return bool((more - left <= np.where(whole, 0.0, SLACK * before)).all())


def settled(before: Floats, after: Floats) -> Floats:
    """Return counts after rows were taken back, without what rounding left; raise if they fell below zero.

    Whole numbers are exact. Others are off by rounding, as a share of what was there: below zero within `SLACK` is no
    proof that something was taken that was never there, and what is left within `RESIDUE` is nothing.

    >>> settled(np.array([0.3, 3.0, 1e9 + 1]), np.array([0.3 - 0.1 - 0.2, 0.0, 1.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    held = np.maximum(np.abs(before), np.abs(before - after))
    whole = (before == np.rint(before)) & (after == np.rint(after))
    if (after < np.where(whole, 0.0, -SLACK * held)).any():
        raise ValueError(NEVER_LEARNED)
    return np.where(~whole & (after <= RESIDUE * held), 0.0, after)


def check_alpha(alpha: Any) -> float:
    """Return the pseudo-count; raise if it is not a number from 0 up."""
    if not isinstance(alpha, (float, int, Real)) or not 0 <= float(alpha) < np.inf:
        raise ValueError(f"alpha must be a number from 0 up, not {alpha!r}")
    return float(alpha)


def check_count(name: str, value: Any) -> None:
    """Raise if a setting is not a whole number from 1 up."""
    if not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, not {value!r}")


def used_columns(rows: Any) -> tuple[Any, Any]:
    """Return the columns that a few sparse rows use, and the rows with those alone; of other rows all columns."""
    if not issparse(rows) or rows.nnz > rows.shape[1] // 4:
        return slice(None), rows
    columns, places = np.unique(rows.indices, return_inverse=True)
    narrow = csr_matrix((rows.data, places.astype(rows.indices.dtype), rows.indptr), (rows.shape[0], len(columns)))
    return columns, narrow


def _class_sums(rows: NDArray[Any], labels: Labels, weights: Floats, n_classes: int) -> Floats:
    """Sums of dense rows by class, as a product with the classes' indicator: [column, class]."""
    indicator = np.zeros((len(rows), n_classes))
    indicator[np.arange(len(rows)), labels] = weights
    return np.asarray(rows.T @ indicator, np.float64)


def spread(table: Floats, where: NDArray[np.int64], n_classes: int) -> Floats:
    """Return the table with its classes (the last axis) moved to new places among more of them; the others are zero."""
    wider = np.zeros((*table.shape[:-1], n_classes))
    wider[..., where] = table
    return wider
