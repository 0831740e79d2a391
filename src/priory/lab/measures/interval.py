r"""Intervals: an estimate, and how far it may be off.

A share of `k` in `n` has the exact interval of Clopper and Pearson (1934): all true shares under which a result as
extreme as this one is not too improbable,

$$ \text{low} = B^{-1}_{\alpha/2}(k, n-k+1), \qquad \text{high} = B^{-1}_{1-\alpha/2}(k+1, n-k), $$

with $B^{-1}_q(a, b)$ the quantile of a beta distribution. It covers the true share with at least the stated confidence,
for every `n`. For examples in groups of near-copies, `k` and `n` are divided by their design effect (Korn and Graubard
1998, `priory.lab.measures.design_effect`). Other figures have an interval by the bootstrap (Efron 1979): the figure is
computed repeatedly on examples, or whole groups, drawn with replacement, and the interval is the middle of the results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import betainccinv, betaincinv

LEVEL: Final = 0.95
N_RESAMPLES: Final = 400


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its interval; NaN if unknown.

    >>> print(share(2, 100))
    0.0200 (0.0024 to 0.0704)
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:.4f} ({self.low:.4f} to {self.high:.4f})"

    def times(self, factor: float) -> "Interval":
        """Return the interval in other units, such as percent."""
        return Interval(self.estimate * factor, self.low * factor, self.high * factor)

    def as_dict(self) -> dict[str, float | None]:
        """Return plain values for JSON; unknown values are null."""
        return {"estimate": _finite(self.estimate), "low": _finite(self.low), "high": _finite(self.high)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def share(k: int, n: int, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return k of n with the exact interval of Clopper and Pearson; without examples the estimate is NaN.

    >>> abs(share(0, 10).high - (1 - 0.025 ** (1 / 10))) < 1e-12    # then none in ten has probability 0.025
    True
    >>> print(share(20, 1000).times(100), share(20, 1000, design_effect=4).times(100))  # independent; in groups of four
    2.0000 (1.2258 to 3.0720) 2.0000 (0.6525 to 4.6054)
    """
    if n == 0:
        return Interval(np.nan, 0.0, 1.0)
    outside = (1 - level) / 2
    return Interval(k / n, lower_limit(k, n, outside, design_effect), upper_limit(k, n, outside, design_effect))


def upper_limit(k: int, n: int, outside: float, design_effect: float = 1.0) -> float:
    """Return the true share under which k of n, or fewer, have this probability."""
    return float(betainccinv(k / design_effect + 1, (n - k) / design_effect, outside)) if k < n else 1.0


def lower_limit(k: int, n: int, outside: float, design_effect: float = 1.0) -> float:
    """Return the true share under which k of n, or more, have this probability."""
    return float(betaincinv(k / design_effect, (n - k) / design_effect + 1, outside)) if k else 0.0


def interval_of_draws(estimate: float, drawn: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Return an estimate with the interval of bootstrap draws; draws that are NaN do not count.

    The interval always contains the estimate, even if all draws are on one side of it.

    >>> print(interval_of_draws(0.5, np.linspace(0, 1, 101)))
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
    """Return a figure with its bootstrap interval; `figure` receives the numbers of examples.

    Examples are drawn with replacement within each stratum, such as the true label, so that no draw lacks one. Groups
    are drawn as a whole; groups with several strata are a stratum of their own. Draws on which the figure is undefined
    (NaN) do not count. For a sum or mean, `resample_sums` is faster.

    >>> errors = np.array([0.0, 1.0] * 50)
    >>> bootstrap(lambda i: float(errors[i].mean()), np.zeros(100)).estimate
    0.5
    """
    drawn = resample(figure, strata, n_resamples, seed, groups=groups)
    return interval_of_draws(figure(np.arange(len(strata))), drawn, level)


def resample(
    figure: Callable[[NDArray[np.intp]], float],
    strata: NDArray[Any],
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    *,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the figure on each draw of examples, or of groups, with replacement within each stratum.

    >>> resample(len, np.array(["ham", "spam", "spam"]), n_resamples=2).tolist()
    [3.0, 3.0]
    """
    random = np.random.default_rng(seed)
    units = ResamplingUnits.of(strata, groups)
    drawn = [
        figure(units.examples(np.concatenate([random.choice(of, len(of)) for of in units.by_stratum])))
        for _ in range(n_resamples if units.by_stratum else 0)
    ]
    return np.array(drawn, np.float64)


def resample_sums(
    values: Any,
    strata: NDArray[Any],
    *,
    groups: NDArray[np.int64] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Return the column sums of values [example, column] on each draw of `bootstrap`, as [draw, column].

    Each example is weighted by the number of times it, or its group, was drawn. Values may be sparse (CSR).

    >>> resample_sums(np.ones((5, 1)), np.zeros(5), n_resamples=3).tolist()
    [[5.0], [5.0], [5.0]]
    """
    random = np.random.default_rng(seed)
    units = ResamplingUnits.of(strata, groups)
    by_column = units.sums(values).T  # sparse, because a dense product starts threads, which is slow for one column
    weights = np.zeros(len(units.sizes))
    sums = np.zeros((n_resamples, values.shape[1]))
    for draw in range(n_resamples):
        for of in units.by_stratum:
            weights[of] = np.bincount(random.integers(len(of), size=len(of)), minlength=len(of))
        sums[draw] = by_column @ weights
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class ResamplingUnits:
    """The units that the bootstrap draws, examples or groups of them, and the stratum of each.

    >>> units = ResamplingUnits.of(np.array(["ham", "spam", "spam", "ham", "spam"]), np.array([1, 2, 2, 3, 3]))
    >>> [numbers.tolist() for numbers in units.by_stratum]                      # ham, spam, and one with both
    [[0], [1], [2]]
    >>> units.examples(np.array([1, 1, 0])).tolist()
    [1, 2, 1, 2, 0]
    """

    in_order: NDArray[np.intp]  #: the examples of the first unit, then of the second, …
    sizes: NDArray[np.intp]
    by_stratum: list[NDArray[np.intp]]  #: the units of each stratum, and those with several strata

    @classmethod
    def of(cls, strata: NDArray[Any], groups: NDArray[np.int64] | None) -> "ResamplingUnits":
        """Return units of the examples of each group; without groups, of single examples."""
        kinds, labels = np.unique(strata, return_inverse=True)
        codes = np.arange(len(strata)) if groups is None else np.unique(groups, return_inverse=True)[1]
        sizes = np.bincount(codes)
        lowest, highest = np.full(len(sizes), len(kinds)), np.full(len(sizes), -1)
        np.minimum.at(lowest, codes, labels)
        np.maximum.at(highest, codes, labels)
        stratum = np.where(lowest == highest, lowest, len(kinds))
        members = [np.flatnonzero(stratum == kind) for kind in np.unique(stratum)]
        return cls(np.argsort(codes, kind="stable"), sizes, members)

    def examples(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the examples in these units."""
        sizes = self.sizes[units]
        before = np.cumsum(self.sizes)[units] - np.cumsum(sizes)
        return np.asarray(self.in_order[np.repeat(before, sizes) + np.arange(sizes.sum())])

    def sums(self, values: Any) -> csr_array:
        """Return the sums of values [example, column] over each unit."""
        ends = np.append(0, np.cumsum(self.sizes))
        ones = np.ones(len(self.in_order))
        return csr_array((ones, self.in_order, ends), shape=(len(self.sizes), len(ones))) @ csr_array(values)
