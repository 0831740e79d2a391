r"""The linear model with Gaussian noise: sums of the rows, and the Gaussian posterior that follows from them.

With weight $W$, means and scatter $S$ (sums of products of deviations from the mean) of the rows $[x, y]$,

$$ \beta \mid y \sim N\big(C S_{xy} / \sigma^2,\; C\big), \qquad C^{-1} = S_{xx} / \sigma^2 + I / \gamma^2 $$

and given $\beta$ the intercept is Gaussian about $\bar y - \langle \bar x, \beta \rangle$ with variance $\sigma^2 / W$
(Bishop: Pattern Recognition and Machine Learning, 2006, equations 3.50 to 3.54 and 3.86). Priors enter by two numbers:
$-\log p(\beta)$ grows with `ridge` $\beta^2 / 2$ and `l1` $|\beta|$.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erfcx

from priory.bayes.tables import NEVER_LEARNED, SLACK, Floats


def log_prior(coef: Floats, ridge: float, l1: float) -> float:
    """Return the log density that falls with ridge β²/2 + l1 |β|; 0 for the flat prior."""
    if ridge:
        constant = -math.log(math.sqrt(2 * math.pi / ridge) * erfcx(l1 / math.sqrt(2 * ridge)))
    else:
        constant = math.log(l1 / 2) if l1 else 0.0
    return float(len(coef) * constant - ridge * coef @ coef / 2 - l1 * np.abs(coef).sum())


@dataclass(frozen=True, slots=True)
class Moments:
    """Weight, mean and scatter of the rows [x, y]: the sufficient statistics of Gaussian noise."""

    weight: float
    mean: Floats
    scatter: Floats
    centred: bool  #: whether the scatter is about the mean; without an intercept it is about 0

    @classmethod
    def of(cls, X: Floats, y: Floats, weight: Floats, centred: bool) -> Self:
        """Return the moments of rows with these weights."""
        rows, weight = np.column_stack([X, y])[weight > 0], weight[weight > 0]
        mean = weight @ rows / weight.sum() if centred else np.zeros(rows.shape[1])
        apart = np.where(np.ptp(rows, axis=0) > 0, rows - mean, 0.0) if centred else rows  # exact 0 if constant
        return cls(float(weight.sum()), mean, (apart.T * weight) @ apart, centred)

    def plus(self, other: "Moments", sign: int = 1) -> "Moments":
        """Return the moments of both sets of rows, or with sign -1 of these rows without the others."""
        weight = self.weight + sign * other.weight
        apart = other.mean - self.mean
        share = sign * other.weight / weight
        scatter = self.scatter + sign * other.scatter + share * self.weight * np.outer(apart, apart)
        if sign < 0 and not self._can_leave(scatter):
            raise ValueError(NEVER_LEARNED)
        rounding = np.diag(scatter) <= 1e-12 * np.diag(self.scatter)  # the residue of a column that was removed
        scatter[rounding, :] = scatter[:, rounding] = 0
        return Moments(weight, self.mean + share * apart, scatter, self.centred)

    def _can_leave(self, scatter: Floats) -> bool:
        """Tell whether the rest is a valid scatter: no combination of columns has a negative variance."""
        sizes = np.sqrt(np.diag(self.scatter))
        scales = 1 / np.where(sizes > 0, sizes, 1.0)
        return bool(np.linalg.eigvalsh(scatter * np.outer(scales, scales)).min() > -SLACK)

    def precision(self, sigma: float, ridge: float) -> tuple[Floats, Floats]:
        """Return the matrix P and vector q of the negative log posterior, βᵀPβ/2 - qᵀβ plus a constant."""
        d = len(self.mean) - 1
        return self.scatter[:d, :d] / sigma**2 + ridge * np.eye(d), self.scatter[:d, d] / sigma**2

    def log_joint(self, coef: Floats, sigma: float, ridge: float, l1: float) -> float:
        """Return log likelihood plus log prior, with the best intercept."""
        signed = np.append(coef, -1.0)
        misfit = max(float(signed @ self.scatter @ signed), 0.0) / sigma**2
        log_likelihood = -(self.weight * math.log(2 * math.pi * sigma**2) + misfit) / 2
        return log_likelihood + log_prior(coef, ridge, l1)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The mode of the coefficients, their covariance if known, and the log evidence."""

    coef: Floats
    covariance: Floats | None = None
    log_evidence: float = math.inf


def covariance_with_intercept(moments: Moments, covariance: Floats, sigma: float) -> Floats:
    """Return the covariance of the coefficients and then the intercept, if there is one."""
    if not moments.centred:
        return covariance
    with_mean = covariance @ moments.mean[:-1]
    of_intercept = sigma**2 / moments.weight + moments.mean[:-1] @ with_mean
    return np.block([[covariance, -with_mean[:, None]], [-with_mean[None, :], np.array([[of_intercept]])]])


def predictive_variance(moments: Moments, covariance: Floats, sigma: float, X: Floats) -> Floats:
    """Return the variance of a target drawn at each row: that of the line there, plus the noise."""
    apart = X - moments.mean[:-1]
    of_mean = 1 / moments.weight if moments.centred else 0.0
    return np.asarray(np.einsum("ij,jk,ik->i", apart, covariance, apart) + sigma**2 * (1 + of_mean))


def gaussian_posterior(moments: Moments, sigma: float, ridge: float) -> Posterior:
    """The posterior under a Gaussian prior, or the flat one if ridge is 0; without covariance if rows leave it open.

    The precision is scaled to a unit diagonal first, so columns may have very different units.
    """
    precision, pull = moments.precision(sigma, ridge)
    d, diagonal = len(pull), np.diag(precision)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))
    values, vectors = np.linalg.eigh(precision * np.outer(scale, scale))
    if values[0] <= d * np.finfo(float).eps * values[-1]:
        return Posterior(np.asarray(np.linalg.lstsq(precision, pull)[0], np.float64))
    root = scale[:, None] * vectors / np.sqrt(values)
    coef = root @ (root.T @ pull)
    log_volume = np.log(scale).sum() - np.log(values).sum() / 2 + (d + moments.centred) * math.log(2 * math.pi) / 2
    log_volume += math.log(sigma**2 / moments.weight) / 2 if moments.centred else 0
    return Posterior(coef, root @ root.T, moments.log_joint(coef, sigma, ridge, 0) + float(log_volume))


def noise_of_most_evidence(moments: Moments, ridge: float) -> float:
    """Return the σ of greatest evidence; for a flat prior its square is Σr²/(n - number of coefficients)."""
    n_coefficients = moments.centred + (0 if ridge else len(moments.mean) - 1)
    size = math.sqrt(moments.scatter[-1, -1] / moments.weight)
    grid = math.log(size or 1) + np.linspace(-16, 2, 37)

    def negative(log_sigma: float) -> float:
        return -gaussian_posterior(moments, math.exp(log_sigma), ridge).log_evidence

    best = int(np.argmin([negative(log_sigma) for log_sigma in grid]))
    if moments.weight <= n_coefficients or size == 0 or best in (0, len(grid) - 1):
        raise ValueError(
            "noise_scale=None has nothing to go by: the coefficients can fit the targets exactly; "
            "give a noise_scale, or more rows"
        )
    optimum = minimize_scalar(negative, bounds=grid[[best - 1, best + 1]], method="bounded", options={"xatol": 1e-9})
    return math.exp(optimum.x)
