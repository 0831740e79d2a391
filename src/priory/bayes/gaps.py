"""Rows of numbers with gaps: what is missing (NaN) is left out of every sum, and counted beside what is known.

A model whose columns are independent given the class can leave a missing value out, in learning and in prediction. For
that it needs to know of each column and class how many rows were without a value: the table of a model here has the
sums of the values, and below them, only once something was missing, the weight of the rows where it was.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse, vstack

from priory.bayes.generative import GenerativeMixin
from priory.bayes.tables import Floats, Labels, add_to, are_within


@dataclass(frozen=True, slots=True)
class Gapped:
    """Rows of numbers, with 0 in the gaps, and 1 where the gaps are, if there are any; dense, or CSR."""

    values: Any
    gaps: Any | None

    @classmethod
    def of(cls, X: Any, meaning: Callable[[Floats], Floats] = lambda numbers: numbers) -> Self:
        """Return the rows of X, each number read for what it means to the model; zero must mean zero if X is CSR.

        >>> rows = Gapped.of(np.array([[2.0, np.nan]]))
        >>> rows.values.tolist(), rows.gaps.tolist()
        ([[2.0, 0.0]], [[0.0, 1.0]])
        """
        if issparse(X) and not X.has_canonical_format:  # a number in two parts means what their sum means
            X = X.copy()
            X.sum_duplicates()
        numbers = X.data if issparse(X) else X
        found, missing = meaning(numbers), np.isnan(numbers)
        if not missing.any():
            return cls(X if found is numbers else _at(X, found), None)
        return cls(_at(X, np.where(missing, 0.0, found)), _at(X, missing.astype(np.float64)))

    @property
    def numbers(self) -> Floats:
        """All values that are written down."""
        return np.asarray(self.values.data if issparse(self.values) else self.values)

    @property
    def counted(self) -> Any:
        """Values and gaps side by side, as the table has them."""
        if self.gaps is None:
            return self.values
        both = [self.values, self.gaps]
        return hstack(both, "csr") if issparse(self.values) else np.hstack(both)

    def dense(self) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
        """Yield the values of each row, and whether they are missing."""
        for i in range(self.values.shape[0]):
            values = _row(self.values, i)
            yield values, np.zeros(len(values), bool) if self.gaps is None else _row(self.gaps, i) > 0


class GapsMixin(GenerativeMixin):
    """What models share that sum up the values of each column by class, and count its gaps."""

    _statistics: ClassVar = ("counts_",)
    counts_: Floats  #: [feature, class], and below them, once some were missing, where missing

    @property
    def feature_count_(self) -> Floats:
        """Sum of the values of each feature, [feature, class]."""
        return self.counts_[: self._n_features]

    @property
    def missing_count_(self) -> Floats:
        """Weight of the rows in which each feature is not known, [feature, class]; empty if all are."""
        return self.counts_[self._n_features :]

    @property
    def _n_features(self) -> int:
        return int(self.n_features_in_)  # type: ignore[attr-defined]

    def _n_known(self, columns: Any = slice(None)) -> Floats:
        """Weight of the rows in which each feature is known, [feature, class]; one row for all if all are."""
        if not len(self.missing_count_):
            return self.class_count_[None]
        return np.asarray(np.maximum(self.class_count_ - self.missing_count_[columns], 0.0))

    def _start(self, rows: Gapped, n_classes: int) -> None:
        self.counts_ = np.zeros((rows.values.shape[1], n_classes))
        self._sparse = issparse(rows.values)

    def _add(self, rows: Gapped, labels: Labels, weights: Floats) -> None:
        if rows.gaps is not None and not len(self.missing_count_):
            self.counts_ = np.vstack([self.counts_, np.zeros_like(self.counts_)])
        table = self.feature_count_ if rows.gaps is None else self.counts_
        add_to(table, rows.counted, labels, weights, lambda: self._is_possible(rows, labels, weights))
        if rows.gaps is not None and (weights <= 0).any() and not self.missing_count_.any():
            self.counts_ = self.feature_count_

    def _is_possible(self, rows: Gapped, labels: Labels, weights: Floats) -> bool:  # noqa: ARG002
        """Whether rows can have the counts left after these were taken back; looks at each feature once."""
        return all(are_within(self._bounded(label), n, before) for label, n, before in self._left(labels, weights))

    @abstractmethod
    def _bounded(self, label: int) -> Floats:
        """Counts of one class which cannot be above that of its rows."""

    def _left(self, labels: Labels, weights: Floats) -> Iterator[tuple[int, float, float]]:
        """Yield each class of these rows, the weight of its rows that is left without them, and that before."""
        n_left = self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_))
        for label in np.unique(labels).tolist():
            yield label, float(n_left[label]), float(self.class_count_[label])

    def _listed_terms(
        self, rows: Gapped, terms_of: Callable[[Floats], Floats]
    ) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        """Yield the terms of each row, gaps without any; if the model learned from CSR, zeros are in the rest."""
        for values, missing in rows.dense():
            terms = terms_of(values)
            terms[missing] = 0.0
            listed = np.flatnonzero(values) if self._sparse else np.arange(len(values))
            yield listed, terms[listed], np.delete(terms, listed, axis=0).sum(axis=0)

    def _join(self, other: Self) -> None:
        if len(self.counts_) < len(other.counts_):
            self.counts_, other.counts_ = other.counts_, self.counts_
        self.counts_[: len(other.counts_)] += other.counts_

    def _stacked(self, rows: Iterable[Floats]) -> Any:
        """Return rows in the form that the model learned from."""
        return vstack([csr_matrix(row) for row in rows], "csr") if self._sparse else np.vstack(list(rows))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are taken."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


def _at(X: Any, numbers: Floats) -> Any:
    """The numbers at the places of those of X; CSR without zeros."""
    if not issparse(X):
        return numbers
    placed = csr_matrix((numbers, X.indices, X.indptr), shape=X.shape)
    if not numbers.all():
        placed = placed.copy()  # the places are X's own
        placed.eliminate_zeros()
    return placed


def _row(rows: Any, i: int) -> Floats:
    return np.asarray(rows[[i]].toarray()[0] if issparse(rows) else rows[i], np.float64)
