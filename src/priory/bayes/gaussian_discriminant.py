"""Gaussian discriminant analysis: under each class, the columns together have a multivariate Gaussian.

The learned state is a `Scatter`; `means_and_covariances` reads covariances from it, and `Normals` the densities.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import is_ready, read_matrix
from priory.bayes.kernels import log_posterior, posterior
from priory.bayes.multivariate_gaussian import Normals, Scatter, check_covariance, means_and_covariances
from priory.bayes.prior import Prior
from priory.bayes.tables import NEVER_LEARNED, Floats, Labels


class GaussianDiscriminant(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""A Bayes classifier for real columns that depend on each other: a multivariate Gaussian per class.

    $$ \log p(x, c) = \log p(c) - \tfrac12 \log |2\pi\Sigma_c|
       - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) $$

    $\mu_c$ is the mean and $\Sigma_c = S_c / n_c$ the covariance (maximum likelihood, $1/n$) of the rows of class $c$.
    With `covariance="full"` every class has its own, and boundaries are quadratic. With `"shared"` all classes have
    $\sum_c S_c / n$, boundaries are linear (linear discriminant analysis), and there are far fewer numbers to learn.
    With `"diagonal"` columns are independent, as in `GaussianNB`. Missing values (NaN) are summed out of a prediction,
    which for Gaussians is exact; rows to learn from must be complete.

    Shrinkage $s$ replaces $\Sigma$ by $(1 - s)\Sigma + s \tfrac{\operatorname{tr}\Sigma}{d} I$, for few rows and many
    columns (of comparable scale: standardise them first). `"oas"` chooses $s$ by the formula of Chen and others. Then
    `ridge` times each column's variance over all rows is added to the diagonal, so that constant columns, columns that
    follow from others and classes of few rows do no harm. A class without rows gets the Gaussian of all rows.

    `explain` gives each column its term given the columns before it: $\log p(x_j \mid x_1, \dots, x_{j-1}, c)$.

    Parameters: `covariance`, `shrinkage` (0 to 1, or "oas") and `ridge`, as above; `prior`, "fitted", "smoothed",
    "uniform", or probabilities.

    Attributes: `classes_`, `class_count_`; `means_` [class, column]; `covariances_`, full [class, column, column],
    shared [column, column], diagonal [class, column]; if shared, `coef_` and `intercept_` of the linear log-odds.

    >>> mail = [[2, 21], [4, 39], [5, 52], [3, 70], [5, 88], [6, 113]]        # kilobytes, links: more links per size
    >>> model = GaussianDiscriminant(covariance="shared").fit(mail, ["ham"] * 3 + ["spam"] * 3)
    >>> model.predict([[5, 50], [2, 55], [float("nan"), 100]]).tolist()
    ['ham', 'spam', 'spam']

    T. F. Chan, G. H. Golub, R. J. LeVeque: Algorithms for computing the sample variance. American Statistician 37
    (1983), 242-247. Y. Chen, A. Wiesel, Y. C. Eldar, A. O. Hero: Shrinkage algorithms for MMSE covariance estimation.
    IEEE Transactions on Signal Processing 58 (2010), 5016-5029, equation 23.
    """

    scatter_: Scatter

    def __init__(
        self,
        *,
        covariance: str = "full",
        shrinkage: float | str = 0.0,
        ridge: float = 1e-9,
        prior: Prior = "fitted",
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.ridge = ridge
        self.prior = prior

    @property
    def means_(self) -> Floats:
        """The mean of each column, [class, column]."""
        return np.asarray(self._parameters().means)

    @property
    def covariances_(self) -> Floats:
        """The covariance of the columns, of each class or of all."""
        covariances: Floats = self._parameters().covariances
        of_kind: dict[str, Floats] = {
            "full": covariances,
            "shared": covariances[0],
            "diagonal": np.diagonal(covariances, axis1=1, axis2=2),
        }
        return of_kind[self.covariance]

    @property
    def coef_(self) -> Floats:
        """The change of the log-odds per unit of a column, as in scikit-learn: [class, column], of two [1, column]."""
        linear = self._linear()
        return linear if len(linear) > 2 else linear[1:] - linear[:1]

    @property
    def intercept_(self) -> Floats:
        """The log-odds at zero, as in scikit-learn: [class]; two classes: [1]."""
        heights: Floats = self.class_log_prior_ - 0.5 * (self._linear() * self.means_).sum(axis=1)
        return heights if len(heights) > 2 else heights[1:] - heights[:1]

    def _linear(self) -> Floats:
        if self.covariance != "shared":
            raise AttributeError(f'only covariance="shared" is linear, not {self.covariance!r}')
        inverse = self._parameters().inverses[0]
        return np.asarray(self.means_ @ inverse.T @ inverse)

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class given x); with a shared covariance, the part common to all classes is not computed."""
        discriminants = self._discriminants(X)
        return (
            logistic(discriminants)
            if self._are_log_odds(discriminants)
            else posterior(discriminants, self.class_log_prior_)
        )

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class given x), as `predict_proba` does."""
        discriminants = self._discriminants(X)
        return (
            log_logistic(discriminants)
            if self._are_log_odds(discriminants)
            else log_posterior(discriminants, self.class_log_prior_)
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; the first of equals."""
        discriminants = self._discriminants(X)
        if self._are_log_odds(discriminants):
            best = (discriminants[:, 0] > 0).astype(np.intp)
        else:
            best = (
                discriminants if np.isfinite(discriminants).all() else posterior(discriminants, self.class_log_prior_)
            ).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _discriminants(self, X: Any) -> Floats:
        """Return log p(x, class), [row, class]; with a shared covariance, without the part common to all classes.

        Two classes that share it have the log-odds, [row, 1]. Finite results imply a finite X, so it is not checked
        twice.
        """
        check_is_fitted(self, "classes_")
        if self.covariance == "shared":
            rows = X if is_ready(self, X) else self._known_rows(X)
            discriminants: Floats = self._parameters().discriminants(rows, self.class_log_prior_)
            if np.isfinite(discriminants).all():  # then no value is missing or too large, and no class has the prior 0
                return discriminants
        return self._joint(self._known_rows(X))

    def _are_log_odds(self, discriminants: Floats) -> bool:
        return bool(discriminants.shape[1] < len(self.classes_))

    def _rows(self, X: Any, *, reset: bool) -> Floats:
        check_covariance(self.covariance, self.shrinkage, self.ridge)
        return np.asarray(read_matrix(self, X, reset=reset, missing=True))

    def _start(self, rows: Floats, n_classes: int) -> None:
        self.scatter_ = Scatter.of_nothing(n_classes, rows.shape[1])

    def _add(self, rows: Floats, labels: Labels, weights: Floats) -> None:
        if np.isnan(rows).any():
            raise ValueError("X has NaN: a row with a value missing cannot be learned. Impute it, or leave the row out")
        counted = weights != 0
        if not counted.all():
            rows, labels, weights = rows[counted], labels[counted], weights[counted]
        classes = np.unique(labels)
        before = self.scatter_.part(classes)
        with np.errstate(over="ignore", invalid="ignore"):
            added = Scatter.of(rows, labels, weights, classes)
            left = before.plus(added)
        if not np.isfinite(left.scatters).all():
            raise ValueError("X has a value whose square overflows: scale the column down")
        if (weights < 0).any() and not before.has_learned(added):
            raise ValueError(NEVER_LEARNED)
        self.scatter_.replace(classes, left)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.scatter_ = self.scatter_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.scatter_ = self.scatter_.plus(other.scatter_)

    def _estimate(self) -> Normals:
        means, covariances = means_and_covariances(self.scatter_, self.covariance, self.shrinkage, self.ridge)
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        return Normals.of(means, covariances, ("all classes",) if self.covariance == "shared" else tuple(names))

    def _log_likelihood(self, rows: Floats) -> Floats:
        normals, missing = self._parameters(), np.isnan(rows)
        if not missing.any():
            return np.asarray(normals.log_densities(rows))
        log_densities = np.zeros((len(rows), len(self.classes_)))
        patterns, place = np.unique(missing, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            alike = place.ravel() == i
            log_densities[alike] = normals.on(~pattern).log_densities(rows[alike][:, ~pattern])
        return log_densities

    def _terms(self, rows: Floats) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        normals = self._parameters()
        for row in rows:
            known = ~np.isnan(row)
            terms = np.zeros((len(row), len(self.classes_)))
            terms[known] = (normals if known.all() else normals.on(known)).terms(row[known])
            yield np.arange(len(row)), terms, np.zeros(len(self.classes_))

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Floats:
        normals = self._parameters()
        rows = rng.standard_normal((len(labels), self.means_.shape[1]))
        for k in np.unique(labels):
            factor = normals.factors[min(k, len(normals.factors) - 1)]
            rows[labels == k] = normals.means[k] + rows[labels == k] @ factor.T
        return rows


def logistic(log_odds: Floats) -> Floats:
    """Return 1 / (1 + exp(±log-odds)) of log-odds [row, 1], for the first class and the second: [row, 2].

    Both are exact to rounding, however small. 100,000 rows take 0.4 ms; `priory.bayes.kernels.posterior`, which takes
    any number of classes and infinite rows, needs 1.6 ms.

    >>> logistic(np.log([[3.0]])).tolist()
    [[0.25, 0.75]]
    """
    probabilities = np.hstack([log_odds, -log_odds])
    with np.errstate(over="ignore"):
        np.exp(probabilities, out=probabilities)
    probabilities += 1
    return np.asarray(np.reciprocal(probabilities, out=probabilities))


def log_logistic(log_odds: Floats) -> Floats:
    """Return the logarithms of the same probabilities, which stay finite where the probabilities are zero.

    >>> log_logistic(np.array([[1000.0]])).tolist()
    [[-1000.0, 0.0]]
    """
    rest = np.log(1 + np.exp(-np.abs(log_odds)))
    return np.asarray(np.minimum(np.hstack([-log_odds, log_odds]), 0) - rest)
