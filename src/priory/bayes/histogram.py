r"""Naive Bayes on measurements of any shape: under each class, each column is a histogram.

Bin edges are found in one of four ways:

| edges | bins end |
|---|---|
| `"uniform"` | at equal distances between the least and the greatest value |
| `"quantile"` | at quantiles, so that all bins hold about the same number of values |
| `"bayesian_blocks"` | where the density of some class changes; the data decide how many bins there are |
| `"mdl"` | where the labels change, as far as that pays (`MDLDiscretiser`; weights do not move the edges) |

Bayesian blocks divide $N$ values into blocks, the $b$-th with $N_b$ values and of width $T_b$, so that $\sum_b N_b
\log(N_b / T_b)$, the log-likelihood of a density that is constant in each block, minus a price for each block is
largest. The price, $4 - \log(73.53\,p\,N^{-0.478})$, lets one in $1/p = 20$ columns without structure be cut.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import draw_codes
from priory.bayes.discretiser import MDLDiscretiser
from priory.bayes.estimator import check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import read_matrix
from priory.bayes.kernels import sum_cells
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, add_cells_to, are_within, log_shares

KINDS: Final = ("uniform", "quantile", "bayesian_blocks", "mdl")
NO_EDGES: Final = np.array([0.0, 1.0])  #: a column without known values has one bin
#: More cells than this are merged before blocks are sought, which takes time quadratic in their number.
_MOST_CELLS: Final = 1000


class HistogramNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for columns of real numbers, each a histogram under each class.

    $$ \log p(x, c) = \log p(c) + \sum_j \log \frac{n_{cj}(b_j) + \alpha}{n_{cj} + k_j\alpha} $$

    $x_j$ falls into bin $b_j$ of the $k_j$ bins of column $j$, as did $n_{cj}(b_j)$ of the $n_{cj}$ rows of class $c$
    that have a value there. A bin includes its upper edge but not its lower; the first and the last bin are open to the
    outside. $p$ is the probability of the bin, not a density: the widths of the bins are the same for all classes, so
    posteriors do not depend on them. Missing values (NaN) are summed out. Use it for measurements with several modes,
    long tails or many zeros when there are many more rows than bins; with few rows see `GaussianNB`.

    Edges are found from the first rows learned and kept until all rows are forgotten. To learn in parts that add up to
    the whole in any order, pass the edges: a model's `edges_`, or your own.

    Parameters: `bins`, the number of bins for "uniform" and "quantile"; `edges`, "uniform", "quantile",
    "bayesian_blocks" or "mdl" (see the module `priory.bayes.histogram`), or for each column its ascending edges
    including the outermost; `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed",
    "uniform", or probabilities.

    Attributes: `classes_`, `class_count_`; for each column `edges_`, and `bin_count_` and `bin_log_prob_` [class, bin].

    `sample` draws a bin and then a number within it, so there the outer bins end at the outermost edges.

    >>> sent = [[1.5], [2.5], [3.0], [23.0], [9.0], [10.5], [16.0], [17.0]]            # o'clock
    >>> labels = ["spam"] * 4 + ["ham"] * 4
    >>> model = HistogramNB(edges=[[0, 6, 12, 18, 24]]).fit(sent, labels)
    >>> model.bin_count_[0].tolist()
    [[0.0, 2.0, 2.0, 0.0], [3.0, 0.0, 0.0, 1.0]]
    >>> model.predict([[4.0], [12.0], [22.0]]).tolist()
    ['spam', 'ham', 'spam']

    J. D. Scargle, J. P. Norris, B. Jackson, J. Chiang: Studies in astronomical time series analysis. VI. Bayesian block
    representations. Astrophysical Journal 764 (2013), 167, equations 19 and 21.
    """

    _statistics: ClassVar = ("counts_",)
    counts_: Floats
    edges_: list[Floats]

    def __init__(
        self,
        *,
        bins: int = 10,
        edges: str | Sequence[ArrayLike] = "uniform",
        alpha: float = 1.0,
        prior: Prior = "fitted",
    ) -> None:
        self.bins = bins
        self.edges = edges
        self.alpha = alpha
        self.prior = prior

    @property
    def bin_count_(self) -> list[Floats]:
        """The weight of the rows in each bin of each column, [class, bin]."""
        return [part.T for part in self._by_column(self.counts_)]

    @property
    def bin_log_prob_(self) -> list[Floats]:
        """log p(bin given class) of each column, [class, bin]."""
        return [part.T for part in self._by_column(self._parameters())]

    def _by_column(self, table: Floats) -> list[Floats]:
        return [table[start:end] for start, end in pairwise(self._offsets())]

    def _offsets(self) -> NDArray[np.int64]:
        """Return where the cells of each column begin and end in the table."""
        return np.cumsum([0, *(len(edges) - 1 for edges in self.edges_)])

    def _rows(self, X: Any, *, reset: bool) -> Floats:
        check_alpha(self.alpha)
        check_bins(self.bins)
        if isinstance(self.edges, str) and self.edges not in KINDS:
            raise ValueError(f"edges must be one of {', '.join(KINDS)}, or edges for each column, not {self.edges!r}")
        return np.asarray(read_matrix(self, X, reset=reset, missing=True))

    def _start(self, rows: Floats, n_classes: int) -> None:
        n_columns = rows.shape[1]
        if isinstance(self.edges, str):
            self.edges_ = [NO_EDGES] * n_columns
        elif len(self.edges) != n_columns:
            raise ValueError(f"edges are for {len(self.edges)} columns, but X has {n_columns} columns")
        else:
            self.edges_ = [check_edges(edges, j) for j, edges in enumerate(self.edges)]
        self.counts_ = np.zeros((self._offsets()[-1], n_classes))

    def _add(self, rows: Floats, labels: Labels, weights: Floats) -> None:
        learned = weights > 0
        if isinstance(self.edges, str) and learned.any() and not self.counts_.any():
            self.edges_ = find_edges(self.edges, rows[learned], labels[learned], weights[learned], self.bins)
            if all(edges[0] == edges[-1] for edges in self.edges_):
                raise ValueError(
                    "X has only one sample, or rows that are all alike, from which no edges can be found: "
                    "learn many rows at first, or give the edges"
                )
            self.counts_ = np.zeros((self._offsets()[-1], len(self.classes_)))
        n_rows = self._n_rows(labels, weights)
        fits = lambda: are_within(self._n_known(), n_rows, self.class_count_)  # noqa: E731
        add_cells_to(self.counts_, self._cells(rows), labels, weights, fits)

    def _n_known(self) -> Floats:
        """Return the weight of the rows in which each column is known, [column, class]."""
        return np.vstack([part.sum(axis=0) for part in self._by_column(self.counts_)])

    def _cells(self, rows: Floats) -> NDArray[np.int32]:
        """Return the cell of each value, [row, column]; -1 for missing values."""
        cells = np.empty(rows.shape, np.int32)
        for j, (edges, at) in enumerate(zip(self.edges_, self._offsets()[:-1], strict=True)):
            cells[:, j] = np.searchsorted(edges[1:-1], rows[:, j]) + at
        missing = np.isnan(rows)
        cells[missing] = -1
        return cells

    def _check_joinable(self, other: Self) -> None:
        """Raise ValueError if the bins differ; the way they were found may differ."""
        if hasattr(self, "edges_") and hasattr(other, "edges_"):
            same = len(self.edges_) == len(other.edges_) and all(map(np.array_equal, self.edges_, other.edges_))
            if not same and self.counts_.any() and other.counts_.any():
                raise ValueError(
                    "models with different edges_ cannot be added: to learn in parts, give all of them the same edges"
                )
        mine, others = copy(self), copy(other)
        mine.edges = others.edges = "found"
        GenerativeMixin._check_joinable(mine, others)

    def _join(self, other: Self) -> None:
        if not self.counts_.any():
            self.edges_, self.counts_ = other.edges_, other.counts_
        elif other.counts_.any():
            self.counts_ = self.counts_ + other.counts_

    def _estimate(self) -> Floats:
        """Return log p(bin given class) of every cell."""
        parts = self._by_column(self.counts_)
        return np.vstack([log_shares(part, part.sum(axis=0), len(part), self.alpha) for part in parts])

    def _log_likelihood(self, rows: Floats) -> Floats:
        return sum_cells(self._parameters(), self._cells(rows))

    def _terms(self, rows: Floats) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        logs = np.vstack([self._parameters(), np.zeros(len(self.classes_))])  # the last row is for -1, missing values
        for cells in self._cells(rows):
            yield np.arange(len(cells)), logs[cells], np.zeros(len(self.classes_))

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Floats:
        rows = np.empty((len(labels), len(self.edges_)))
        for j, (edges, part) in enumerate(zip(self.edges_, self._by_column(self._parameters()), strict=True)):
            drawn = draw_codes(part.T[labels], rng)
            low, high = edges[drawn], edges[drawn + 1]
            rows[:, j] = high - rng.random(len(labels)) * (high - low)  # excludes the lower edge, includes the upper
        return rows

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def find_edges(kind: str, rows: Floats, labels: Labels, weights: Floats, bins: int) -> list[Floats]:
    """Return the edges of each column."""
    if kind == "mdl":
        cuts = MDLDiscretiser().fit(rows, labels).cut_points_
    else:
        known = ~np.isnan(rows)
        find = {"uniform": _uniform, "quantile": _quantile, "bayesian_blocks": _class_blocks}[kind]
        cuts = [find(rows[mask, j], labels[mask], weights[mask], bins) for j, mask in enumerate(known.T)]
    return [_bounded(places, column[~np.isnan(column)]) for places, column in zip(cuts, rows.T, strict=True)]


