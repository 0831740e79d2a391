"""Naive Bayes on measurements: under each class, each column is a Gaussian with its own mean and variance."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from numbers import Real
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.estimator import check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import read_matrix
from priory.bayes.moments import add_moments, log_densities, means_and_variances, moments
from priory.bayes.prior import Prior
from priory.bayes.tables import NEVER_LEARNED, ROUNDING, Floats, Labels, are_within, settle

_NARROWEST: Final = float(np.finfo(np.float64).tiny)  #: a variance so small that every value but the mean is impossible


@dataclass(frozen=True)
class _Gaussians:
    """Means and variances, [class, column]."""

    means: Floats
    variances: Floats

    @cached_property
    def constants(self) -> Floats:
        """Means, precisions and logarithms of the peaks, [3, class, column]."""
        peaks = -0.5 * np.log(2 * np.pi * self.variances)
        return np.ascontiguousarray(np.stack([self.means, 1 / self.variances, peaks]))


class GaussianNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for columns of real numbers, each a Gaussian under each class.

    $$ \log p(x, c) = \log p(c) - \frac12 \sum_j \Bigl(\log 2\pi\sigma_{cj}^2
       + \frac{(x_j - \mu_{cj})^2}{\sigma_{cj}^2}\Bigr), \qquad
       \mu_{cj} = \frac1{n_{cj}} \sum_i x_{ij}, \quad
       \sigma_{cj}^2 = \frac{\sum_i (x_{ij} - \mu_{cj})^2 + \alpha \sigma_j^2}{n_{cj} + \alpha} + \varepsilon $$

    The sums are over the $n_{cj}$ rows of class $c$ whose column $j$ is known; missing values (NaN) are summed out.
    Each class gets $\alpha$ extra rows that vary as the column does over all classes, $\sigma_j^2$. With 0, the
    default, the variance is that of maximum likelihood, and a class whose few values are nearly equal is estimated far
    too narrow; 1 is a good start for tables of many kinds of columns. $\varepsilon$ is `var_smoothing` times the
    largest variance of a column over all rows, so that a column which is constant under a class keeps some width. A
    column never known under a class has the Gaussian of all classes together. Use it for measurements around a centre;
    for several modes, long tails or many zeros see `HistogramNB`, for columns that depend on each other
    `GaussianDiscriminant`.

    The sums are kept with 159 bits: rows can be learned in any order and forgotten, outliers too, without a trace.

    Parameters: `alpha`, as above; `prior`, "fitted", "smoothed", "uniform", or probabilities; `var_smoothing`, as above
    (with 0, and no alpha, any value different from a constant column is impossible).

    Attributes: `classes_`, `class_count_` [class]; `theta_` and `var_` [class, column], means and variances;
    `moments_`, the sums behind them.

    >>> mail = [[2.0, 0.01], [3.0, 0.02], [9.0, 0.40], [8.0, 0.30]]     # kilobytes, share of capitals
    >>> model = GaussianNB().fit(mail, ["ham", "ham", "spam", "spam"])
    >>> model.theta_.round(9).tolist()
    [[2.5, 0.015], [8.5, 0.35]]
    >>> model.predict([[2.6, 0.02], [9.0, float("nan")]]).tolist()
    ['ham', 'spam']
    >>> outlier = [[1e10, 0.5]], ["ham"]
    >>> model.partial_fit(*outlier).forget(*outlier).theta_.round(9).tolist()
    [[2.5, 0.015], [8.5, 0.35]]
    """

    _statistics: ClassVar = ("moments_",)
    moments_: Floats

    def __init__(self, *, alpha: float = 0.0, prior: Prior = "fitted", var_smoothing: float = 1e-9) -> None:
        self.alpha = alpha
        self.prior = prior
        self.var_smoothing = var_smoothing

    @property
    def theta_(self) -> Floats:
        """The mean of each column, [class, column]."""
        return np.asarray(self._parameters().means)

    @property
    def var_(self) -> Floats:
        """The variance of each column, [class, column]."""
        return np.asarray(self._parameters().variances)

    def _rows(self, X: Any, *, reset: bool) -> Floats:
        check_alpha(self.alpha)
        _check_smoothing(self.var_smoothing)
        return np.ascontiguousarray(read_matrix(self, X, reset=reset, missing=True))

    def _start(self, rows: Floats, n_classes: int) -> None:
        self.moments_ = np.zeros((9, rows.shape[1], n_classes))

    def _add(self, rows: Floats, labels: Labels, weights: Floats) -> None:
        counted = weights != 0
        if not counted.all():
            rows, labels, weights = rows[counted], labels[counted], weights[counted]
        added = moments(rows, labels, weights, len(self.classes_))
        if not np.isfinite(added).all():
            raise ValueError("X has a value whose square overflows: scale the column down")
        left = add_moments(self.moments_, added)
        self.moments_ = (
            _checked(left, added, self._n_rows(labels, weights), self.class_count_) if (weights < 0).any() else left
        )

    def _join(self, other: Self) -> None:
        self.moments_ = add_moments(self.moments_, other.moments_)

    def _estimate(self) -> "_Gaussians":
        of_all = reduce(
            add_moments, (np.ascontiguousarray(part[..., None]) for part in np.moveaxis(self.moments_, -1, 0))
        )
        mean, variance = means_and_variances(of_all)
        unknown = np.isnan(variance)
        largest = variance.max(where=~unknown, initial=0.0) or 1.0
        mean, variance = np.where(unknown, 0.0, mean), np.where(unknown, largest, variance)
        means, variances = means_and_variances(self.moments_)
        missing, n = np.isnan(means), np.maximum(self.moments_[0], np.finfo(float).tiny)
        means, variances = np.where(missing, mean, means), np.where(missing, variance, variances)
        variances = (n * variances + self.alpha * variance) / (n + self.alpha)
        variances = np.maximum(variances, 0.0) + float(self.var_smoothing) * largest
        return _Gaussians(means.T, np.maximum(variances, _NARROWEST).T)

    def _log_likelihood(self, rows: Floats) -> Floats:
        return log_densities(rows, self._parameters().constants)

    def _terms(self, rows: Floats) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        means, precisions, peaks = self._parameters().constants.swapaxes(1, 2)
        for row in rows:
            with np.errstate(over="ignore"):
                terms = peaks - 0.5 * (row[:, None] - means) ** 2 * precisions
            terms[np.isnan(row)] = 0.0
            yield np.arange(len(row)), terms, np.zeros(len(self.classes_))

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Floats:
        return rng.normal(self.theta_[labels], np.sqrt(self.var_[labels]))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _checked(left: Floats, added: Floats, n_rows: Floats, n_before: Floats) -> Floats:
    """Return the moments after subtracting rows; raise ValueError if the rows cannot have been learned.

    Where no weight is left, no sum may be left; elsewhere no variance may be negative.
    """
    _, variances = means_and_variances(left)
    gone = settle(left[0] - added[0], left[0]) == 0
    most = ROUNDING * (np.abs(left[6]) + np.abs(added[6]))  # bound on the rounding of a sum of squares, [column, class]
    strange = gone & (np.abs(left[3]) > ROUNDING * np.sqrt(np.abs(added[6] * added[0])))
    strange |= np.where(gone, np.abs(left[6]) > most, variances * left[0] < -most)
    if strange.any() or not are_within(left[0], n_rows, n_before):
        raise ValueError(NEVER_LEARNED)
    return np.where(gone, 0.0, left)


def _check_smoothing(var_smoothing: Any) -> None:
    if not isinstance(var_smoothing, Real) or not 0 <= float(var_smoothing) < np.inf:
        raise ValueError(f"var_smoothing must be a number from 0 up, not {var_smoothing!r}")
