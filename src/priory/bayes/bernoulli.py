r"""Naive Bayes on what is present and what is absent: under each class, each feature is a coin with its own bias."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, add_to, check_alpha, log_shares


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


@dataclass(frozen=True, slots=True)
class _Coins:
    """Both sides' log-probabilities [feature, class], and what an absence of everything adds."""

    absent: Floats
    present: Floats
    baseline: Floats

    @classmethod
    def of(cls, absent: Floats, present: Floats) -> "_Coins":
        return cls(absent, present, absent.sum(axis=0))

    def total(self, rows: _Presence) -> Floats:
        """Add up the sides that are seen in each row."""
        total = np.asarray(rows.ones @ (self.present - self.absent), np.float64) + self.baseline
        return total if rows.missing is None else total - rows.missing @ self.absent


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
    counts_: Floats

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
        """Weight of the rows in which each feature is not known, [feature, class]."""
        return self.counts_[self.n_features_in_ :]

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(feature present, given class), [class, feature]."""
        return self._log_present().T

    def _rows(self, X: Any, *, reset: bool) -> _Presence:
        check_alpha(self.alpha)
        X = validate_data(self, X, accept_sparse="csr", reset=reset, ensure_all_finite="allow-nan")
        if not issparse(X):
            ones, missing = np.greater(X, self.binarize), np.isnan(X)
            return _Presence(ones.astype(np.float64), missing.astype(np.float64) if missing.any() else None)
        if self.binarize < 0:
            raise ValueError(f"binarize must be 0 or more for sparse X, not {self.binarize}: zeros are absent there")
        missing = np.isnan(X.data)
        return _Presence(_where(X, X.data > self.binarize), _where(X, missing) if missing.any() else None)

    def _start(self, rows: _Presence, n_classes: int) -> None:
        self.counts_ = np.zeros((2 * rows.ones.shape[1], n_classes))
        self._sparse = issparse(rows.ones)

    def _add(self, rows: _Presence, labels: Labels, weights: Floats) -> None:
        n_left = self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_))
        table = self.counts_ if rows.missing is not None else self.feature_count_
        add_to(table, rows.counted, labels, weights, lambda: self._is_possible(n_left, np.unique(labels)))

    def _is_possible(self, n_left: Floats, classes: Labels) -> bool:
        """Whether no feature is present in more rows than there are: then an absence was never learned."""
        known = n_left[classes] - self.missing_count_[:, classes]
        return bool((self.feature_count_[:, classes] <= known + 1e-9 * n_left[classes]).all())

    def _n_known(self) -> Floats:
        return self.class_count_ - self.missing_count_ if self.missing_count_.any() else self.class_count_

    def _log_present(self) -> Floats:
        return log_shares(self.feature_count_, self._n_known(), 2, self.alpha)

    def _estimate(self) -> tuple[_Coins, _Coins | None]:
        """The coins; and where α = 0 leaves zeros, the same with 1 for each impossible side and 0 for the others."""
        known = self._n_known()
        absent = log_shares(np.maximum(known - self.feature_count_, 0), known, 2, self.alpha)
        present = self._log_present()
        never = np.isneginf(absent), np.isneginf(present)
        if not (never[0].any() or never[1].any()):
            return _Coins.of(absent, present), None
        possible = _Coins.of(np.where(never[0], 0.0, absent), np.where(never[1], 0.0, present))
        return possible, _Coins.of(never[0].astype(np.float64), never[1].astype(np.float64))

    def _log_likelihood(self, rows: _Presence) -> Floats:
        possible, impossible = self._parameters()
        found: Floats = possible.total(rows)
        return found if impossible is None else np.where(impossible.total(rows) > 0.5, -np.inf, found)

    def _terms(self, rows: _Presence) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        possible, impossible = self._parameters()
        absent, present = possible.absent, possible.present
        if impossible is not None:
            absent = np.where(impossible.absent, -np.inf, absent)
            present = np.where(impossible.present, -np.inf, present)
        for i in range(rows.ones.shape[0]):
            ones, missing = _dense(rows.ones, i), rows.missing is not None and _dense(rows.missing, i)
            terms = np.where(ones[:, None] > 0, present, absent)
            terms[missing] = 0.0
            listed = np.flatnonzero(ones) if self._sparse else np.arange(len(ones))
            yield listed, terms[listed], np.delete(terms, listed, axis=0).sum(axis=0)

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        probabilities = np.exp(self._log_present())
        rows = (rng.random(len(probabilities)) < probabilities[:, label] for label in labels)
        if self._sparse:
            return csr_matrix(np.vstack(list(rows)), dtype=np.float64)
        return np.vstack(list(rows)).astype(np.float64)

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


def _dense(rows: Any, i: int) -> Floats:
    return np.asarray(rows[[i]].toarray()[0] if issparse(rows) else rows[i], np.float64)
