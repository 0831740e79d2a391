"""Naive Bayes on numbers of events: under each class, each column is a Poisson count with its own rate."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.estimator import check_alpha
from priory.bayes.input import read_matrix
from priory.bayes.missing_values import MaskedRows, MissingValuesMixin
from priory.bayes.prior import Prior
from priory.bayes.tables import RESIDUE, SLACK, Floats, Labels, log_shares, weighted_logs

_LOG_FACTORIALS: Final[Floats] = gammaln(np.arange(1024) + 1.0)


class PoissonNB(MissingValuesMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for independent counts, such as links, recipients and exclamation marks in a message.

    $$ \log p(x, c) = \log p(c) + \sum_j \bigl(x_j \log \lambda_{cj} - \lambda_{cj} - \log x_j!\bigr), \qquad
       \lambda_{cj} = \frac{s_{cj} + \alpha\bar\lambda_j}{n_{cj} + \alpha}, \quad
       \bar\lambda_j = \frac{s_j + \alpha}{n_j + \alpha} $$

    The counts of column $j$ in the $n_{cj}$ rows of class $c$ where it is known sum to $s_{cj}$; $n_j$ and $s_j$ are
    sums over all classes. So each class gets $\alpha$ extra rows with the mean rate of all rows, and all rows together
    get $\alpha$ extra rows with one count each. This is the posterior mean of a rate whose prior is a Gamma
    distribution with shape $\alpha\bar\lambda_j$ and rate $\alpha$. A missing value (NaN) is summed out: it adds
    nothing and is counted nowhere. Rows may be dense or sparse (CSR).

    Use it where every column is a count of its own and zero is evidence too. `MultinomialNB` only compares the shares
    of things, whatever their total: that is better for words of texts of any length.

    Parameters: `alpha`, the weight of the prior in rows (0 is maximum likelihood: an event never seen is impossible);
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

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted") -> None:
        self.alpha = alpha
        self.prior = prior

    @property
    def rates_(self) -> Floats:
        """The mean count of each column, [class, feature]."""
        return np.asarray(self._parameters()[0].T)

    def _rows(self, X: Any, *, reset: bool) -> MaskedRows:
        check_alpha(self.alpha)
        rows = MaskedRows.of(read_matrix(self, X, reset=reset, sparse=True, missing=True))
        if rows.numbers.min(initial=0.0) < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X): counts start at 0")
        return rows

    def _bounded(self, label: int) -> Floats:
        return self.missing_count_[:, label]

    def _is_possible(self, rows: MaskedRows, labels: Labels, weights: Floats) -> bool:
        """Also tell whether columns that are known in no remaining row have no count left, up to rounding."""
        if not super()._is_possible(rows, labels, weights):
            return False
        for label, n_left, n_before in self._left(labels, weights):
            missing = self.missing_count_[:, label] if len(self.missing_count_) else np.zeros(1)
            gone = n_left - missing <= RESIDUE * n_before
            if gone.any():
                left, taken = self.feature_count_[:, label], rows.values.T @ np.abs(weights * (labels == label))
                rounding = np.where(left == np.rint(left), 0.0, SLACK * np.maximum(taken, n_before))
                if (gone & (left > rounding)).any():
                    return False
        return True

    def _estimate(self) -> tuple[Floats, Floats]:
        """Return the rates [feature, class] and their logarithms."""
        known = self._n_known()
        log_mean = log_shares(self.feature_count_.sum(axis=1), known.sum(axis=1), 1, self.alpha)[:, None]
        pseudo = self.alpha if self.alpha > 0 else np.where(known > 0, 0.0, 1.0)  # for 0/0 take the mean of all classes
        rates = (self.feature_count_ + pseudo * np.exp(log_mean)) / (known + pseudo)
        with np.errstate(divide="ignore"):
            return rates, np.log(rates)

    def _log_likelihood(self, rows: MaskedRows) -> Floats:
        rates, logs = self._parameters()
        log_likelihood = weighted_logs(rows.values, logs) - rates.sum(axis=0) - _log_orders(rows.values)
        return np.asarray(log_likelihood if rows.gaps is None else log_likelihood + rows.gaps @ rates, np.float64)

    def _terms(self, rows: MaskedRows) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        rates, logs = self._parameters()

        def terms(counts: Floats) -> Floats:
            with np.errstate(invalid="ignore"):
                happened = np.where(counts[:, None] > 0, counts[:, None] * logs, 0.0)
            return np.asarray(happened - rates - _log_factorials(counts)[:, None])

        return self._row_terms(rows, terms)

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        rates = self.rates_
        return self._stack(rng.poisson(rates[label]).astype(np.float64) for label in labels)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _log_orders(counts: Any) -> Floats:
    """Return Σ log x! of each row, as a column."""
    if not issparse(counts):
        return np.asarray(_log_factorials(counts).sum(axis=1, keepdims=True), np.float64)
    logs = csr_matrix((_log_factorials(counts.data), counts.indices, counts.indptr), counts.shape)
    return np.asarray(logs.sum(axis=1), np.float64).reshape(-1, 1)


def _log_factorials(counts: Floats) -> Floats:
    """Return log x!, from a table if all counts are small and whole, which takes a seventh of the time."""
    if counts.size and counts.max() < len(_LOG_FACTORIALS):
        whole = counts.astype(np.intp)
        if np.array_equal(whole, counts):
            return np.asarray(_LOG_FACTORIALS[whole])
    return np.asarray(gammaln(counts + 1), np.float64)
