"""Naive Bayes on counts: a row is a bag of things, each drawn from its class's own distribution."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.estimator import check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import read_matrix
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, add_to, log_shares, settle, used_columns, weighted_logs

_Bags: TypeAlias = tuple[Any, Any | None]  #: counts with 0 for missing ones, and their mask; dense, or CSR


class MultinomialNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for counts, such as how often each word occurs in a message.

    $$ \log p(x, c) = \log p(c) + \sum_j x_j \log p_{cj}, \qquad p_{cj} = \frac{n_{cj} + \alpha}{n_c + d\alpha} $$

    Feature $j$ was counted $n_{cj}$ times in the rows of class $c$, all $d$ features together $n_c$ times. (The
    multinomial coefficient is the same for every class and is left out.) Rows may be dense or sparse (CSR). Learning
    costs one addition per non-zero; predicting a few sparse rows afterwards costs one logarithm per non-zero, however
    many features there are. A missing count (NaN) is summed out of a prediction by renormalising the others; rows to
    learn from must be complete.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities.

    Attributes: `classes_`, `class_count_` and `token_count_` [class], `feature_count_` [feature, class],
    `feature_log_prob_` [class, feature].

    `sample` draws for each row a Poisson number of things whose mean is the average of its class.

    >>> words = [[2, 0], [1, 0], [0, 3]]                            # how often "offer", "lunch"
    >>> model = MultinomialNB().fit(words, ["spam", "spam", "ham"])
    >>> model.predict_proba([[1, 0]]).round(9).tolist()             # 2/3 · 4/5 against 1/3 · 1/5
    [[0.111111111, 0.888888889]]
    """

    _statistics: ClassVar = ("feature_count_", "token_count_")
    feature_count_: Floats
    token_count_: Floats

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted") -> None:
        self.alpha = alpha
        self.prior = prior

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(feature given class), [class, feature]."""
        return self._log_shares(slice(None)).T

    def _rows(self, X: Any, *, reset: bool) -> _Bags:
        check_alpha(self.alpha)
        X = read_matrix(self, X, reset=reset, sparse=True, missing=True)
        values = X.data if issparse(X) else X
        least = values.min(initial=0)
        if (np.nanmin(values, initial=0) if np.isnan(least) else least) < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X): counts start at 0")
        return _split(X) if np.isnan(least) else (X, None)

    def _start(self, rows: _Bags, n_classes: int) -> None:
        self.feature_count_ = np.zeros((rows[0].shape[1], n_classes))
        self.token_count_ = np.zeros(n_classes)
        self._sparse = issparse(rows[0])

    def _add(self, rows: _Bags, labels: Labels, weights: Floats) -> None:
        counts, missing = rows
        if missing is not None:
            raise ValueError("X has NaN: a bag with a count missing cannot be learned. Impute it, or leave the row out")
        added = add_to(self.feature_count_, counts, labels, weights)
        tokens = self.token_count_ + added
        self.token_count_ = settle(self.token_count_, tokens) if (weights < 0).any() else tokens

    def _log_shares(self, columns: Any) -> Floats:
        return log_shares(self.feature_count_[columns], self.token_count_, self.n_features_in_, self.alpha)

    def _logs(self, columns: Any) -> Floats:
        """Return what one occurrence of each of these features adds, [feature, class]."""
        return self._log_shares(columns)

    def _estimate(self) -> Floats:
        return self._logs(slice(None))

    def _log_likelihood(self, rows: _Bags) -> Floats:
        known, missing = rows
        sums = self._sums(known)
        return sums if missing is None else sums - self._missing_part(known, missing)

    def _sums(self, rows: Any) -> Floats:
        """Return the sums of logarithms of each row: with all features, or only those that a few sparse rows use."""
        columns, few = used_columns(rows)
        if self._is_estimated() or few is rows:
            return weighted_logs(rows, self._parameters())
        return weighted_logs(few, self._logs(columns))

    def _missing_part(self, known: Any, missing: Any) -> Floats:
        """Return the correction for missing counts: the known counts are a bag drawn from the other features alone."""
        left = np.maximum(1 - missing @ np.exp(self._parameters()), 1e-300)
        return np.asarray(np.asarray(known.sum(axis=1)).reshape(-1, 1) * np.log(left), np.float64)

    def _terms(self, rows: _Bags) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        for i in range(rows[0].shape[0]):
            known = csr_matrix(rows[0][[i]])
            missing = None if rows[1] is None else csr_matrix(rows[1][[i]])
            known.sum_duplicates()
            known.eliminate_zeros()
            columns = known.indices.astype(np.int64)
            rest = np.zeros(len(self.classes_)) if missing is None else -self._missing_part(known, missing)[0]
            yield columns, known.data[:, None] * self._logs(columns), rest

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        ends = np.exp(self._log_shares(slice(None))).cumsum(axis=0)
        mean_lengths = self.token_count_ / np.maximum(self.class_count_, 1e-300)
        bags = [
            np.searchsorted(ends[:, label], rng.random(rng.poisson(mean_lengths[label])) * ends[-1, label], "right")
            for label in labels
        ]
        indptr = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
        things = np.concatenate(bags)
        rows = csr_matrix((np.ones(len(things)), things, indptr), (len(bags), len(ends)))
        rows.sum_duplicates()
        return rows if self._sparse else rows.toarray()

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


def _split(rows: Any) -> _Bags:
    """Return the counts with 0 for missing ones, and the mask of missing ones."""
    values = rows.data if issparse(rows) else rows
    known, missing = np.nan_to_num(values), np.isnan(values).astype(np.float64)
    if not issparse(rows):
        return known, missing
    zeros, ones = (csr_matrix((part, rows.indices, rows.indptr), rows.shape) for part in (known, missing))
    return zeros, ones
