r"""The k nearest neighbours: a message is what the messages most like it are. There is no training phase.

The distance between rows $x$ and $z$ is one of

$$ \sqrt{\textstyle\sum_j (x_j - z_j)^2}, \qquad \sum_j |x_j - z_j|, \qquad 1 - \frac{x^\top z}{|x|\,|z|}, \qquad
   1 - \frac{\text{ones in both}}{\text{ones in either}} $$

A query costs $O(nd)$ if it is done by the definition, and three things cut that. Sparse rows meet only where both have
a non-zero, and an inverted index finds those places. Few columns allow a tree. And $|x - z|^2 = |x|^2 - 2x^\top z +
|z|^2$ makes the work a product of matrices. That identity cancels, so what is computed fast is only a *proxy* with
a known bound on its error: every row that the bound cannot rule out has its distance computed from the differences, and
these decide. The answer is the one that the definition gives, for all metrics.
"""

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Rows: TypeAlias = Any  # a dense array or a CSR array, of float64
Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]

METRICS: Final = ("euclidean", "manhattan", "cosine", "jaccard")
#: Queries and learned rows that are compared at a time: 2 MB of proxies, whatever the size of the data.
QUERIES, ROWS = 32, 8192
#: Entries of the inverted index that are looked at together.
LISTED = 2**17
#: Each thread has a block in work, about 15 MB of memory; four of them stay below 64 MB.
WORKERS = min(4, os.cpu_count() or 1)
#: The tree is asked for a few more rows than are wanted: if the last is farther, no tie was cut.
SPARE = 2


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A learned row that had a say: its number, label and distance, and its share of the vote."""

    row: int
    label: Any
    distance: float
    share: float


class NearestNeighbours(ClassifierMixin, BaseEstimator):
    r"""Classify a row by a vote of the k learned rows nearest to it.

    $$ p(y \mid x) = \sum_{i \in N_k(x)} w(d_i) [y_i = y] \Big/ \sum_{i \in N_k(x)} w(d_i) $$

    For data where likeness is easier to say than a distribution, and for finding the earlier message that a message
    resembles. With k = 1 and much data the error is below twice the least possible one; with k growing, but
    slower than the data, it reaches it. Many columns that say nothing, or columns of different scale, spoil it.

    Of rows at the same distance the one learned first is nearer. A tied vote goes to the class with more learned
    rows, then to the first in `classes_`. `jaccard` looks only at which entries are not zero; two empty rows are
    at distance 0. `cosine` puts a row of zeros at distance 1 from everything, as scikit-learn does.

    Parameters: `k`, the number of neighbours; `metric`, "euclidean", "manhattan", "cosine" or "jaccard"; `weights`,
    "uniform", "distance" (1/d; exact matches outvote all others) or a function from an array of distances to weights.

    Attributes: `classes_`; `class_count_`, the learned rows of each; `rows_` and `labels_`, what was learned, in order;
    `n_features_in_`; `feature_names_in_` if the columns had names.

    >>> words = [[1, 1, 1, 0, 0], [1, 1, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]]
    >>> model = NearestNeighbours(k=3, metric="jaccard").fit(words, ["spam", "spam", "ham", "ham"])
    >>> model.predict([[1, 1, 0, 0, 0]]).tolist()
    ['spam']
    >>> [(n.row, str(n.label), round(n.distance, 2)) for n in model.explain([[1, 1, 0, 0, 0]])[0]]
    [(0, 'spam', 0.33), (1, 'spam', 0.33), (2, 'ham', 1.0)]

    Reference: T. Cover and P. Hart, Nearest neighbor pattern classification, IEEE Transactions on Information
    Theory 13 (1967) 21-27.
    """

    def __init__(
        self, k: int = 5, metric: str = "euclidean", weights: str | Callable[[Floats], Floats] = "uniform"
    ) -> None:
        self.k = k
        self.metric = metric
        self.weights = weights

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep the rows and their labels; what was learned before is dropped."""
        fresh = NearestNeighbours(self.k, self.metric, self.weights)._learn(X, y)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(vars(fresh))  # only when nothing can go wrong any more
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Append rows; labels that are seen, or named in `classes`, for the first time are added to `classes_`."""
        fresh = NearestNeighbours(self.k, self.metric, self.weights)
        fresh.__dict__.update(vars(self))
        self.__dict__.update(vars(fresh._learn(X, y, classes)))
        return self

    def forget(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remove, for each row, the last learned one that equals it and has its label; `classes_` stay."""
        check_is_fitted(self)
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = _like(_canonical(rows), self.rows_)
        wanted = Counter(_lesson(rows, labels, i) for i in range(len(labels)))
        keep = np.ones(len(self.labels_), bool)
        for i in reversed(range(len(keep))):
            lesson = _lesson(self.rows_, self.labels_, i)
            if wanted[lesson]:
                wanted[lesson] -= 1
                keep[i] = False
        if missing := wanted.total():
            raise ValueError(
                f"{missing} of the {len(labels)} rows of X to forget were not learned with their labels in y: "
                "forget only what was learned"
            )
        self._keep(self.rows_[keep], self.labels_[keep], self.classes_)
        return self

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, NearestNeighbours):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        if self.get_params() != other.get_params():
            raise ValueError("models to join must have the same k, metric and weights: set them to be equal")
        if self.n_features_in_ != other.n_features_in_ or not _same_names(self, other):
            raise ValueError("models to join must have the same columns: fit them on the same features")
        joined = type(self)(self.k, self.metric, self.weights)
        joined.__dict__.update(vars(self))
        labels = np.concatenate([self.labels_, other.labels_])
        joined._keep(_stacked(self.rows_, other.rows_), labels, unique_labels(self.classes_, other.classes_))
        return joined

    def kneighbors(self, X: ArrayLike, k: int | None = None, return_distance: bool = True) -> Any:
        """Return the distances to the k nearest learned rows, and their numbers; nearest first, then learned first."""
        self._check_parameters()
        check_is_fitted(self)
        k = _checked_k(self.k if k is None else k)
        X = _within_range(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        if k > len(self.labels_):
            raise ValueError(
                f"k = {k} neighbours were asked for, but n_samples = {len(self.labels_)} rows are learned: "
                "learn more rows or take a smaller k"
            )
        distances, places = self._index.nearest(X, k)
        return (distances, places) if return_distance else places

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return each class's weighted share of the votes, in the order of `classes_`."""
        distances, places = self.kneighbors(X)
        n, n_classes = len(places), len(self.classes_)
        at = np.searchsorted(self.classes_, self.labels_[places]) + n_classes * np.arange(n)[:, None]
        votes = np.bincount(at.ravel(), self._weights(distances).ravel(), minlength=n * n_classes)
        votes = votes.reshape(n, n_classes)
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the most votes; of equals the more frequent one, then the first."""
        votes = self.predict_proba(X)
        tied = votes == votes.max(axis=1, keepdims=True)
        return np.asarray(self.classes_[np.where(tied, self.class_count_, -1).argmax(axis=1)])

    def explain(self, X: ArrayLike) -> list[tuple[Neighbour, ...]]:
        """Return for each row its neighbours; their shares, added up by label, are the probabilities."""
        distances, places = self.kneighbors(X)
        weights = self._weights(distances)
        shares = weights / weights.sum(axis=1, keepdims=True)
        return [
            tuple(Neighbour(int(i), self.labels_[i], float(d), float(s)) for i, d, s in zip(*row, strict=True))
            for row in zip(places, distances, shares, strict=True)
        ]

    def _check_parameters(self) -> None:
        _checked_k(self.k)
        if self.metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {self.metric!r}")
        if not callable(self.weights) and self.weights not in ("uniform", "distance"):
            raise ValueError(f"weights must be 'uniform', 'distance' or a function, not {self.weights!r}")

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        self._check_parameters()
        first = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=first)
        check_classification_targets(y)
        rows, labels = _canonical(_within_range(X)), np.asarray(y)
        known = [labels] if classes is None else [labels, np.asarray(classes)]
        if first:
            return self._keep(rows, labels, unique_labels(*known))
        labels = np.concatenate([self.labels_, labels])
        return self._keep(_stacked(self.rows_, rows), labels, unique_labels(self.classes_, *known))

    def _keep(self, rows: Rows, labels: NDArray[Any], classes: NDArray[Any]) -> Self:
        self.rows_, self.labels_, self.classes_ = rows, labels, classes
        self.class_count_ = np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
        self._index = _Index(rows, self.metric)
        return self

    def _weights(self, distances: Floats) -> Floats:
        if callable(self.weights):
            weights = np.asarray(self.weights(distances), np.float64)
            if weights.shape != distances.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
                raise ValueError(
                    "weights must give one finite number of at least 0 for each distance: mend the function"
                )
            if not weights.any(axis=1).all():
                raise ValueError("weights gave 0 to all neighbours of a row: give one of them a say")
            return weights
        if self.weights == "uniform":
            return np.ones(distances.shape)
        nearest = distances[:, :1]  # nearest / d instead of 1 / d: the same shares, and no overflow
        return np.where(nearest == 0, distances == 0, nearest / np.where(distances == 0, 1, distances))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some of the learned rows, as the proxies want them."""

    start: int
    rows: Rows
    columns: Rows  #: the same, one column after the other: for sparse rows the inverted index
    sizes: NDArray[Any]


class _Index:
    """The learned rows, arranged for questions when the first one comes."""

    def __init__(self, rows: Rows, metric: str) -> None:
        self.metric = metric
        self.is_sparse = sparse.issparse(rows) or metric == "jaccard"
        self.by_product = metric in ("euclidean", "cosine") and not self.is_sparse
        self.rows = self._seen(rows)

    def nearest(self, X: Rows, k: int) -> tuple[Floats, Places]:
        """Distances to the k nearest rows and their numbers; of rows at the same distance those with lower numbers."""
        if self.tree is None:
            return self._by_blocks(X, k)
        distances, places, sure = self._by_tree(self.tree, self._seen(X), k)
        if not sure.all():
            distances[~sure], places[~sure] = self._by_blocks(X[~sure], k)
        return distances, places

    @cached_property
    def tree(self) -> KDTree | None:
        """Of 50,000 rows a tree is faster than blocks up to 7 columns, of 10,000 up to 6, of 2,000 up to 4."""
        n, d = self.rows.shape
        if self.is_sparse or self.metric == "cosine" or 4**d > n:
            return None
        return KDTree(self.rows, balanced_tree=False)  # as fast as a balanced one, and does not mind equal rows

    @cached_property
    def frame(self) -> tuple[Floats, float]:
        """Where float32 has its zero, and its unit: distances stay, and numbers become small, so little is rounded."""
        centre = self.rows.mean(axis=0) if self.metric == "euclidean" else np.zeros(self.rows.shape[1])
        reach = np.abs(self.rows - centre).max(initial=0)
        return centre, 2.0 ** -np.ceil(np.log2(reach)) if reach else 1.0

    @cached_property
    def pieces(self) -> list[_Piece]:
        n = self.rows.shape[0]
        edges = np.linspace(0, n, -(-n // ROWS) + 1).astype(int)
        return [self._piece(start, self.rows[start:stop]) for start, stop in pairwise(edges.tolist())]

    def _piece(self, start: int, rows: Rows) -> _Piece:
        if not self.by_product:
            return _Piece(start, rows, rows.T.tocsr() if self.is_sparse else None, self._sizes(rows))
        narrow = self._narrow(rows)
        sizes = self._sizes(narrow)
        return _Piece(start, rows, np.vstack([-2 * narrow.T, sizes]).astype(np.float32), sizes)

    def _seen(self, X: Rows) -> Rows:
        """The rows as the metric sees them."""
        if sparse.issparse(X) != self.is_sparse:
            X = sparse.csr_array(X) if self.is_sparse else X.toarray()
        if self.is_sparse:
            X = _canonical(X)
        if self.metric == "jaccard":
            X.data = np.ones_like(X.data)
        if self.metric == "cosine":
            lengths = np.sqrt(_inner(X, X))
            scales = 1 / np.where(lengths == 0, 1, lengths)
            if not self.is_sparse:
                return X * scales[:, None]
            X.data *= np.repeat(scales, np.diff(X.indptr))  # a product of matrices would not keep the order of entries
        return X

    def _narrow(self, X: Floats) -> Floats:
        centre, scale = self.frame
        return (X - centre) * scale

    def _sizes(self, X: Rows) -> Floats:
        """What bounds the proxy, and is a part of it: |x|², the sum of |x|, or how many entries are not 0."""
        if self.metric == "cosine":
            return np.ones(X.shape[0])
        if self.metric == "euclidean":
            return _inner(X, X)
        return np.asarray(abs(X).sum(axis=1), np.float64)

    def _by_tree(self, tree: KDTree, X: Floats, k: int) -> tuple[Floats, Places, NDArray[np.bool_]]:
        """As `nearest`, and whether that is sure: it is not where a row that was not found may be as near."""
        n, d = self.rows.shape
        n_found = min(k + SPARE, n)
        power = 2 if self.metric == "euclidean" else 1
        found, places = tree.query(X, list(range(1, n_found + 1)), p=power, workers=WORKERS)
        distances = self._distances(X, np.repeat(np.arange(len(X)), n_found), places.ravel()).reshape(places.shape)
        distances, places = _in_order(k, distances, places)
        rounding = 4 * (d + 8) * np.finfo(np.float64).eps
        return distances, places, (distances[:, -1] < found[:, -1] * (1 - rounding)) | (n_found == n)

    def _by_blocks(self, X: Rows, k: int) -> tuple[Floats, Places]:
        def answer(start: int) -> tuple[Floats, Places]:
            return self._block(self._seen(X[start : start + QUERIES]), k)

        starts = range(0, X.shape[0], QUERIES)
        if len(starts) == 1:
            parts = [answer(0)]
        else:  # each thread has its block; threads inside of products would only wait for each other
            with _products().limit(limits=1, user_api="blas"), ThreadPoolExecutor(WORKERS) as pool:
                parts = list(pool.map(answer, starts))
        distances, places = zip(*parts, strict=True)
        return np.concatenate(distances), np.concatenate(places)

    @np.errstate(over="ignore", invalid="ignore")  # a proxy that overflows is a candidate
    def _block(self, X: Rows, k: int) -> tuple[Floats, Places]:
        """The nearest of each piece, and of these the nearest."""
        looked = self._narrow(X) if self.by_product else X
        sizes = self._sizes(looked)
        found = []
        for piece in self.pieces:
            proxies = self._proxies(looked, sizes, piece)
            queries, places = _candidates(proxies, min(k, proxies.shape[1]), self._slack(sizes, piece))
            if self.metric == "jaccard":
                distances = proxies[queries, places]
            else:
                distances = self._distances(X, queries, piece.start + places)
            found.append(_first(min(k, proxies.shape[1]), queries, distances, piece.start + places))
        distances, places = (np.hstack(part) for part in zip(*found, strict=True))
        return _in_order(k, distances, places)

    def _proxies(self, X: Rows, sizes: Floats, piece: _Piece) -> NDArray[Any]:
        """Numbers [query, row] that grow with the distance, but for an error within the slack."""
        if self.by_product:
            return np.asarray(np.hstack([X, np.ones((len(X), 1))]).astype(np.float32) @ piece.columns)
        if not self.is_sparse:
            return np.asarray(cdist(X, piece.rows, "cityblock"))
        if self.metric == "manhattan":
            return np.asarray(piece.sizes - _met(X, piece.columns, _saved))
        both = _met(X, piece.columns, np.multiply)
        if self.metric == "jaccard":
            either = sizes[:, None] + piece.sizes - both
            return np.asarray((either - both) / np.maximum(either, 1))
        return np.asarray(piece.sizes - 2 * both)

    def _slack(self, sizes: Floats, piece: _Piece) -> Floats:
        """A bound on the rounding of the proxies and distances together (Higham, Accuracy and Stability, eq. 3.5)."""
        if self.metric == "jaccard":
            return np.zeros(len(sizes))  # whole numbers and one division
        eps = np.finfo(np.float32 if self.by_product else np.float64).eps
        return np.asarray(2 * (self.rows.shape[1] + 8) * eps * (sizes + piece.sizes.max()))

    def _distances(self, X: Rows, queries: Places, places: Places) -> Floats:
        """The distances of pairs by the definition, from differences; some pairs at a time."""
        width = max(1, X.shape[1] if not self.is_sparse else max(_longest(X), _longest(self.rows)))
        step = max(1, QUERIES * ROWS // 4 // width)
        cuts = range(0, len(queries), step)
        return np.concatenate([self._paired(X[queries[i : i + step]], self.rows[places[i : i + step]]) for i in cuts])

    def _paired(self, X: Rows, Z: Rows) -> Floats:
        difference = X - Z
        if self.metric == "manhattan":
            return np.asarray(abs(difference).sum(axis=1))
        squares = _inner(difference, difference)
        if self.metric == "euclidean":
            return np.sqrt(squares)
        cosines = _inner(X, Z)
        return np.where(cosines > 0.5, squares / 2, 1 - cosines)  # each where it does not cancel


@cache
def _products() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds


def _candidates(proxies: NDArray[Any], k: int, slack: Floats) -> tuple[Places, Places]:
    """All pairs (query, row) that may be among the k nearest.

    Group the rows: the k-th smallest of the groups' minima is no less than the k-th smallest of all. A partition of all
    takes 100 µs for 10,000 rows, this 10 µs.
    """
    n_queries, n = proxies.shape
    groups = min(n, 64 * k)
    lows = proxies[:, : n - n % groups].reshape(n_queries, -1, groups).min(axis=1)
    cuts = np.partition(lows, k - 1, axis=1)[:, k - 1] + 2 * slack
    cuts = np.nextafter(cuts.astype(proxies.dtype), np.inf, dtype=proxies.dtype)
    return np.divmod(np.flatnonzero(~(proxies > cuts[:, None])), n)


def _first(k: int, queries: Places, distances: Floats, places: Places) -> tuple[Floats, Places]:
    """The k pairs of each query that come first by distance, then by the number of the row."""
    order = np.lexsort((places, distances, queries))
    starts = np.searchsorted(queries, np.arange(queries[-1] + 1))
    order = order[starts[:, None] + np.arange(k)]
    return distances[order], places[order]


def _in_order(k: int, distances: Floats, places: Places) -> tuple[Floats, Places]:
    """The same where each query has its own row and all have equally many: 13 times as fast."""
    order = np.lexsort((places, distances), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)


def _met(X: Rows, columns: Rows, term: Callable[[Floats, Floats], Floats]) -> Floats:
    """Sum of term(x, z), for each query and row, over the columns in which neither is zero.

    It goes through the lists of rows that have a column, some lists at a time. With products as terms this is
    `(X @ columns).toarray()`, which takes 150 µs for each query of the benchmark; this takes 50 µs.
    """
    n_queries, n = X.shape[0], columns.shape[1]
    met = np.zeros((n_queries, n))
    owners = np.repeat(np.arange(n_queries), np.diff(X.indptr))
    ends = np.diff(columns.indptr)[X.indices].cumsum(dtype=np.int64)
    cuts = np.searchsorted(ends, np.arange(LISTED, ends[-1] if len(ends) else 0, LISTED))
    for part in filter(len, np.split(np.arange(len(ends)), cuts)):
        lists = columns[X.indices[part]]
        lengths = np.diff(lists.indptr)
        low, high = owners[part[0]], owners[part[-1]] + 1
        cells = np.repeat((owners[part] - low) * n, lengths) + lists.indices
        terms = term(np.repeat(X.data[part], lengths), lists.data)
        met[low:high] += np.bincount(cells, terms, minlength=(high - low) * n).reshape(-1, n)
    return met


def _saved(x: Floats, z: Floats) -> Floats:
    """By how much |x - z| is less than |x| + |z|."""
    return np.asarray(abs(x) + abs(z) - abs(x - z))


def _inner(X: Rows, Z: Rows) -> Floats:
    """The inner product of each row of X with the same row of Z."""
    return np.asarray(X.multiply(Z).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, Z))


def _longest(X: Rows) -> int:
    return int(np.diff(X.indptr).max(initial=0))


def _canonical(X: Rows) -> Rows:
    """A copy in which equal rows are equal bytes."""
    if not sparse.issparse(X):
        return X + 0.0  # there are two zeros in floating point
    X = sparse.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def _like(X: Rows, rows: Rows) -> Rows:
    if sparse.issparse(rows) == sparse.issparse(X):
        return X
    return sparse.csr_array(X) if sparse.issparse(rows) else X.toarray()


def _stacked(above: Rows, below: Rows) -> Rows:
    """Both, one under the other; sparse if one of them is."""
    if sparse.issparse(above) or sparse.issparse(below):
        return sparse.vstack([sparse.csr_array(above), sparse.csr_array(below)], format="csr")
    return np.vstack([above, below])


def _lesson(rows: Rows, labels: NDArray[Any], i: int) -> tuple[Any, ...]:
    """A row and its label as something that can be counted."""
    if not sparse.issparse(rows):
        return rows[i].tobytes(), labels[i]
    here = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[here].astype(np.int64).tobytes(), rows.data[here].tobytes(), labels[i]


def _same_names(one: NearestNeighbours, two: NearestNeighbours) -> bool:
    names = [getattr(model, "feature_names_in_", None) for model in (one, two)]
    return names[0] is None or names[1] is None or names[0].tolist() == names[1].tolist()


def _checked_k(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
    return int(k)


def _within_range(X: Rows) -> Rows:
    values = X.data if sparse.issparse(X) else X
    if max(values.max(initial=0), -values.min(initial=0)) > 1e150:
        raise ValueError("X has values beyond 1e150, whose squares overflow: scale it")
    return X
