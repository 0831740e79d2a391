r"""Naive Bayes on what is present and what is absent: under each class, each feature is a coin with its own bias."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.reading import read_matrix
from priory.bayes.tables import (
    ROUNDING,
    Floats,
    Labels,
    add_to,
    check_alpha,
    log_shares,
    used_columns,
    weighted_logs,
)
from priory.kernels import weigh_coins


@dataclass(frozen=True, slots=True)
class _Presence:
    """Where features are present (1), and where nothing is known of them; dense, or CSR."""

    ones: Any
    missing: Any | None

    @property
    def counted(self) -> Any:
        """Both side by side, as the table has them."""
        if self.missing is None:
            return self.ones
        return hstack([self.ones, self.missing], "csr") if issparse(self.ones) else np.hstack([self.ones, self.missing])

    def dense(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield both row by row, dense."""
        for i in range(self.ones.shape[0]):
            ones = _row(self.ones, i)
            yield ones, np.zeros(len(ones)) if self.missing is None else _row(self.missing, i)


@dataclass(frozen=True, slots=True)
class _Coins:
    """What presence adds to absence, [feature, class], and what an absence of everything adds, [class]."""

    gains: Floats
    baseline: Floats

    def total(self, ones: Any) -> Floats:
        """Add up the sides that are seen in each row."""
        return np.asarray(ones @ self.gains, np.float64) + self.baseline


class BernoulliNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for features that are present or absent.

    $$ \log p(x, c) = \log p(c) + \sum_j x_j \log p_{cj} + (1 - x_j) \log (1 - p_{cj}),
       \qquad p_{cj} = \frac{n_{cj} + \alpha}{n_c + 2\alpha} $$

    Of $n_c$ rows of class $c$ in which feature $j$ is known, $n_{cj}$ have it. A value that is missing (NaN) is summed
    out: it adds nothing, and counts nowhere. Rows may be dense or sparse (CSR); learning costs one addition per
    non-zero. Use it for short texts, and where what is absent tells something too; for word counts see `MultinomialNB`.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities; `binarize`, the value above which a feature is present.

    Attributes: `classes_`, `class_count_` [class], `feature_count_` and `missing_count_` [feature, class],
    `feature_log_prob_` [class, feature].

    >>> mail = [[1, 1], [1, 0], [0, 1], [0, 0]]                     # has "offer", has "lunch"
    >>> model = BernoulliNB().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict_proba([[1, 0]]).round(9).tolist()             # 3/4 · 1/2 against 1/4 · 1/2
    [[0.25, 0.75]]
    >>> print(model.explain([[1, 0]])[0])
    spam against ham: +1.099
      prior  +0.000
      x0     +1.099
      x1     +0.000
    """

    _statistics: ClassVar = ("counts_",)
    counts_: Floats  #: [feature, class] where present, and below them, once some were missing, where missing

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted", binarize: float = 0.0) -> None:
        self.alpha = alpha
        self.prior = prior
        self.binarize = binarize

    @property
    def feature_count_(self) -> Floats:
        """Weight of the rows that have each feature, [feature, class]."""
        return self.counts_[: self.n_features_in_]

    @property
    def missing_count_(self) -> Floats:
        """Weight of the rows in which each feature is not known, [feature, class]; empty if all always were."""
        return self.counts_[self.n_features_in_ :]

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(feature present, given class), [class, feature]."""
        return self._log_sides()[1].T

    def _rows(self, X: Any, *, reset: bool) -> _Presence:
        check_alpha(self.alpha)
        X = read_matrix(self, X, reset=reset, sparse=True, missing=True)
        if not issparse(X):
            ones, missing = np.greater(X, self.binarize), np.isnan(X)
            return _Presence(ones.astype(np.float64), missing.astype(np.float64) if missing.any() else None)
        if self.binarize < 0:
            raise ValueError(f"binarize must be 0 or more for sparse X, not {self.binarize}: zeros are absent there")
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        if (X.data == 1).all() and self.binarize < 1:
            return _Presence(X, None)
        missing = np.isnan(X.data)
        return _Presence(_where(X, X.data > self.binarize), _where(X, missing) if missing.any() else None)

    def _start(self, rows: _Presence, n_classes: int) -> None:
        self.counts_ = np.zeros((rows.ones.shape[1], n_classes))
        self._sparse = issparse(rows.ones)

    def _add(self, rows: _Presence, labels: Labels, weights: Floats) -> None:
        if rows.missing is not None and not len(self.missing_count_):
            self.counts_ = np.vstack([self.counts_, np.zeros_like(self.counts_)])
        table = self.feature_count_ if rows.missing is None else self.counts_
        add_to(table, rows.counted, labels, weights, lambda: self._is_possible(labels, weights))

    def _is_possible(self, labels: Labels, weights: Floats) -> bool:
        """Whether no feature is left in more rows than there are: else an absence was taken back that never was."""
        classes = np.unique(labels)
        n_left = (self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_)))[classes]
        known = n_left - self.missing_count_[:, classes] if len(self.missing_count_) else n_left
        return bool((self.feature_count_[:, classes] <= known + ROUNDING * np.abs(weights).max()).all())

    def _n_known(self, columns: Any) -> Floats:
        return self.class_count_ - self.missing_count_[columns] if len(self.missing_count_) else self.class_count_

    def _log_sides(self, columns: Any = slice(None)) -> tuple[Floats, Floats]:
        """Return log p(absent), log p(present), [feature, class]."""
        counts, known = self.feature_count_[columns], self._n_known(columns)
        absences = np.maximum(known - counts, 0)
        return log_shares(absences, known, 2, self.alpha), log_shares(counts, known, 2, self.alpha)

    def _estimate(self) -> _Coins | None:
        if self.alpha == 0:
            return None
        gains = np.empty_like(self.feature_count_)
        return _Coins(gains, self._weighed(gains))

    def _weighed(self, gains: Floats) -> Floats:
        """Return what an absence of everything adds, and fill in what presence adds to absence, if asked for."""
        return weigh_coins(self.feature_count_, np.atleast_2d(self._n_known(slice(None))), self.alpha, gains)

    def _coins_of(self, columns: Any) -> _Coins:
        absent, present = self._log_sides(columns)
        return _Coins(present - absent, self._weighed(np.empty((0, len(self.classes_)))))

    def _log_likelihood(self, rows: _Presence) -> Floats:
        if self.alpha == 0:
            return self._exact_log_likelihood(rows)
        columns, ones = used_columns(rows.ones)
        if self._is_estimated() or ones is rows.ones:
            found = self._parameters().total(rows.ones)
        else:
            found = self._coins_of(columns).total(ones)
        return np.asarray(found if rows.missing is None else found - rows.missing @ self._log_sides()[0])

    def _exact_log_likelihood(self, rows: _Presence) -> Floats:
        """Without smoothing sides may be impossible: each is looked at, row by row."""
        absent, present = self._log_sides()
        sums = [
            weighted_logs(ones, present) + weighted_logs(1 - ones - missing, absent) for ones, missing in rows.dense()
        ]
        return np.vstack(sums)

    def _terms(self, rows: _Presence) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        absent, present = self._log_sides()
        for ones, missing in rows.dense():
            terms = np.where(ones[:, None] > 0, present, absent)
            terms[missing > 0] = 0.0
            listed = np.flatnonzero(ones) if self._sparse else np.arange(len(ones))
            yield listed, terms[listed], np.delete(terms, listed, axis=0).sum(axis=0)

    def _join(self, other: Self) -> None:
        if len(self.counts_) < len(other.counts_):
            self.counts_, other.counts_ = other.counts_, self.counts_
        self.counts_[: len(other.counts_)] += other.counts_

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        probabilities = np.exp(self._log_sides()[1])
        rows = (rng.random(len(probabilities)) < probabilities[:, label] for label in labels)
        drawn = np.where(np.vstack(list(rows)), max(self.binarize + 1.0, 1.0), min(self.binarize, 0.0))
        return csr_matrix(drawn) if self._sparse else drawn

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


def _where(X: Any, mask: NDArray[np.bool_]) -> csr_matrix:
    """The places of a CSR matrix where the mask of its values is true, as ones."""
    kept = csr_matrix((mask.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    if not mask.all():
        kept = kept.copy()
        kept.eliminate_zeros()
    return kept


def _row(rows: Any, i: int) -> Floats:
    return np.asarray(rows[[i]].toarray()[0] if issparse(rows) else rows[i], np.float64)
