r"""Linear regression as a probability model: a noise, a prior, and the most probable coefficients.

$$ y_i = b + \langle x_i, \beta \rangle + \eta_i, \qquad
   \hat\beta, \hat b = \arg\max_{\beta, b} \sum_i w_i \log p(\eta_i) + \sum_j \log p(\beta_j) $$

The noise and the prior choose the method, and their scales its penalty. The intercept has a flat prior.

| noise \ prior | flat | Gaussian, $N(0, \gamma^2)$ | Laplace, $e^{-|\beta|/\tau} / 2\tau$ | both (their product) |
|---|---|---|---|---|
| Gaussian, $N(0, \sigma^2)$ | least squares | ridge, $\lambda = \sigma^2/\gamma^2$ | LASSO | elastic net |
| Laplace, $e^{-|\eta|/b} / 2b$ | least absolute deviations | the same, shrunk | the same, sparse | the same, both |

With Gaussian noise the rows enter by sums alone, which can be added and taken back. If the prior is flat or Gaussian as
well, the whole posterior is Gaussian.
"""

import math
from collections.abc import Callable
from copy import copy
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from priory.bayes.estimator import check_joinable, unfitted_copy
from priory.bayes.linear_posterior import (
    Moments,
    Posterior,
    covariance_with_intercept,
    gaussian_posterior,
    log_prior,
    noise_of_most_evidence,
    predictive_variance,
)
from priory.bayes.regression_solvers import least_deviations, sparse_coefficients
from priory.bayes.tables import Floats

Method = TypeVar("Method", bound=Callable[..., Any])
#: The values that each parameter may have.
_WORDS = {"noise": ("gaussian", "laplace"), "prior": ("flat", "gaussian", "laplace", "both")}


def _is_additive(model: "MAPRegression") -> bool:
    if model.noise == "gaussian":
        return True
    raise AttributeError(f"noise={model.noise!r} needs all rows at once: use fit, or noise='gaussian'")


def _has_posterior(model: "MAPRegression") -> bool:
    if model.noise == "gaussian" and model.prior in ("flat", "gaussian"):
        return True
    raise AttributeError(
        f"noise={model.noise!r} with prior={model.prior!r} has no closed posterior: "
        "use noise='gaussian' with prior='gaussian' or 'flat'"
    )


def _where(possible: Callable[["MAPRegression"], bool]) -> Callable[[Method], Method]:
    """Return a typed decorator for a method that exists only where the condition holds."""

    def decorate(method: Method) -> Method:
        available: Method = available_if(possible)(method)
        return available

    return decorate


