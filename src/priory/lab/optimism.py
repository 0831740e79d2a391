r"""By how much the best of many looks better than it is, and how bad it can be at worst.

Of `m` models, each judged on the same `n` examples, the best has made `k` errors. Nothing is wrong with any of the `m`
numbers, but the least of them is no longer an unbiased one: it was picked for being low. Two things can be said.

**A bound.** One number is too low by chance with probability $\delta$ at most; one of `m` is with probability $m\delta$
at most, whatever they have in common (the union bound). So the exact bound of Clopper and Pearson, taken at
$(1-\text{level})/m$, holds for the best one,

$$ P(X \le k \mid n, \text{bound}) = \frac{1 - \text{level}}{m}. $$

**An estimate.** If the `m` models were independent and equally good, with error rate `p`, the errors of the best were
the least of `m` binomial numbers. One uniform `u` draws it, for $P(\min \le k) = 1 - (1 - F(k))^m$:

$$ \min = F^{-1}\bigl(1 - (1-u)^{1/m}\bigr). $$

The `p` for which this looks on average like what was seen is the error to expect; `p` less what was seen is the
optimism. Models that resemble each other are fewer than they seem, so this is the most that choosing can do on average.
For models whose errors are at hand, `optimism_of_winner` finds what it did do.

Examples in groups of near-copies count for fewer: `k` and `n` are divided by their design effect
(`priory.lab.design_effect`) in both.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainccinv
from scipy.stats import binom

from priory.lab.interval import LEVEL, Interval, lower_limit, share, upper_limit
from priory.lab.units import Units

N_DRAWS: Final = 1000
N_REPEATS: Final = 1000  #: how often a comparison is repeated on examples drawn again
_CELLS_AT_ONCE: Final = 4_000_000


def upper_bound(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> float:
    """Return the error rate that the best of several models, with k errors in n examples, does not exceed.

    >>> round(upper_bound(10, 500), 4), round(upper_bound(10, 500, n_models=10), 4)
    (0.0337, 0.0423)
    """
    return upper_limit(k, n, (1 - level) / n_models, design_effect)


def lower_bound(k: int, n: int, level: float = LEVEL, design_effect: float = 1.0) -> float:
    """Return the error rate that one model, with k errors in n examples, does not fall below."""
    return lower_limit(k, n, 1 - level, design_effect)


def hoeffding_bound(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> float:
    r"""Return the bound by Hoeffding's inequality, $k/n + \sqrt{\log(m/\delta)/2n}$, which textbooks derive.

    It is never below the exact one, and far above it where errors are rare.

    >>> round(hoeffding_bound(10, 500), 4)
    0.0747
    """
    return min(1.0, k / n + math.sqrt(math.log(n_models / (1 - level)) / (2 * n / design_effect)))


def rate_interval(rate: float, n: int, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return an error rate that was averaged or corrected, with the interval of as many errors as it makes in n."""
    exact = share(round(rate * n), n, level, design_effect)
    return Interval(rate, min(exact.low, rate), max(exact.high, rate))


