r"""Naive Bayes on how often things happen: under each class, each column is a Poisson count with its own rate."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse, vstack
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.tables import ROUNDING, Floats, Labels, add_to, check_alpha, log_shares, weighted_logs

_LOG_FACTORIALS: Final[Floats] = gammaln(np.arange(1024) + 1.0)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts with 0 where they are missing, and 1 where they are missing, if anywhere; dense, or CSR."""

    known: Any
    missing: Any | None

    @classmethod
    def of(cls, X: Any) -> "_Counts":
        if issparse(X) and not X.has_canonical_format:  # log (a + b)! needs a + b in one place
            X = X.copy()
            X.sum_duplicates()
        values = X.data if issparse(X) else X
        missing = np.isnan(values)
        if not missing.any():
            return cls(X, None)
        parts = np.where(missing, 0.0, values), missing.astype(np.float64)
        if not issparse(X):
            return cls(*parts)
        return cls(*(csr_matrix((part, X.indices, X.indptr), X.shape) for part in parts))

    @property
    def counted(self) -> Any:
        """Both side by side, as the table has them."""
        if self.missing is None:
            return self.known
        both = [self.known, self.missing]
        return hstack(both, "csr") if issparse(self.known) else np.hstack(both)

    @property
    def log_orders(self) -> Floats:
        """Σ log x! of each row, as a column."""
        if not issparse(self.known):
            return np.asarray(_log_factorials(self.known).sum(axis=1, keepdims=True), np.float64)
        logs = csr_matrix((_log_factorials(self.known.data), self.known.indices, self.known.indptr), self.known.shape)
        return np.asarray(logs.sum(axis=1), np.float64).reshape(-1, 1)


class PoissonNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for counts that stand for themselves, such as links, recipients and exclamation marks in a message.

    $$ \log p(x, c) = \log p(c) + \sum_j \bigl(x_j \log \lambda_{cj} - \lambda_{cj} - \log x_j!\bigr), \qquad
       \lambda_{cj} = \frac{s_{cj} + \alpha\bar\lambda_j}{n_{cj} + \alpha}, \quad
       \bar\lambda_j = \frac{s_j + \alpha}{n_j + \alpha} $$

    The counts of column $j$ in the $n_{cj}$ rows of class $c$ where it is known sum to $s_{cj}$; $n_j$ and $s_j$ are
    those of all classes. So each class is learned as if it had $\alpha$ more rows that are like all rows, and all rows
    as if they were $\alpha$ more with one count each: the posterior mean of a rate whose prior is a Gamma distribution
    with shape $\alpha\bar\lambda_j$ and rate $\alpha$. A value that is missing (NaN) is summed out: it adds nothing,
    and counts nowhere. Rows may be dense or sparse (CSR).

    Use it where every column counts by itself, and zero tells something too. `MultinomialNB` asks only which things
    there are more of than of others, whatever their number in all: that is better for words of texts of any length.

    Parameters: `alpha`, the weight of the prior in rows (0 is maximum likelihood: what never happened is impossible);
    `prior`, "fitted", "smoothed", "uniform", or probabilities.

    Attributes: `classes_`, `class_count_` [class], `feature_count_` and `missing_count_` [feature, class], `rates_`
    [class, feature].

    >>> mail = [[9, 1], [11, 1], [1, 2], [0, 1], [2, 0]]            # links, recipients
    >>> model = PoissonNB(alpha=0).fit(mail, ["spam", "spam", "ham", "ham", "ham"])
    >>> model.rates_.tolist()
    [[1.0, 1.0], [10.0, 1.0]]
    >>> model.predict([[7, 1], [1, 9]]).tolist()
    ['spam', 'ham']
    """

    _statistics: ClassVar = ("counts_",)
    counts_: Floats

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted") -> None:
        self.alpha = alpha
        self.prior = prior

    @property
    def feature_count_(self) -> Floats:
        """Sums of the counts, [feature, class]."""
        return self.counts_[: self.n_features_in_]

    @property
    def missing_count_(self) -> Floats:
        """Weight of the rows in which each count is not known, [feature, class]."""
        return self.counts_[self.n_features_in_ :]

    @property
    def rates_(self) -> Floats:
        """The mean count of each column, [class, feature]."""
        return np.asarray(self._parameters()[0].T)

    def _rows(self, X: Any, *, reset: bool) -> _Counts:
        check_alpha(self.alpha)
        X = validate_data(self, X, accept_sparse="csr", reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        values = X.data if issparse(X) else X
        if values.size and np.nanmin(values, initial=0.0) < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X): counts start at 0")
        return _Counts.of(X)

    def _start(self, rows: _Counts, n_classes: int) -> None:
        self.counts_ = np.zeros((2 * rows.known.shape[1], n_classes))
        self._sparse = issparse(rows.known)

    def _add(self, rows: _Counts, labels: Labels, weights: Floats) -> None:
        n_left = self.class_count_ + np.bincount(labels, weights, minlength=len(self.classes_))
        table = self.counts_ if rows.missing is not None else self.feature_count_
        add_to(table, rows.counted, labels, weights, lambda: self._is_possible(n_left, np.unique(labels)))

    def _is_possible(self, n_left: Floats, classes: Labels) -> bool:
        """Whether no value is missing in more rows than there are, and where none are left, no count is left."""
        known = n_left[classes] - self.missing_count_[:, classes]
        rounding = ROUNDING * np.maximum(n_left[classes], 1.0)
        return bool(((known > rounding) | ((known > -rounding) & (self.feature_count_[:, classes] < ROUNDING))).all())

    def _estimate(self) -> tuple[Floats, Floats]:
        """The rates [feature, class], and their logarithms."""
        known = np.maximum(self.class_count_ - self.missing_count_, 0.0)
        log_mean = log_shares(self.feature_count_.sum(axis=1), known.sum(axis=1), 1, self.alpha)[:, None]
        pseudo = self.alpha if self.alpha > 0 else np.where(known > 0, 0.0, 1.0)  # 0/0 is the mean of all classes
        rates = (self.feature_count_ + pseudo * np.exp(log_mean)) / (known + pseudo)
        with np.errstate(divide="ignore"):
            return rates, np.log(rates)

    def _log_likelihood(self, rows: _Counts) -> Floats:
        rates, logs = self._parameters()
        found = weighted_logs(rows.known, logs) - rates.sum(axis=0) - rows.log_orders
        return np.asarray(found if rows.missing is None else found + rows.missing @ rates, np.float64)

    def _terms(self, rows: _Counts) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        rates, logs = self._parameters()
        for i in range(rows.known.shape[0]):
            counts = _dense(rows.known, i)[:, None]
            with np.errstate(invalid="ignore"):
                terms = np.where(counts > 0, counts * logs, 0.0) - rates - _log_factorials(counts)
            if rows.missing is not None:
                terms[_dense(rows.missing, i) > 0] = 0.0
            listed = np.flatnonzero(counts) if self._sparse else np.arange(len(counts))
            yield listed, terms[listed], np.delete(terms, listed, axis=0).sum(axis=0)

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        rows = [rng.poisson(self.rates_[label]).astype(np.float64) for label in labels]
        return vstack([csr_matrix(row) for row in rows], "csr") if self._sparse else np.vstack(rows)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


def _dense(rows: Any, i: int) -> Floats:
    return np.asarray(rows[[i]].toarray()[0] if issparse(rows) else rows[i], np.float64)


def _log_factorials(counts: Floats) -> Floats:
    """log x!, from a table if all counts are small and whole: that takes a seventh of the time."""
    if counts.size and counts.max() < len(_LOG_FACTORIALS):
        whole = counts.astype(np.intp)
        if np.array_equal(whole, counts):
            return np.asarray(_LOG_FACTORIALS[whole])
    return np.asarray(gammaln(counts + 1), np.float64)
