"""Means and covariances read from the scatter of rows: of each class or of all, shrunk, and with a ridge."""

from numbers import Real
from typing import Any, Final

import numpy as np

from priory.bayes.scatter import Scatter
from priory.bayes.tables import Floats

_KINDS: Final = ("full", "shared", "diagonal")


def means_and_covariances(scatter: Scatter, kind: str, shrinkage: float | str, ridge: float) -> tuple[Floats, Floats]:
    """Return means [class, column] and covariances [class, column, column], if shared [1, column, column].

    `GaussianDiscriminant` says what each setting means.
    """
    n, total = scatter.n, max(scatter.n.sum(), np.finfo(np.float64).tiny)
    mean = n @ scatter.means / total
    means = np.where(n[:, None] > 0, scatter.means, mean)
    within = scatter.scatters.sum(axis=0) / total
    of_all = within + (n[:, None] * (means - mean)).T @ (means - mean) / total
    sizes = np.where(n > 0, n, total)
    own = np.where(n[:, None, None] > 0, scatter.scatters / sizes[:, None, None], of_all)
    covariances, sizes = (within[None], np.array([total])) if kind == "shared" else (own, sizes)
    if kind == "diagonal":
        covariances = covariances * np.eye(len(mean))
    widths = np.where(np.diagonal(of_all) > 0, np.diagonal(of_all), 1.0)
    shrunk = [_shrunk(*pair, shrinkage) for pair in zip(covariances, sizes, strict=True)]
    return means, np.stack(shrunk) + np.diag(ridge * widths)


def check_covariance(kind: Any, shrinkage: Any, ridge: Any) -> None:
    """Raise if these settings make no sense."""
    if kind not in _KINDS:
        raise ValueError(f"covariance must be one of {', '.join(_KINDS)}, not {kind!r}")
    if shrinkage != "oas" and not (isinstance(shrinkage, Real) and 0 <= float(shrinkage) <= 1):
        raise ValueError(f'shrinkage must be a number from 0 to 1, or "oas", not {shrinkage!r}')
    if not isinstance(ridge, Real) or not 0 <= float(ridge) < np.inf:
        raise ValueError(f"ridge must be a number from 0 up, not {ridge!r}")


def _shrunk(covariance: Floats, n: float, shrinkage: float | str) -> Floats:
    """Drawn towards a multiple of the identity with the same trace."""
    d = len(covariance)
    mean = float(np.trace(covariance)) / d
    share = _oas(covariance, n, mean) if shrinkage == "oas" else float(shrinkage)
    return np.asarray((1 - share) * covariance + share * mean * np.eye(d), np.float64)


def _oas(covariance: Floats, n: float, mean: float) -> float:
    """The oracle approximating shrinkage: unlike Ledoit and Wolf's it needs no more than the covariance, and n."""
    squares = float(np.mean(covariance**2))
    uneven = (n + 1) * (squares - mean**2 / len(covariance))
    return 1.0 if uneven <= 0 else min((squares + mean**2) / uneven, 1.0)