def least_errors(p: float, n: int, n_models: int, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each uniform number, the errors in n examples of the best of several models with error rate p."""
    least = -np.expm1(np.log1p(-u) / n_models)
    return np.asarray(np.maximum(binom.ppf(least, n, p), 0.0))


def expected_error(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return the error rate of equally good, independent models of which the best shows k errors in n examples.

    By Monte Carlo: the rate at which the best shows k on average. The interval is exact. Where no error was seen, half
    an error stands for none: at every rate above 0 the best shows more than none on average.

    >>> best = expected_error(10, 500, n_models=10)
    >>> f"2 % as seen, {best.estimate:.1%} to be expected"
    '2 % as seen, 3.1% to be expected'
    """
    low, high = _exact_limits(k, n, n_models, level, design_effect)
    if n_models == 1 or k == n:
        return Interval(k / n, low, high)
    u, n_apart = _spread_uniforms(), max(round(n / design_effect), 1)
    target = max(k * n_apart / n, 0.5)
    found = brentq(lambda p: least_errors(p, n_apart, n_models, u).mean() - target, target / n_apart, 1.0, xtol=1e-7)
    return Interval(float(found), min(low, float(found)), max(high, float(found)))


def _exact_limits(k: int, n: int, n_models: int, level: float, design_effect: float) -> tuple[float, float]:
    """The rates at which the best shows as many as k, or as few as k, only just often enough."""
    outside = (1 - level) / 2
    many, few = -math.expm1(math.log(outside) / n_models), -math.expm1(math.log1p(-outside) / n_models)
    low = float(betainccinv(k / design_effect, (n - k) / design_effect + 1, many)) if k else 0.0
    return low, upper_limit(k, n, few, design_effect)


def _spread_uniforms(seed: int = 0) -> NDArray[np.float64]:
    """One uniform number in each of many equal parts of 0 to 1: their means scatter far less than those of as many."""
    return (np.arange(N_DRAWS) + np.random.default_rng(seed).random(N_DRAWS)) / N_DRAWS


@dataclass(frozen=True, slots=True)
class WinnerOptimism:
    """Who is best on all examples, how often on examples drawn again, and how much choosing flatters."""

    winner: int
    share_won: float
    optimism: float


def optimism_of_winner(
    errors: NDArray[np.bool_],
    groups: NDArray[np.int64] | None = None,
    *,
    n_resamples: int = N_REPEATS,
    seed: int = 0,
) -> WinnerOptimism:
    r"""Return what choosing the best of models did to its error, given the errors [example, model] of all of them.

    Examples are drawn with replacement, the model that is best on them is chosen and judged on the examples that were
    not drawn (bootstrap bias correction: Tsamardinos, Greasidou and Borboudakis 2018, "Bootstrapping the out-of-sample
    predictions for efficient and accurate cross-validation"). What is averaged is how much worse the chosen one is
    there than the winner on all examples, whose own average there is known exactly: it is its error on all. That has
    the mean of the paper's estimate and a fraction of its scatter. Groups of near-copies are drawn as a whole: else the
    copies of what was learned by choosing would be among what it is judged on.

    >>> coins = np.random.default_rng(0).random((500, 20)) < 0.1
    >>> found = optimism_of_winner(coins)
    >>> f"the best shows {coins.mean(axis=0).min():.3f}, add {found.optimism:.3f}"
    'the best shows 0.086, add 0.028'
    """
    winner = int(errors.sum(axis=0).argmin())
    units = Units.of(np.zeros(len(errors)), groups)
    sums = units.sums(errors).toarray().astype(np.float32)
    with_errors = sums.any(axis=1)
    if not with_errors.any():
        return WinnerOptimism(winner, 1.0, 0.0)
    some, sizes = sums[with_errors], np.append(units.sizes[with_errors], units.sizes[~with_errors])
    random, n = np.random.default_rng(seed), len(sizes)
    parts = [len(part) for part in np.array_split(np.arange(n_resamples), -(-n_resamples * n // _CELLS_AT_ONCE))]
    drawn = [_worse_outside(some, sizes, winner, part, random) for part in parts]
    chosen, worse = (np.concatenate(column) for column in zip(*drawn, strict=True))
    return WinnerOptimism(winner, float((chosen == winner).mean()), float(worse.mean()))


def _worse_outside(
    some: NDArray[np.float32],
    sizes: NDArray[np.intp],
    winner: int,
    n_resamples: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Who is chosen in each resample, and by how much it is worse than the winner on the groups not drawn.

    Only groups in which some model erred, `some` [group, model], are multiplied; of the others, which have the last
    `sizes`, it matters how many examples were not drawn.
    """
    n = len(sizes)
    rows = np.arange(n_resamples, dtype=np.int64)[:, None]
    cells = rows * n + random.integers(n, size=(n_resamples, n), dtype=np.int32)
    counts = np.bincount(cells.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)
    n_outside = (counts == 0) @ sizes
    mine = counts[:, : len(some)].astype(np.float32)
    chosen = (mine @ some).argmin(axis=1)
    outside = (mine == 0).astype(np.float32) @ some
    worse = outside[np.arange(n_resamples), chosen] - outside[:, winner]
    return chosen, worse / np.maximum(n_outside, 1)