def _uniform(values: Floats, _labels: Labels, _weights: Floats, bins: int) -> Floats:
    shares = np.arange(1, bins) / bins
    return np.asarray(values.min() * (1 - shares) + values.max() * shares) if len(values) else values


def _quantile(values: Floats, _labels: Labels, weights: Floats, bins: int) -> Floats:
    if not len(values):
        return values
    return np.asarray(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf", weights=weights))


def _class_blocks(values: Floats, labels: Labels, weights: Floats, _bins: int) -> Floats:
    """Return where the density of some class changes; the blocks of all classes together would hide a small class."""
    classes = [labels == label for label in np.unique(labels)]
    return np.concatenate([values[:0], *(_blocks(values[mask], weights[mask]) for mask in classes)])


def _blocks(values: Floats, weights: Floats) -> Floats:
    """Return where blocks of constant density meet (see the module); `best[i]` is the score of the first i cells."""
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
    """Return the ends and weights of cells, one for each distinct value, or for several if there are too many."""
    distinct, place = np.unique(values, return_inverse=True)
    first = np.unique(np.linspace(0, len(distinct), min(len(distinct), _MOST_CELLS) + 1).astype(np.int64))[:-1]
    counts = np.add.reduceat(np.bincount(place, weights), first)
    between = distinct[first[1:] - 1] / 2 + distinct[first[1:]] / 2
    return np.concatenate([distinct[:1], between, distinct[-1:]]), counts


def _bounded(cuts: Floats, values: Floats) -> Floats:
    """Return the edges of bins with these cuts: distinct, and with the least and the greatest value outermost."""
    if not len(values):
        return NO_EDGES
    low, high = values.min(), values.max()
    return np.concatenate([[low], np.unique(cuts[(cuts >= low) & (cuts < high)]), [high]])


def check_edges(edges: ArrayLike, j: int) -> Floats:
    """Return the edges given for column j; raise ValueError unless they ascend."""
    numbers = np.asarray(edges, np.float64)
    if numbers.ndim != 1 or len(numbers) < 2 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise ValueError(f"edges of column {j} must be two or more ascending numbers, not {edges!r}")
    return numbers


def check_bins(bins: Any) -> None:
    """Raise ValueError unless this is a valid number of bins."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ValueError(f"bins must be a whole number from 1 up, not {bins!r}")
