r"""A figure and how far it may be off.

A share of `k` in `n` has the exact interval of Clopper and Pearson (1934): all shares under which a result as extreme
as this one is not too improbable,

$$ \text{low} = B^{-1}_{\alpha/2}(k, n-k+1), \qquad \text{high} = B^{-1}_{1-\alpha/2}(k+1, n-k), $$

with $B^{-1}_q(a, b)$ the quantile of a beta distribution. It covers the true share at least as often as it says, for
every `n`. Examples that come in groups of near-copies count for fewer: `k` and `n` are both divided by their design
effect (Korn and Graubard 1998, `priory.lab.design_effect`). Whatever is no share has an interval by the bootstrap
(Efron 1979): the figure is computed again and again on examples, or whole groups, drawn with replacement, and the
middle of what comes out is the interval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from priory.lab.units import Units

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


def percent(share: float) -> str:
    """Return a share in words.

    >>> percent(0.0235)
    '2.35 %'
    """
    return f"{100 * share:.2f} %"


def share(k: int, n: int, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return k of n with the exact interval of Clopper and Pearson; of nothing, nothing is known.

    >>> abs(share(0, 10).high - (1 - 0.025 ** (1 / 10))) < 1e-12    # none in ten then has probability 0.025
    True
    >>> print(share(20, 1000).times(100), share(20, 1000, design_effect=4).times(100))  # one by one; in fours
    2.0000 (1.2258 to 3.0720) 2.0000 (0.6525 to 4.6054)
    """
    if n == 0:
        return Interval(np.nan, 0.0, 1.0)
    outside = (1 - level) / 2
    return Interval(k / n, lower_limit(k, n, outside, design_effect), upper_limit(k, n, outside, design_effect))


def upper_limit(k: int, n: int, outside: float, design_effect: float = 1.0) -> float:
    """Return the share under which k of n, or fewer, have this probability."""
    return float(betainccinv(k / design_effect + 1, (n - k) / design_effect, outside)) if k < n else 1.0


def lower_limit(k: int, n: int, outside: float, design_effect: float = 1.0) -> float:
    """Return the share under which k of n, or more, have this probability."""
    return float(betaincinv(k / design_effect, (n - k) / design_effect + 1, outside)) if k else 0.0


def middle_of(estimate: float, drawn: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Return an estimate with the middle of what was drawn for it; draws that are no number do not count.

    The interval is never without its estimate, also where draws lie on one side of it.

    >>> print(middle_of(0.5, np.linspace(0, 1, 101)))
    0.5000 (0.0250 to 0.9750)
    """
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        return Interval(float(estimate), np.nan, np.nan)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(estimate), float(np.fmin(low, estimate)), float(np.fmax(high, estimate)))


def bootstrap(  # noqa: PLR0913 - all but the first two have a default that fits
    figure: Callable[[NDArray[np.intp]], float],
    strata: NDArray[Any],
    *,
    groups: NDArray[np.int64] | None = None,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return a figure of examples, given by their numbers, with its bootstrap interval.

    Examples are drawn with replacement within each stratum, such as the true label: then no draw lacks one. Where there
    are groups, these are drawn as a whole; those that are of several strata are a stratum of their own. Draws on which
    the figure is not defined (NaN) do not count. A sum or mean has it faster from `resampled_sums`.

    >>> errors = np.array([0.0, 1.0] * 50)
    >>> bootstrap(lambda i: float(errors[i].mean()), np.zeros(100)).estimate
    0.5
    """
    drawn = resampled(figure, strata, n_resamples, seed, groups=groups)
    return middle_of(figure(np.arange(len(strata))), drawn, level)


def resampled(
    figure: Callable[[NDArray[np.intp]], float],
    strata: NDArray[Any],
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    *,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return a figure of examples, or groups of them, that are drawn with replacement within each stratum, by draw.

    >>> resampled(len, np.array(["ham", "spam", "spam"]), n_resamples=2).tolist()
    [3.0, 3.0]
    """
    random = np.random.default_rng(seed)
    units = Units.of(strata, groups)
    drawn = [
        figure(units.examples(np.concatenate([random.choice(of, len(of)) for of in units.by_stratum])))
        for _ in range(n_resamples if units.by_stratum else 0)
    ]
    return np.array(drawn, np.float64)


def resampled_sums(
    values: Any,
    strata: NDArray[Any],
    *,
    groups: NDArray[np.int64] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the sums of columns of values [example, column] over examples as `bootstrap` draws them, [draw, column].

    No example is moved: how often each, or its group, was drawn is its weight. Values may be sparse (CSR).

    >>> resampled_sums(np.ones((5, 1)), np.zeros(5), n_resamples=3).tolist()
    [[5.0], [5.0], [5.0]]
    """
    random = np.random.default_rng(seed)
    units = Units.of(strata, groups)
    by_column = units.sums(values).T  # sparse: a product that no threads wait for, which take long for one column
    weights = np.zeros(len(units.sizes))
    sums = np.zeros((n_resamples, values.shape[1]))
    for draw in range(n_resamples):
        for of in units.by_stratum:
            weights[of] = np.bincount(random.integers(len(of), size=len(of)), minlength=len(of))
        sums[draw] = by_column @ weights
    return sums