class MAPRegression(RegressorMixin, BaseEstimator):
    """Linear regression by the most probable coefficients under a stated noise and prior.

    Use Laplace noise where some targets are far off: it follows the median, not the mean. Use a Gaussian prior where
    all features may matter a little, a Laplace prior where few matter at all: it sets the others to 0. Use Gaussian
    noise with a flat or Gaussian prior where the uncertainty is wanted as well.

    Parameters
    ----------
    noise : "gaussian" or "laplace"
    prior : of each coefficient: "flat", "gaussian", "laplace", or "both", the product of the last two
    noise_scale : the standard deviation σ of Gaussian noise, the b of Laplace noise. None takes the σ of most evidence,
        for Gaussian noise with a flat or Gaussian prior
    prior_scale : the standard deviation γ of a Gaussian prior, the τ of a Laplace prior; for "both" the pair (γ, τ), or
        one number for the two. A prior is about the feature's unit: scale the features, or the prior means little
    fit_intercept : whether there is an intercept; its prior is flat

    A row of weight w counts as w rows.

    Attributes
    ----------
    coef_, intercept_ : the most probable ones
    noise_scale_ : as given or estimated
    log_posterior_ : log likelihood plus log prior there, both as densities (that of a flat prior is 1); less
        `log_evidence_`, it is the log density of the posterior
    log_evidence_ : log p(y given X); inf where the prior is flat and the rows leave a coefficient open
    posterior_mean_, posterior_covariance_ : of the coefficients and then the intercept

    `partial_fit`, `forget` and `a + b` are there for Gaussian noise. The last two lines, `predict(return_std=True)`,
    `predict_interval` and `sample_coefficients` are there for Gaussian noise with a flat or Gaussian prior.

    References
    ----------
    Bishop: Pattern Recognition and Machine Learning, 2006, sections 3.3 and 3.5 (posterior and evidence). Tibshirani:
    Regression shrinkage and selection via the lasso, 1996, section 5 (the prior). Chan, Golub, LeVeque: Updating
    formulae and a pairwise algorithm for computing sample variances, 1979.

    Examples
    --------
    How long it takes to answer a mail, by its number of questions; one answer came after the holidays.

    >>> questions, hours = [[1], [2], [3], [4], [5]], [2, 4, 6, 8, 100]
    >>> MAPRegression(noise="laplace", prior="flat").fit(questions, hours).predict([[6]]).round(6).tolist()
    [12.0]
    >>> model = MAPRegression(noise_scale=2.0, prior_scale=1.0).fit(questions[:4], hours[:4])
    >>> model.coef_.round(3).tolist()  # least squares says 2; λ = 2²/1² = 4, and Σ(x - mean)² = 5: 2 · 5/(5 + 4)
    [1.111]
    >>> [bound.round(1).tolist() for bound in model.predict_interval([[6]])]
    [[2.6], [15.2]]

    """

    _moments: Moments
    _posterior: Posterior

    def __init__(
        self,
        *,
        noise: str = "gaussian",
        prior: str = "gaussian",
        noise_scale: float | None = 1.0,
        prior_scale: float | tuple[float, float] = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.noise = noise
        self.prior = prior
        self.noise_scale = noise_scale
        self.prior_scale = prior_scale
        self.fit_intercept = fit_intercept

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the most probable coefficients, by the solver for this noise and prior."""
        self._penalties()
        fitted = unfitted_copy(self)
        rows = fitted._rows(X, y, sample_weight, reset=True)
        if self.noise == "gaussian":
            fitted._read(Moments.of(*rows, bool(self.fit_intercept)))
        else:
            fitted._read_rows(*rows)
        self.__dict__ = fitted.__dict__  # last, so that an error changes nothing
        return self

    @_where(_is_additive)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn more rows; the result equals one fit to all of them."""
        if not hasattr(self, "_moments"):
            return self.fit(X, y, sample_weight)
        self._penalties()
        learned = Moments.of(*self._rows(X, y, sample_weight), bool(self.fit_intercept))
        return self._read(self._moments.plus(learned))

    @_where(_is_additive)
    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Remove rows that were learned; the result equals a fit without them."""
        check_is_fitted(self)
        self._penalties()
        forgotten = Moments.of(*self._rows(X, y, sample_weight), bool(self.fit_intercept))
        if forgotten.weight >= self._moments.weight * (1 - 1e-12):
            raise ValueError(
                f"X has rows of weight {forgotten.weight:g} to forget, and the model learned {self._moments.weight:g}: "
                "forget only what was learned, and leave something"
            )
        return self._read(self._moments.plus(forgotten, -1))

    def __add__(self, other: "MAPRegression") -> "MAPRegression":
        """Return the model of the rows of both."""
        if type(other) is not type(self):
            return NotImplemented
        _is_additive(self)
        check_joinable(self, other, "_moments")
        return copy(self)._read(self._moments.plus(other._moments))

    def __radd__(self, other: Any) -> "MAPRegression":
        """Let `sum` of models start from 0."""
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def predict(self, X: ArrayLike, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Return the expected target of each row and, on request, the standard deviation of a target drawn there."""
        check_is_fitted(self)
        table = validate_data(self, X, dtype=np.float64, reset=False)
        expected = np.asarray(table @ self.coef_ + self.intercept_)
        if not return_std:
            return expected
        _has_posterior(self)
        return expected, np.sqrt(predictive_variance(self._moments, self._covariance(), self.noise_scale_, table))

    @_where(_has_posterior)
    def predict_interval(self, X: ArrayLike, coverage: float = 0.95) -> tuple[Floats, Floats]:
        """Return the bounds between which a target falls with this probability, taking σ as known."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, not {coverage}")
        expected, deviation = self.predict(X, return_std=True)
        reach = float(ndtri((1 + coverage) / 2)) * deviation
        return expected - reach, expected + reach

    @_where(_has_posterior)
    def sample_coefficients(self, n: int = 1, random_state: Any = None) -> Floats:
        """Draw coefficients from the posterior, one row each in the order of `posterior_mean_`."""
        rng = check_random_state(random_state)
        values, vectors = np.linalg.eigh(self.posterior_covariance_)
        root = vectors * np.sqrt(np.maximum(values, 0))
        return np.asarray(self.posterior_mean_ + rng.standard_normal((n, len(root))) @ root.T)

    def log_posterior(
        self,
        X: ArrayLike,
        y: ArrayLike,
        coef: ArrayLike | None = None,
        intercept: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return log likelihood plus log prior, at the fitted coefficients or at others."""
        check_is_fitted(self)
        at = self.coef_ if coef is None else np.asarray(coef, np.float64)
        return self._log_joint(
            *self._rows(X, y, sample_weight), at, self.intercept_ if intercept is None else float(intercept)
        )

    @property
    def posterior_mean_(self) -> Floats:
        """The most probable coefficients and then the intercept: a Gaussian's mode is its mean."""
        _has_posterior(self)
        return np.append(self.coef_, [self.intercept_] * bool(self.fit_intercept))

    @property
    def posterior_covariance_(self) -> Floats:
        """The covariance of the coefficients and then the intercept."""
        _has_posterior(self)
        return covariance_with_intercept(self._moments, self._covariance(), self.noise_scale_)

    @property
    def log_evidence_(self) -> float:
        """The log density of the targets, with the coefficients integrated out."""
        _has_posterior(self)
        check_is_fitted(self)
        return self._posterior.log_evidence

    def _penalties(self) -> tuple[float, float]:
        """Return the factors of β²/2 and |β| in the negative log prior: 1/γ² and 1/τ, or 0."""
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, not {getattr(self, name)!r}")
        if self.noise_scale is None and (self.noise != "gaussian" or self.prior in ("laplace", "both")):
            raise ValueError("noise_scale must be a number unless the noise is gaussian and the prior flat or gaussian")
        scales = np.atleast_1d(np.asarray(self.prior_scale, np.float64)).tolist()
        if len(scales) != 1 and not (self.prior == "both" and len(scales) == 2):
            raise ValueError(f"prior_scale must be one number, or two for prior='both', not {self.prior_scale}")
        gamma, tau = scales[0], scales[-1]
        for name, scale in [("noise_scale", self.noise_scale), ("prior_scale", gamma), ("prior_scale", tau)]:
            if scale is not None and not 0 < scale < math.inf:
                raise ValueError(f"{name} must be above 0 and finite, not {scale}")
        ridge = 1 / gamma**2 if self.prior in ("gaussian", "both") else 0.0
        return ridge, 1 / tau if self.prior in ("laplace", "both") else 0.0

    def _rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        table, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True, reset=reset)
        weight = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        return table, np.asarray(target, np.float64), weight

    def _read(self, moments: Moments) -> Self:
        """Take over the posterior that these moments give; an error changes nothing."""
        (ridge, l1), given = self._penalties(), self.noise_scale
        sigma = noise_of_most_evidence(moments, ridge) if given is None else float(given)
        if l1:
            posterior = Posterior(sparse_coefficients(moments, sigma, ridge, l1))
        else:
            posterior = gaussian_posterior(moments, sigma, ridge)
        self._moments, self._posterior, self.noise_scale_ = moments, posterior, sigma
        self.coef_ = posterior.coef
        self.intercept_ = float(moments.mean[-1] - moments.mean[:-1] @ posterior.coef)
        self.log_posterior_ = moments.log_joint(posterior.coef, sigma, ridge, l1)
        return self

    def _read_rows(self, X: Floats, y: Floats, weight: Floats) -> None:
        """Take over the most probable coefficients for Laplace noise, which has no moments."""
        self.__dict__.pop("_moments", None)
        self.noise_scale_ = float(cast("float", self.noise_scale))
        solution = least_deviations(X, y, weight / self.noise_scale_, self._penalties(), bool(self.fit_intercept))
        self.coef_, self.intercept_ = solution[:-1], float(solution[-1])
        self.log_posterior_ = self._log_joint(X, y, weight, self.coef_, self.intercept_)

    def _covariance(self) -> Floats:
        check_is_fitted(self)
        if self._posterior.covariance is None:
            raise ValueError(
                "prior is flat and the rows do not determine every coefficient, so the posterior has no covariance: "
                "use prior='gaussian', more rows, or fewer features"
            )
        return self._posterior.covariance

    def _log_joint(self, X: Floats, y: Floats, weight: Floats, coef: Floats, intercept: float) -> float:
        (ridge, l1), scale = self._penalties(), self.noise_scale_
        rest = np.abs(y - X @ coef - intercept) / scale
        if self.noise == "gaussian":
            log_likelihood = -weight @ (rest**2 + math.log(2 * math.pi * scale**2)) / 2
        else:
            log_likelihood = -weight @ (rest + math.log(2 * scale))
        return float(log_likelihood) + log_prior(coef, ridge, l1)
