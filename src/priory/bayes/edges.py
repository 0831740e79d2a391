r"""Where the bins of a histogram end: at equal distances, at quantiles, or where the density or the labels change.

| edges | bins end |
|---|---|
| `"uniform"` | at equal distances between the least and the greatest value |
| `"quantile"` | where they part the values into equally many |
| `"bayesian_blocks"` | where the density of some class changes, and as many as that takes |
| `"mdl"` | where the labels change, and as many as that pays (`MDLDiscretiser`; weights do not move them) |

Bayesian blocks are the division of $N$ values into blocks, the $b$-th with $N_b$ values and of width $T_b$, for which
$\sum_b N_b \log(N_b / T_b)$, the log-likelihood of a density that is constant in each block, less a price for each, is
largest. The price, $4 - \log(73.53\,p\,N^{-0.478})$, lets one in $1/p = 20$ columns without structure be cut.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from priory.bayes.discretiser import MDLDiscretiser
from priory.bayes.tables import Floats, Labels

#: More cells than this are put together before blocks are looked for, which takes their number squared.
_MOST_CELLS: Final = 1000
KINDS: Final = ("uniform", "quantile", "bayesian_blocks", "mdl")
NO_EDGES: Final = np.array([0.0, 1.0])  #: of a column of which nothing is known: one bin


def found_edges(kind: str, rows: Floats, labels: Labels, weights: Floats, bins: int) -> list[Floats]:
    """Return the edges of each column."""
    if kind == "mdl":
        cuts = MDLDiscretiser().fit(rows, labels).cut_points_
    else:
        known = ~np.isnan(rows)
        find = {"uniform": _uniform, "quantile": _quantile, "bayesian_blocks": _class_blocks}[kind]
        cuts = [find(rows[some, j], labels[some], weights[some], bins) for j, some in enumerate(known.T)]
    return [_bounded(some, column[~np.isnan(column)]) for some, column in zip(cuts, rows.T, strict=True)]


def _uniform(values: Floats, _labels: Labels, _weights: Floats, bins: int) -> Floats:
    shares = np.arange(1, bins) / bins
    return np.asarray(values.min() * (1 - shares) + values.max() * shares) if len(values) else values


def _quantile(values: Floats, _labels: Labels, weights: Floats, bins: int) -> Floats:
    if not len(values):
        return values
    return np.asarray(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf", weights=weights))


def _class_blocks(values: Floats, labels: Labels, weights: Floats, _bins: int) -> Floats:
    """Where the density of some class changes: the blocks of all classes together hide those of a small one."""
    each = [labels == label for label in np.unique(labels)]
    return np.concatenate([values[:0], *(_blocks(values[some], weights[some]) for some in each)])


def _blocks(values: Floats, weights: Floats) -> Floats:
    """Where blocks of constant density meet, as at the head of this module; `best[i]` is for the first i cells."""
    ends, counts = _value_cells(values, weights)
    below = np.concatenate([[0.0], counts.cumsum()])
    price = 4 - np.log(73.53 * 0.05 * below[-1] ** -0.478)
    best, starts = np.zeros(len(ends)), np.zeros(len(ends), np.int64)
    for i in range(1, len(ends)):
        inside = below[i] - below[:i]
        log_widths = np.log(np.maximum(ends[i] - ends[:i], np.finfo(np.float64).tiny))
        value = best[:i] + inside * (np.log(inside) - log_widths) - price
        starts[i] = value.argmax()
        best[i] = value[starts[i]]
    cuts, at = [], starts[-1]
    while at > 0:
        cuts.append(ends[at])
        at = starts[at]
    return np.array(cuts)


def _value_cells(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """A cell for each distinct value, or for so many of them that there are not too many: their ends and weights."""
    distinct, place = np.unique(values, return_inverse=True)
    first = np.unique(np.linspace(0, len(distinct), min(len(distinct), _MOST_CELLS) + 1).astype(np.int64))[:-1]
    counts = np.add.reduceat(np.bincount(place, weights), first)
    between = distinct[first[1:] - 1] / 2 + distinct[first[1:]] / 2
    return np.concatenate([distinct[:1], between, distinct[-1:]]), counts


def _bounded(cuts: Floats, values: Floats) -> Floats:
    """The edges of bins that are cut there: distinct, and with the least and the greatest value outermost."""
    if not len(values):
        return NO_EDGES
    low, high = values.min(), values.max()
    return np.concatenate([[low], np.unique(cuts[(cuts >= low) & (cuts < high)]), [high]])


def given_edges(edges: ArrayLike, j: int) -> Floats:
    """Return the edges given for column j; raise if they are none."""
    found = np.asarray(edges, np.float64)
    if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ValueError(f"edges of column {j} must be two or more ascending numbers, not {edges!r}")
    return found


def check_bins(bins: Any) -> None:
    """Raise unless this is a number of bins."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a whole number from 1 up, not {bins!r}")
