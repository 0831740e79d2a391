"""Naive Bayes on measurements of any shape: under each class, each column is a histogram."""

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import draw_codes
from priory.bayes.edges import KINDS, NO_EDGES, check_bins, found_edges, given_edges
from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.reading import read_matrix
from priory.bayes.tables import Floats, Labels, add_cells_to, are_within, check_alpha, log_shares
from priory.kernels import sum_cells


class HistogramNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for columns of real numbers, each a histogram under each class.

    $$ \log p(x, c) = \log p(c) + \sum_j \log \frac{n_{cj}(b_j) + \alpha}{n_{cj} + k_j\alpha} $$

    $x_j$ falls into bin $b_j$ of the $k_j$ bins of column $j$, as did $n_{cj}(b_j)$ of the $n_{cj}$ rows of class $c$
    that have a value there. A bin has no lower edge and its upper edge; the first and the last bin are open to the
    outside. $p$ is the probability of the bin, not a density: the bins' widths are the same for all classes, so
    posteriors do not depend on them. Missing values (NaN) are summed out. Use it for measurements with several heaps,
    long tails or many zeros, when there are many more rows than bins; with few rows see `GaussianNB`.

    Edges are found from the first rows learned, and kept until those are all forgotten. To learn in parts that add up
    to the whole, in any order, give the edges: those of a model (`edges_`) or your own.

    Parameters: `bins`, how many ("uniform", "quantile"); `edges`, "uniform", "quantile", "bayesian_blocks" or "mdl", as
    at the head of `priory.bayes.edges`, or for each column its ascending edges, the outermost included; `alpha`, the
    pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or probabilities.

    Attributes: `classes_`, `class_count_`; for each column `edges_`, and `bin_count_` and `bin_log_prob_` [class, bin].

    `sample` draws a bin and then a number within it: so the outer bins end at the outermost edges there.

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
        """Weight of the rows in each bin of each column, [class, bin]."""
        return [part.T for part in self._by_column(self.counts_)]

    @property
    def bin_log_prob_(self) -> list[Floats]:
        """log p(bin given class) of each column, [class, bin]."""
        return [part.T for part in self._by_column(self._parameters())]

    def _by_column(self, table: Floats) -> list[Floats]:
        return [table[start:end] for start, end in pairwise(self._offsets())]

    def _offsets(self) -> NDArray[np.int64]:
        """Where the cells of each column begin and end in the table."""
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
            raise ValueError(f"edges has those of {len(self.edges)} columns, but X has {n_columns} columns")
        else:
            self.edges_ = [given_edges(edges, j) for j, edges in enumerate(self.edges)]
        self.counts_ = np.zeros((self._offsets()[-1], n_classes))

    def _add(self, rows: Floats, labels: Labels, weights: Floats) -> None:
        learned = weights > 0
        if isinstance(self.edges, str) and learned.any() and not self.counts_.any():
            self.edges_ = found_edges(self.edges, rows[learned], labels[learned], weights[learned], self.bins)
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
        """Weight of the rows in which each column is known, [column, class]."""
        return np.vstack([part.sum(axis=0) for part in self._by_column(self.counts_)])

    def _cells(self, rows: Floats) -> NDArray[np.int32]:
        """Return the cell that each value falls into, [row, column]; missing values fall into none, which is -1."""
        cells = np.empty(rows.shape, np.int32)
        for j, (edges, at) in enumerate(zip(self.edges_, self._offsets()[:-1], strict=True)):
            cells[:, j] = np.searchsorted(edges[1:-1], rows[:, j]) + at
        missing = np.isnan(rows)
        cells[missing] = -1
        return cells

    def _check_joinable(self, other: Self) -> None:
        """Raise if the bins differ; how they were found may differ."""
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
        """log p(bin given class) of every cell."""
        parts = self._by_column(self.counts_)
        return np.vstack([log_shares(part, part.sum(axis=0), len(part), self.alpha) for part in parts])

    def _log_likelihood(self, rows: Floats) -> Floats:
        return sum_cells(self._parameters(), self._cells(rows))

    def _terms(self, rows: Floats) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        logs = np.vstack([self._parameters(), np.zeros(len(self.classes_))])  # the last row is for -1, what is missing
        for cells in self._cells(rows):
            yield np.arange(len(cells)), logs[cells], np.zeros(len(self.classes_))

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Floats:
        rows = np.empty((len(labels), len(self.edges_)))
        for j, (edges, part) in enumerate(zip(self.edges_, self._by_column(self._parameters()), strict=True)):
            drawn = draw_codes(part.T[labels], rng)
            low, high = edges[drawn], edges[drawn + 1]
            rows[:, j] = high - rng.random(len(labels)) * (high - low)  # above the lower edge, up to the upper one
        return rows

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
