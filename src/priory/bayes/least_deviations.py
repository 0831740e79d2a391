r"""The line of least absolute deviations, shrunk by a prior: linear regression with Laplace noise.

$$ \min_{\beta, b} \; \sum_i \frac{w_i}{s} \, |y_i - b - \langle x_i, \beta \rangle|
   + \frac{\rho}{2} |\beta|_2^2 + \ell \, |\beta|_1 $$

Without $\rho$ this is a linear programme, quantile regression at the median, which scikit-learn has. With it, it is
a quadratic one.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import QuantileRegressor

from priory.bayes.interior_point import cleared, interior_point

Floats = NDArray[np.float64]


def least_deviations(X: Floats, y: Floats, cost: Floats, penalties: tuple[float, float], centred: bool) -> Floats:
    """Coefficients and then the intercept; the costs are w/s, the penalties ρ and ℓ."""
    ridge, l1 = penalties
    if ridge:
        kept = cost > 0
        return _shrunk(X[kept], y[kept], cost[kept], penalties, centred)
    # scikit-learn's objective is Σ cost |r| / 2 Σ cost + alpha |β|.
    model = QuantileRegressor(quantile=0.5, alpha=l1 / (2 * cost.sum()), fit_intercept=centred)
    model.fit(X, y, cost / cost.mean())
    return np.append(model.coef_, model.intercept_)


def _shrunk(X: Floats, y: Floats, cost: Floats, penalties: tuple[float, float], centred: bool) -> Floats:
    """The same by the interior-point method; a penalty ℓ |β| is one more row: target 0, feature j alone."""
    (ridge, l1), total, (n, d) = penalties, cost.sum(), X.shape
    x_mean, y_mean = (cost @ X / total, cost @ y / total) if centred else (np.zeros(d), 0.0)
    x_size, y_size = np.sqrt(cost @ (X - x_mean) ** 2 / total), float(cost @ np.abs(y - y_mean) / total) or 1.0
    unit, total = y_size / np.where(x_size > 0, x_size, 1), total * y_size  # numbers of size 1
    rows = np.column_stack([(X - x_mean) * unit, np.full(n, y_size)])[:, : d + centred] / y_size
    target, cost = (y - y_mean) / y_size, cost * y_size / total
    if l1:
        rows, target = np.vstack([rows, np.eye(d, d + centred)]), np.append(target, np.zeros(d))
        cost = np.append(cost, l1 * unit / total)
    quadratic = np.diag(np.append(ridge * unit**2 / total, np.zeros(int(centred))))
    solution, price = interior_point(rows, target, cost, quadratic, np.zeros(d + centred))
    coef = (cleared(solution[:d], price[n:] / cost[n:]) if l1 else solution[:d]) * unit
    return np.append(coef, y_mean - x_mean @ coef + (solution[d] * y_size if centred else 0.0))
