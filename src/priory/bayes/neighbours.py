r"""The k nearest neighbours: a row has the label of the learned rows most like it. There is no training phase.

The distance between rows $x$ and $z$ is one of

$$ \sqrt{\textstyle\sum_j (x_j - z_j)^2}, \qquad \sum_j |x_j - z_j|, \qquad 1 - \frac{x^\top z}{|x|\,|z|}, \qquad
   1 - \frac{\text{ones in both}}{\text{ones in either}} $$
"""

from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from priory.bayes.estimator import check_joinable, unfitted_copy
from priory.bayes.neighbour_search import NeighbourSearch, Rows, canonical
from priory.bayes.tables import Floats

METRICS: Final = ("euclidean", "manhattan", "cosine", "jaccard")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A learned row that voted: its number, label and distance, and its share of the vote."""

    row: int
    label: Any
    distance: float
    share: float


class NearestNeighbours(ClassifierMixin, BaseEstimator):
    r"""Classify a row by a vote of the k learned rows nearest to it.

    $$ p(y \mid x) = \sum_{i \in N_k(x)} w(d_i) [y_i = y] \Big/ \sum_{i \in N_k(x)} w(d_i) $$

    Use it for data where similarity is easier to define than a distribution, and to find the earlier message that a
    message resembles. With k = 1 and much data the error is below twice the least possible one; if k grows, but slower
    than the data, it reaches that least error. Many uninformative columns, or columns of different scale, spoil it.

    Of rows at the same distance, the row learned first is nearer. A tied vote goes to the class with more learned rows,
    then to the first in `classes_`. `jaccard` only uses which entries are not zero; two empty rows are at distance 0.
    `cosine` puts a row of zeros at distance 1 from everything, as scikit-learn does.

    Parameters: `k`, the number of neighbours; `metric`, "euclidean", "manhattan", "cosine" or "jaccard"; `weights`,
    "uniform", "distance" (1/d; exact matches outvote all others) or a function from an array of distances to weights.

    Attributes: `classes_`; `class_count_`, the learned rows of each; `rows_` and `labels_`, the learned rows and labels
    in order; `n_features_in_`; `feature_names_in_` if the columns had names.

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
        """Store the rows and their labels; earlier ones are dropped."""
        self.__dict__ = unfitted_copy(self)._learn(X, y).__dict__  # last, so that an error changes nothing
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Append rows; new labels, in y or in `classes`, are added to `classes_`."""
        self.__dict__ = copy(self)._learn(X, y, classes).__dict__
        return self

    def forget(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Remove, for each row, the last learned one that equals it and has its label; `classes_` stay."""
        check_is_fitted(self)
        rows, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=False)
        rows = _like(canonical(rows), self.rows_)
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
        if type(other) is not type(self):
            return NotImplemented
        check_joinable(self, other)
        labels = np.concatenate([self.labels_, other.labels_])
        classes = unique_labels(self.classes_, other.classes_)
        return copy(self)._keep(_stack(self.rows_, other.rows_), labels, classes)

    def __radd__(self, other: Any) -> Self:
        """Let `sum` of models start from 0."""
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented

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
        distances, places = self._search().nearest(X, k)
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
        rows, labels = canonical(_within_range(X)), np.asarray(y)
        known = [labels] if classes is None else [labels, np.asarray(classes)]
        if first:
            return self._keep(rows, labels, unique_labels(*known))
        labels = np.concatenate([self.labels_, labels])
        return self._keep(_stack(self.rows_, rows), labels, unique_labels(self.classes_, *known))

    def _keep(self, rows: Rows, labels: NDArray[Any], classes: NDArray[Any]) -> Self:
        self.rows_, self.labels_, self.classes_ = rows, labels, classes
        self.class_count_ = np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
        self._cache: dict[str, NeighbourSearch] = {}
        return self

    def _search(self) -> NeighbourSearch:
        """Return the index for the current metric, which may have changed since learning."""
        if self.metric not in self._cache:
            self._cache[self.metric] = NeighbourSearch(self.rows_, self.metric)
        return self._cache[self.metric]

    def _weights(self, distances: Floats) -> Floats:
        if callable(self.weights):
            weights = np.asarray(self.weights(distances), np.float64)
            if weights.shape != distances.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
                raise ValueError(
                    "weights must give one finite number of at least 0 for each distance: correct the function"
                )
            if not weights.any(axis=1).all():
                raise ValueError("weights gave 0 to all neighbours of a row: at least one needs a weight above 0")
            return weights
        if self.weights == "uniform":
            return np.ones(distances.shape)
        nearest = distances[:, :1]  # nearest / d instead of 1 / d gives the same shares without overflow
        return np.where(nearest == 0, distances == 0, nearest / np.where(distances == 0, 1, distances))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _like(X: Rows, rows: Rows) -> Rows:
    if sparse.issparse(rows) == sparse.issparse(X):
        return X
    return sparse.csr_array(X) if sparse.issparse(rows) else X.toarray()


def _stack(above: Rows, below: Rows) -> Rows:
    """Return both tables, one below the other; sparse if one of them is."""
    if sparse.issparse(above) or sparse.issparse(below):
        return sparse.vstack([sparse.csr_array(above), sparse.csr_array(below)], format="csr")
    return np.vstack([above, below])


def _lesson(rows: Rows, labels: NDArray[Any], i: int) -> tuple[Any, ...]:
    """Return a row and its label as a hashable key."""
    if not sparse.issparse(rows):
        return rows[i].tobytes(), labels[i]
    here = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[here].astype(np.int64).tobytes(), rows.data[here].tobytes(), labels[i]


def _checked_k(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
    return int(k)


def _within_range(X: Rows) -> Rows:
    values = X.data if sparse.issparse(X) else X
    if max(values.max(initial=0), -values.min(initial=0)) > 1e150:
        raise ValueError("X has values beyond 1e150, whose squares overflow: scale X down")
    return X
