"""Gaussian discriminant analysis: under each class, the columns together are one bell, stretched and turned.

What was learned is kept as `Scatter`; from it covariances are read (`covariance`), and from those `Normals`.
"""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.bayes.covariance import check_covariance, means_and_covariances
from priory.bayes.generative import GenerativeMixin
from priory.bayes.logistic import log_logistic, logistic
from priory.bayes.normals import Normals
from priory.bayes.prior import Prior
from priory.bayes.reading import is_ready, read_matrix
from priory.bayes.scatter import Scatter
from priory.bayes.tables import NEVER_LEARNED, Floats, Labels
from priory.kernels import log_posterior, posterior


class GaussianDiscriminant(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""A Bayes classifier for columns of real numbers that depend on each other: a multivariate Gaussian per class.

    $$ \log p(x, c) = \log p(c) - \tfrac12 \log |2\pi\Sigma_c|
       - \tfrac12 (x - \mu_c)^\top \Sigma_c^{-1} (x - \mu_c) $$

    $\mu_c$ is the mean and $\Sigma_c = S_c / n_c$ the covariance (maximum likelihood, $1/n$) of the rows of class $c$.
    With `covariance="full"` every class has its own, and boundaries are quadratic; with `"shared"` all have
    $\sum_c S_c / n$, boundaries are linear (linear discriminant analysis), and far fewer numbers are to be learned;
    with `"diagonal"` columns are independent, as in `GaussianNB`. Missing values (NaN) are summed out of a prediction,
    which for Gaussians is exact; to learn from, rows must be complete.

    Shrinkage $s$ puts $(1 - s)\Sigma + s \tfrac{\operatorname{tr}\Sigma}{d} I$ in place of $\Sigma$: for few rows and
    many columns (of comparable size: standardise them first). `"oas"` chooses $s$ by the formula of Chen and others.
    Then the share `ridge` of each column's variance over all rows is added to the diagonal, so that constant columns,
    columns that follow from others, and classes of few rows do no harm. A class without rows is like all together.

    `explain` gives for each column its term given the columns before it: $\log p(x_j \mid x_1, \dots, x_{j-1}, c)$.

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
        found: Floats = self._parameters().covariances
        of_kind: dict[str, Floats] = {
            "full": found,
            "shared": found[0],
            "diagonal": np.diagonal(found, axis1=1, axis2=2),
        }
        return of_kind[self.covariance]

    @property
    def coef_(self) -> Floats:
        """What one unit of a column adds to the log-odds, as in scikit-learn: [class, column], of two [1, column]."""
        linear = self._linear()
        return linear if len(linear) > 2 else linear[1:] - linear[:1]

    @property
    def intercept_(self) -> Floats:
        """The log-odds at zero, as in scikit-learn: [class], of two [1]."""
        heights: Floats = self.class_log_prior_ - 0.5 * (self._linear() * self.means_).sum(axis=1)
        return heights if len(heights) > 2 else heights[1:] - heights[:1]

    def _linear(self) -> Floats:
        if self.covariance != "shared":
            raise AttributeError(f'only covariance="shared" is linear, not {self.covariance!r}')
        inverse = self._parameters().inverses[0]
        return np.asarray(self.means_ @ inverse.T @ inverse)

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class given x); of a shared covariance without what is common to all classes: that cancels."""
        found = self._discriminants(X)
        return logistic(found) if self._are_log_odds(found) else posterior(found, self.class_log_prior_)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log p(class given x), as `predict_proba` does."""
        found = self._discriminants(X)
        return log_logistic(found) if self._are_log_odds(found) else log_posterior(found, self.class_log_prior_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equals the first."""
        found = self._discriminants(X)
        if self._are_log_odds(found):
            best = (found[:, 0] > 0).astype(np.intp)
        else:
            best = (found if np.isfinite(found).all() else posterior(found, self.class_log_prior_)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _discriminants(self, X: Any) -> Floats:
        """log p(x, class), [row, class]; if the covariance is shared, without what is common to all classes.

        Of two classes that share it the log-odds, [row, 1]. If they are finite, X is: it need not be looked at twice.
        """
        check_is_fitted(self, "classes_")
        if self.covariance == "shared":
            rows = X if is_ready(self, X) else self._known_rows(X)
            found: Floats = self._parameters().discriminants(rows, self.class_log_prior_)
            if np.isfinite(found).all():  # then no value is missing, or too large, and no class has the prior 0
                return found
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
            left = before.joined(added)
        if not np.isfinite(left.scatters).all():
            raise ValueError("X has a value so large that its square is no number: scale the column down")
        if (weights < 0).any() and not before.has_learned(added):
            raise ValueError(NEVER_LEARNED)
        self.scatter_.replace(classes, left)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.scatter_ = self.scatter_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.scatter_ = self.scatter_.joined(other.scatter_)

    def _estimate(self) -> Normals:
        means, covariances = means_and_covariances(self.scatter_, self.covariance, self.shrinkage, self.ridge)
        each = [f"class {label!r}" for label in self.classes_.tolist()]
        return Normals.of(means, covariances, ("all classes",) if self.covariance == "shared" else tuple(each))

    def _log_likelihood(self, rows: Floats) -> Floats:
        normals, missing = self._parameters(), np.isnan(rows)
        if not missing.any():
            return np.asarray(normals.log_densities(rows))
        found = np.zeros((len(rows), len(self.classes_)))
        patterns, place = np.unique(missing, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            alike = place.ravel() == i
            found[alike] = normals.on(~pattern).log_densities(rows[alike][:, ~pattern])
        return found

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
