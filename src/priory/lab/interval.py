r"""A figure and how far it may be off.

A share of `k` in `n` has the exact interval of Clopper and Pearson (1934): all shares under which a result as extreme
as this one is not too improbable,

$$ \text{low} = B^{-1}_{\alpha/2}(k, n-k+1), \qquad \text{high} = B^{-1}_{1-\alpha/2}(k+1, n-k), $$

with $B^{-1}_q(a, b)$ the quantile of a beta distribution. It covers the true share at least as often as it says, for
every `n`. Whatever is no share has an interval by the bootstrap (Efron 1979): the figure is computed again and again on
examples drawn with replacement, and the middle of what comes out is the interval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import betaincinv

LEVEL: Final = 0.95
N_RESAMPLES: Final = 400


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it; NaN where nothing can be said.

    >>> print(share(2, 100))
    0.0200 (0.0024 to 0.0704)
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4f} ({self.low:.4f} to {self.high:.4f})"

    def times(self, factor: float) -> "Interval":
        """Return the same in other units, such as percent."""
        return Interval(self.estimate * factor, self.low * factor, self.high * factor)

    def as_dict(self) -> dict[str, float | None]:
        """Return plain values for JSON; what is not known is null."""
        return {"estimate": _known(self.estimate), "low": _known(self.low), "high": _known(self.high)}


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def share(k: int, n: int, level: float = LEVEL) -> Interval:
    """Return k of n with the exact interval of Clopper and Pearson; of nothing, nothing is known.

    >>> abs(share(0, 10).high - (1 - 0.025 ** (1 / 10))) < 1e-12    # none in ten then has probability 0.025
    True
    """
    if n == 0:
        return Interval(np.nan, 0.0, 1.0)
    outside = (1 - level) / 2
    low = betaincinv(k, n - k + 1, outside) if k else 0.0
    high = betaincinv(k + 1, n - k, 1 - outside) if k < n else 1.0
    return Interval(k / n, float(low), float(high))


def around(estimate: float, drawn: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Return an estimate with the middle of what was drawn for it; draws that are no number do not count.

    The interval is never without its estimate, also where draws lie on one side of it.

    >>> print(around(0.5, np.linspace(0, 1, 101)))
    0.5000 (0.0250 to 0.9750)
    """
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        return Interval(float(estimate), np.nan, np.nan)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(estimate), float(np.fmin(low, estimate)), float(np.fmax(high, estimate)))


def bootstrap(
    figure: Callable[[NDArray[np.intp]], float],
    strata: NDArray[Any],
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a figure of examples, given by their numbers, with its bootstrap interval.

    Examples are drawn with replacement within each stratum, such as the true label: then no draw lacks one. Draws on
    which the figure is not defined (NaN) do not count. A sum or mean has it faster from `resampled_sums`.

    >>> errors = np.array([0.0, 1.0] * 50)
    >>> bootstrap(lambda i: float(errors[i].mean()), np.zeros(100)).estimate
    0.5
    """
    return around(figure(np.arange(len(strata))), resampled(figure, strata, n_resamples, seed), level)


def resampled(
    figure: Callable[[NDArray[np.intp]], float], strata: NDArray[Any], n_resamples: int = N_RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return a figure of examples that are drawn with replacement within each stratum, for each draw.

    >>> resampled(len, np.array(["ham", "spam", "spam"]), n_resamples=2).tolist()
    [3.0, 3.0]
    """
    random = np.random.default_rng(seed)
    members = _members(strata)
    drawn = [
        figure(np.concatenate([random.choice(of, len(of)) for of in members]))
        for _ in range(n_resamples if members else 0)
    ]
    return np.array(drawn, np.float64)


def resampled_sums(
    values: Any, strata: NDArray[Any], *, n_resamples: int = N_RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return the sums of columns of values [example, column] over examples as `bootstrap` draws them, [draw, column].

    No example is moved: how often each was drawn is its weight. Values may be sparse (CSR).

    >>> resampled_sums(np.ones((5, 1)), np.zeros(5), n_resamples=3).tolist()
    [[5.0], [5.0], [5.0]]
    """
    random = np.random.default_rng(seed)
    members = _members(strata)
    by_column = csr_array(values).T  # a product that no threads wait for: for one column they take ten times as long
    weights = np.zeros(len(strata))
    sums = np.zeros((n_resamples, values.shape[1]))
    for draw in range(n_resamples):
        for of in members:
            weights[of] = np.bincount(random.integers(len(of), size=len(of)), minlength=len(of))
        sums[draw] = by_column @ weights
    return sums


def _members(strata: NDArray[Any]) -> list[NDArray[np.intp]]:
    return [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
