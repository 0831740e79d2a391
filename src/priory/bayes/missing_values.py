"""Rows of numbers with missing values (NaN), which are left out of every sum and counted separately.

A model whose columns are independent given the class can leave a missing value out, in learning and in prediction. For
that it needs the number of rows without a value for each column and class. The table of such a model has the sums of
the values and below them, once a value was missing, the weight of the rows where it was.
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
class MaskedRows:
    """Rows of numbers with 0 for missing values, and a mask with 1 for each of them, or None; dense, or CSR."""

    values: Any
    gaps: Any | None

    @classmethod
    def of(cls, X: Any, meaning: Callable[[Floats], Floats] = lambda numbers: numbers) -> Self:
        """Return the rows of X, with `meaning` applied to each number; for CSR it must map zero to zero.

        >>> rows = MaskedRows.of(np.array([[2.0, np.nan]]))
        >>> rows.values.tolist(), rows.gaps.tolist()
        ([[2.0, 0.0]], [[0.0, 1.0]])
        """
        if issparse(X) and not X.has_canonical_format:  # duplicate entries must be summed before `meaning` applies
            X = X.copy()
            X.sum_duplicates()
        numbers = X.data if issparse(X) else X
        meanings, missing = meaning(numbers), np.isnan(numbers)
        if not missing.any():
            return cls(X if meanings is numbers else _at(X, meanings), None)
        return cls(_at(X, np.where(missing, 0.0, meanings)), _at(X, missing.astype(np.float64)))

    @property
    def numbers(self) -> Floats:
        """All stored values."""
        return np.asarray(self.values.data if issparse(self.values) else self.values)

    @property
    def counted(self) -> Any:
        """Values and mask side by side, as in the table."""
        if self.gaps is None:
            return self.values
        both = [self.values, self.gaps]
        return hstack(both, "csr") if issparse(self.values) else np.hstack(both)

    def dense(self) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
        """Yield the values of each row and whether they are missing."""
        for i in range(self.values.shape[0]):
            values = _row(self.values, i)
            yield values, np.zeros(len(values), bool) if self.gaps is None else _row(self.gaps, i) > 0


class MissingValuesMixin(GenerativeMixin):
    """The shared part of models that sum the values of each column by class and count its missing values."""

    _statistics: ClassVar = ("counts_",)
    counts_: Floats  #: [feature, class], and below, once a value was missing, the same for missing values

    @property
    def feature_count_(self) -> Floats:
        """The sum of the values of each feature, [feature, class]."""
        return self.counts_[: self._n_features]

    @property
    def missing_count_(self) -> Floats:
        """The weight of the rows in which each feature is missing, [feature, class]; empty if none ever was."""
        return self.counts_[self._n_features :]

    @property
    def _n_features(self) -> int:
        return int(self.n_features_in_)  # type: ignore[attr-defined]

    def _n_known(self, columns: Any = slice(None)) -> Floats:
        """Return the weight of the rows in which each feature is known, [feature, class]; one row if all are."""
        if not len(self.missing_count_):
            return self.class_count_[None]
        return np.asarray(np.maximum(self.class_count_ - self.missing_count_[columns], 0.0))

    def _start(self, rows: MaskedRows, n_classes: int) -> None:
        self.counts_ = np.zeros((rows.values.shape[1], n_classes))
        self._sparse = issparse(rows.values)

    def _add(self, rows: MaskedRows, labels: Labels, weights: Floats) -> None:
        if rows.gaps is not None and not len(self.missing_count_):
            self.counts_ = np.vstack([self.counts_, np.zeros_like(self.counts_)])
        table = self.feature_count_ if rows.gaps is None else self.counts_
        add_to(table, rows.counted, labels, weights, lambda: self._is_possible(rows, labels, weights))
        if rows.gaps is not None and (weights <= 0).any() and not self.missing_count_.any():
            self.counts_ = self.feature_count_

    def _is_possible(self, rows: MaskedRows, labels: Labels, weights: Floats) -> bool:  # noqa: ARG002
        """Tell whether rows could have the counts that are left after subtracting these."""
        return all(are_within(self._bounded(label), n, before) for label, n, before in self._left(labels, weights))

    @abstractmethod
    def _bounded(self, label: int) -> Floats:
        """Return the counts of one class that cannot exceed the number of its rows."""

    def _left(self, labels: Labels, weights: Floats) -> Iterator[tuple[int, float, float]]:
        """Yield each class of these rows, the weight of its rows that is left without them, and the weight before."""
        n_left = self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_))
        for label in np.unique(labels).tolist():
            yield label, float(n_left[label]), float(self.class_count_[label])

    def _row_terms(
        self, rows: MaskedRows, terms_of: Callable[[Floats], Floats]
    ) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        """Yield the terms of each row; missing values have none, and after learning from CSR zeros are in the rest."""
        for values, missing in rows.dense():
            terms = terms_of(values)
            terms[missing] = 0.0
            listed = np.flatnonzero(values) if self._sparse else np.arange(len(values))
            yield listed, terms[listed], np.delete(terms, listed, axis=0).sum(axis=0)

    def _join(self, other: Self) -> None:
        if len(self.counts_) < len(other.counts_):
            self.counts_, other.counts_ = other.counts_, self.counts_
        self.counts_[: len(other.counts_)] += other.counts_

    def _stack(self, rows: Iterable[Floats]) -> Any:
        """Return rows in the form that the model learned from."""
        return vstack([csr_matrix(row) for row in rows], "csr") if self._sparse else np.vstack(list(rows))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


def _at(X: Any, numbers: Floats) -> Any:
    """Return a table like X with these numbers in place of its own; CSR without zeros."""
    if not issparse(X):
        return numbers
    placed = csr_matrix((numbers, X.indices, X.indptr), shape=X.shape)
    if not numbers.all():
        placed = placed.copy()  # indices and indptr are shared with X
        placed.eliminate_zeros()
    return placed


def _row(rows: Any, i: int) -> Floats:
    return np.asarray(rows[[i]].toarray()[0] if issparse(rows) else rows[i], np.float64)
