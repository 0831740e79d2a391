r"""Find the rows nearest to a query: by a fast proxy with a known error bound, decided by exact distances.

By the definition a query costs $O(nd)$. Three things reduce that. Sparse rows meet only where both have a non-zero, and
an inverted index (for each column, the list of rows that have it) finds those places. Few columns allow a tree. And

$$ |x - z|^2 = |x|^2 - 2x^\top z + |z|^2 $$

turns the work into a product of matrices. That identity cancels, so its result is only a *proxy* with a known error
bound: every row that the bound cannot rule out has its distance computed from the differences, and these decide. The
answer is exactly that of the definition, for all metrics.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from priory.bayes.tables import Floats

Rows: TypeAlias = Any  # a dense or CSR array of float64
Places: TypeAlias = NDArray[np.intp]
#: Queries and learned rows compared at a time: 2 MB of proxies, whatever the size of the data. Products of matrices in
#: float32 take more queries at a time: for 10,000 rows of 300 columns that is 54 µs a query instead of 94.
QUERIES, MORE_QUERIES, ROWS = 32, 128, 8192
#: Each thread works on one block, about 15 MB; four of them stay below 64 MB.
WORKERS = min(4, os.cpu_count() or 1)
#: Extra rows requested from the tree: if the last is farther, no tie was cut.
SPARE = 2
#: Entries of the inverted index processed together.
LISTED = 2**17


@dataclass(frozen=True, slots=True)
class Piece:
    """Some of the learned rows, prepared for the proxies."""

    start: int
    rows: Rows
    columns: Rows  #: the same by columns: for sparse rows the inverted index
    sizes: NDArray[Any]


class NeighbourSearch:
    """The learned rows, indexed on the first query."""

    def __init__(self, rows: Rows, metric: str) -> None:
        self.metric = metric
        self.is_sparse = sparse.issparse(rows) or metric == "jaccard"
        self.by_differences = metric == "manhattan" and not self.is_sparse
        self.by_product = not (self.is_sparse or self.by_differences)
        self.rows = self._transform(rows)

    def nearest(self, X: Rows, k: int) -> tuple[Floats, Places]:
        """Return distances to the k nearest rows and their numbers; at equal distance the lower number comes first."""
        if self.tree is None:
            return self._by_blocks(X, k)
        distances, places, sure = self._by_tree(self.tree, self._transform(X), k)
        if not sure.all():
            distances[~sure], places[~sure] = self._by_blocks(X[~sure], k)
        return distances, places

    @cached_property
    def tree(self) -> KDTree | None:
        """A k-d tree, or None: for 50,000 rows it is faster up to 7 columns, for 10,000 up to 6, for 2,000 up to 4."""
        n, d = self.rows.shape
        if self.is_sparse or self.metric == "cosine" or 4**d > n:
            return None
        return KDTree(self.rows, balanced_tree=False)  # as fast as a balanced one, and copes with equal rows

    @cached_property
    def frame(self) -> tuple[Floats, float]:
        """Origin and unit for float32: distances keep their order, and small numbers round little."""
        centre = self.rows.mean(axis=0) if self.metric == "euclidean" else np.zeros(self.rows.shape[1])
        reach = np.abs(self.rows - centre).max(initial=0)
        return centre, 2.0 ** -np.ceil(np.log2(reach)) if reach else 1.0

    @cached_property
    def pieces(self) -> list[Piece]:
        """All learned rows, at most `ROWS` in each piece."""
        n = self.rows.shape[0]
        edges = np.linspace(0, n, -(-n // ROWS) + 1).astype(int)
        return [self._piece(start, self.rows[start:stop]) for start, stop in pairwise(edges.tolist())]

    def _piece(self, start: int, rows: Rows) -> Piece:
        if not self.by_product:
            return Piece(start, rows, rows.T.tocsr() if self.is_sparse else None, self._sizes(rows))
        narrow = self._narrow(rows)
        sizes = self._sizes(narrow)
        return Piece(start, rows, np.vstack([-2 * narrow.T, sizes]).astype(np.float32), sizes)

    def _transform(self, X: Rows) -> Rows:
        """Return the rows transformed for the metric."""
        if sparse.issparse(X) != self.is_sparse:
            X = sparse.csr_array(X) if self.is_sparse else X.toarray()
        if self.is_sparse:
            X = canonical(X)
        if self.metric == "jaccard":
            X.data = np.ones_like(X.data)
        if self.metric == "cosine":
            lengths = np.sqrt(_inner(X, X))
            scales = 1 / np.where(lengths == 0, 1, lengths)
            if not self.is_sparse:
                return X * scales[:, None]
            X.data *= np.repeat(scales, np.diff(X.indptr))  # a matrix product would not keep the order of entries
        return X

    def _narrow(self, X: Floats) -> Floats:
        centre, scale = self.frame
        return (X - centre) * scale

    def _sizes(self, X: Rows) -> Floats:
        """Return the sizes that bound the proxy and are part of it: |x|², the sum of |x|, or the non-zeros' number."""
        if self.metric == "cosine":
            return np.ones(X.shape[0])
        if self.metric == "euclidean":
            return _inner(X, X)
        return np.asarray(abs(X).sum(axis=1), np.float64)

    def _by_tree(self, tree: KDTree, X: Floats, k: int) -> tuple[Floats, Places, NDArray[np.bool_]]:
        """Return as `nearest`, and whether the result is certain: a row that was not found may be as near."""
        n, d = self.rows.shape
        n_found = min(k + SPARE, n)
        power = 2 if self.metric == "euclidean" else 1
        tree_distances, places = tree.query(X, list(range(1, n_found + 1)), p=power, workers=WORKERS)
        distances = self._distances(X, np.repeat(np.arange(len(X)), n_found), places.ravel()).reshape(places.shape)
        distances, places = _in_order(k, distances, places)
        rounding = 4 * (d + 8) * np.finfo(np.float64).eps
        return distances, places, (distances[:, -1] < tree_distances[:, -1] * (1 - rounding)) | (n_found == n)

    def _by_blocks(self, X: Rows, k: int) -> tuple[Floats, Places]:
        n_queries = MORE_QUERIES if self.by_product else QUERIES

        def answer(start: int) -> tuple[Floats, Places]:
            return self._block(self._transform(X[start : start + n_queries]), k)

        starts = range(0, X.shape[0], n_queries)
        with _products().limit(limits=1, user_api="blas"), ThreadPoolExecutor(WORKERS) as pool:
            parts = list(pool.map(answer, starts) if len(starts) > 1 else map(answer, starts))
        distances, places = zip(*parts, strict=True)
        return np.concatenate(distances), np.concatenate(places)

    @np.errstate(over="ignore", invalid="ignore")  # a proxy that overflows is a candidate
    def _block(self, X: Rows, k: int) -> tuple[Floats, Places]:
        """Return the nearest rows of a block of queries: the nearest of each piece, then of all pieces."""
        looked = self._narrow(X) if self.by_product else X
        sizes = self._sizes(looked)
        nearest = []
        for piece in self.pieces:
            proxies = self._proxies(looked, sizes, piece)
            queries, places = _candidates(proxies, min(k, proxies.shape[1]), self._slack(sizes, piece))
            if self.metric == "jaccard":
                distances = proxies[queries, places]
            else:
                distances = self._distances(X, queries, piece.start + places)
            nearest.append(_first(min(k, proxies.shape[1]), queries, distances, piece.start + places))
        distances, places = (np.hstack(part) for part in zip(*nearest, strict=True))
        return _in_order(k, distances, places)

    def _proxies(self, X: Rows, sizes: Floats, piece: Piece) -> NDArray[Any]:
        """Return numbers [query, row] that grow with the distance, up to an error within the slack."""
        if self.by_product:
            return np.asarray(np.hstack([X, np.ones((len(X), 1))]).astype(np.float32) @ piece.columns)
        if self.by_differences:
            return np.asarray(cdist(X, piece.rows, "cityblock"))
        if self.metric == "manhattan":
            return np.asarray(piece.sizes - sums_where_both(X, piece.columns, l1_saving))
        both = sums_where_both(X, piece.columns, np.multiply)
        if self.metric == "jaccard":
            either = sizes[:, None] + piece.sizes - both
            return np.asarray((either - both) / np.maximum(either, 1))
        return np.asarray(piece.sizes - 2 * both)

    def _slack(self, sizes: Floats, piece: Piece) -> Floats:
        """Return a bound on the rounding of proxies plus distances (Higham, Accuracy and Stability, eq. 3.5)."""
        if self.metric == "jaccard":
            return np.zeros(len(sizes))  # whole numbers and one division
        eps = np.finfo(np.float32 if self.by_product else np.float64).eps
        return np.asarray(2 * (self.rows.shape[1] + 8) * eps * (sizes + piece.sizes.max()))

    def _distances(self, X: Rows, queries: Places, places: Places) -> Floats:
        """Return the exact distances of pairs, from differences, some pairs at a time."""
        width = max(1, X.shape[1] if not self.is_sparse else max(_longest(X), _longest(self.rows)))
        step = max(1, QUERIES * ROWS // 4 // width)
        cuts = range(0, len(queries), step)
        return np.concatenate(
            [self._pair_distances(X[queries[i : i + step]], self.rows[places[i : i + step]]) for i in cuts]
        )

    def _pair_distances(self, X: Rows, Z: Rows) -> Floats:
        difference = X - Z
        if self.metric == "manhattan":
            return np.asarray(abs(difference).sum(axis=1))
        squares = _inner(difference, difference)
        if self.metric == "euclidean":
            return np.sqrt(squares)
        cosines = _inner(X, Z)
        return np.where(cosines > 0.5, squares / 2, 1 - cosines)  # use each formula where it does not cancel


def sums_where_both(X: Any, columns: Any, term: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return the sum of term(x, z), for each query and row, over the columns in which neither is zero.

    It goes through the lists of the inverted index, some at a time. With products as terms this is `(X @
    columns).toarray()`, which takes 150 µs for each query of the benchmark; this takes 50 µs.
    """
    n_queries, n = X.shape[0], columns.shape[1]
    sums = np.zeros((n_queries, n))
    owners = np.repeat(np.arange(n_queries), np.diff(X.indptr))
    ends = np.diff(columns.indptr)[X.indices].cumsum(dtype=np.int64)
    cuts = np.searchsorted(ends, np.arange(LISTED, ends[-1] if len(ends) else 0, LISTED))
    for part in filter(len, np.split(np.arange(len(ends)), cuts)):
        lists = columns[X.indices[part]]
        lengths = np.diff(lists.indptr)
        low, high = owners[part[0]], owners[part[-1]] + 1
        cells = np.repeat((owners[part] - low) * n, lengths) + lists.indices
        terms = term(np.repeat(X.data[part], lengths), lists.data)
        sums[low:high] += np.bincount(cells, terms, minlength=(high - low) * n).reshape(-1, n)
    return sums


def l1_saving(x: Floats, z: Floats) -> Floats:
    """Return by how much |x - z| is less than |x| + |z|."""
    return np.asarray(abs(x) + abs(z) - abs(x - z))


@cache
def _products() -> ThreadpoolController:
    """Return the controller of the BLAS threads: one thread is enough if each block of queries has its own.

    With 10,000 rows of 64 columns that takes 45 µs for each query on two idle cores and 50 µs on busy ones. With BLAS
    threads it takes 30 µs and 500 µs. Finding the libraries takes milliseconds, so the result is cached.
    """
    return ThreadpoolController()


def _candidates(proxies: NDArray[Any], k: int, slack: Floats) -> tuple[Places, Places]:
    """Return all pairs (query, row) that may be among the k nearest.

    Group the rows: the k-th smallest of the groups' minima is no less than the k-th smallest of all. A partition of all
    rows takes 100 µs for 10,000 rows, this 10 µs.
    """
    n_queries, n = proxies.shape
    groups = min(n, 64 * k)
    lows = proxies[:, : n - n % groups].reshape(n_queries, -1, groups).min(axis=1)
    cuts = np.partition(lows, k - 1, axis=1)[:, k - 1] + 2 * slack
    cuts = np.nextafter(cuts.astype(proxies.dtype), np.inf, dtype=proxies.dtype)
    return np.divmod(np.flatnonzero(~(proxies > cuts[:, None])), n)


def _first(k: int, queries: Places, distances: Floats, places: Places) -> tuple[Floats, Places]:
    """Return the first k pairs of each query by distance, then by the number of the row."""
    order = np.lexsort((places, distances, queries))
    starts = np.searchsorted(queries, np.arange(queries[-1] + 1))
    order = order[starts[:, None] + np.arange(k)]
    return distances[order], places[order]


def _in_order(k: int, distances: Floats, places: Places) -> tuple[Floats, Places]:
    """Return the same where each query has its own row and all have equally many: 13 times as fast."""
    order = np.lexsort((places, distances), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)


def _inner(X: Rows, Z: Rows) -> Floats:
    """Return the inner product of each row of X with the same row of Z."""
    return np.asarray(X.multiply(Z).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, Z))


def _longest(X: Rows) -> int:
    return int(np.diff(X.indptr).max(initial=0))


def canonical(X: Rows) -> Rows:
    """Return a copy in which equal rows are equal bytes."""
    if not sparse.issparse(X):
        return X + 0.0  # turns -0.0 into 0.0
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X
