r"""Optimism: how much better the best of many models looks than it is.

Of `m` models, each judged on the same `n` examples, the best has made `k` errors. Each of the `m` numbers is unbiased,
but the lowest of them is not: it was chosen for being low. There are two remedies.

**A bound.** One number is too low by chance with probability $\delta$ at most; one of `m` with probability $m\delta$ at
most, however they depend on each other (the union bound). So the exact bound of Clopper and Pearson at
$(1-\text{level})/m$ holds for the best one,

$$ P(X \le k \mid n, \text{bound}) = \frac{1 - \text{level}}{m}. $$

**An estimate.** If the `m` models were independent and equally good, with error rate `p`, the errors of the best would
be the minimum of `m` binomial numbers. One uniform `u` draws it, because $P(\min \le k) = 1 - (1 - F(k))^m$:

$$ \min = F^{-1}\bigl(1 - (1-u)^{1/m}\bigr). $$

The `p` for which the mean minimum equals the observed errors is the error to expect; its difference to the observed
rate is the optimism. Similar models count for fewer, so this is the most that choosing does on average. If the errors
of all models are known, `optimism_of_winner` estimates the actual effect.

For examples in groups of near-copies, both divide `k` and `n` by their design effect
(`priory.lab.measures.design_effect`).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainccinv
from scipy.stats import binom

from priory.lab.measures.interval import LEVEL, Interval, ResamplingUnits, lower_limit, share, upper_limit

N_DRAWS: Final = 1000
N_REPEATS: Final = 1000  #: resamples of a comparison
_CELLS_AT_ONCE: Final = 4_000_000


def upper_bound(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> float:
    """Return the upper bound of the error rate of the best of several models, with k errors in n examples.

    >>> round(upper_bound(10, 500), 4), round(upper_bound(10, 500, n_models=10), 4)
    (0.0337, 0.0423)
    """
    return upper_limit(k, n, (1 - level) / n_models, design_effect)


def lower_bound(k: int, n: int, level: float = LEVEL, design_effect: float = 1.0) -> float:
    """Return the lower bound of the error rate of one model with k errors in n examples."""
    return lower_limit(k, n, 1 - level, design_effect)


def hoeffding_bound(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> float:
    r"""Return the bound by Hoeffding's inequality, $k/n + \sqrt{\log(m/\delta)/2n}$, which textbooks derive.

    It is never below the exact bound, and far above it if errors are rare.

    >>> round(hoeffding_bound(10, 500), 4)
    0.0747
    """
    return min(1.0, k / n + math.sqrt(math.log(n_models / (1 - level)) / (2 * n / design_effect)))


def rate_interval(rate: float, n: int, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return an averaged or corrected error rate with the interval of the equivalent number of errors in n."""
    exact = share(round(rate * n), n, level, design_effect)
    return Interval(rate, min(exact.low, rate), max(exact.high, rate))


def least_errors(p: float, n: int, n_models: int, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each uniform number, the errors in n examples of the best of several models with error rate p."""
    least = -np.expm1(np.log1p(-u) / n_models)
    return np.asarray(np.maximum(binom.ppf(least, n, p), 0.0))


def expected_error(k: int, n: int, n_models: int = 1, level: float = LEVEL, design_effect: float = 1.0) -> Interval:
    """Return the error rate of equally good, independent models if the best of them shows k errors in n examples.

    It is found by Monte Carlo, as the rate at which the best shows k on average. The interval is exact. No error counts
    as half an error, because at every rate above 0 the best shows more than none on average.

    >>> best = expected_error(10, 500, n_models=10)
    >>> f"2 % as seen, {best.estimate:.1%} to be expected"
    '2 % as seen, 3.1% to be expected'
    """
    low, high = _exact_limits(k, n, n_models, level, design_effect)
    if n_models == 1 or k == n:
        return Interval(k / n, low, high)
    u, n_apart = _spread_uniforms(), max(round(n / design_effect), 1)
    target = max(k * n_apart / n, 0.5)
    rate = brentq(lambda p: least_errors(p, n_apart, n_models, u).mean() - target, target / n_apart, 1.0, xtol=1e-7)
    return Interval(float(rate), min(low, float(rate)), max(high, float(rate)))


def _exact_limits(k: int, n: int, n_models: int, level: float, design_effect: float) -> tuple[float, float]:
    """Return the rates at which the best shows k or more, or k or fewer, with half of 1 - level."""
    outside = (1 - level) / 2
    many, few = -math.expm1(math.log(outside) / n_models), -math.expm1(math.log1p(-outside) / n_models)
    low = float(betainccinv(k / design_effect, (n - k) / design_effect + 1, many)) if k else 0.0
    return low, upper_limit(k, n, few, design_effect)


def _spread_uniforms() -> NDArray[np.float64]:
    """Return one uniform number in each of many equal parts of 0 to 1, which reduces the variance of means."""
    return (np.arange(N_DRAWS) + np.random.default_rng(0).random(N_DRAWS)) / N_DRAWS


@dataclass(frozen=True, slots=True)
class WinnerOptimism:
    """The best model on all examples, the share of resamples it wins, and the optimism of choosing it."""

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
    r"""Return the effect of choosing the best model on its error, given the errors [example, model] of all.

    Examples are drawn with replacement, the model that is best on them is chosen, and judged on the examples that were
    not drawn (bootstrap bias correction: Tsamardinos, Greasidou and Borboudakis 2018, "Bootstrapping the out-of-sample
    predictions for efficient and accurate cross-validation"). The average is taken of how much worse the chosen model
    is there than the overall winner, whose own average there is its error on all examples. This has the mean of the
    paper's estimate and a fraction of its variance. Groups of near-copies are drawn as a whole, so that no copy of an
    example used for choosing is used for judging.

    >>> coins = np.random.default_rng(0).random((500, 20)) < 0.1
    >>> winner = optimism_of_winner(coins)
    >>> f"the best shows {coins.mean(axis=0).min():.3f}, add {winner.optimism:.3f}"
    'the best shows 0.086, add 0.028'
    """
    winner = int(errors.sum(axis=0).argmin())
    units = ResamplingUnits.of(np.zeros(len(errors)), groups)
    sums = units.sums(errors).toarray().astype(np.float32)
    with_errors = sums.any(axis=1)
    if not with_errors.any():
        return WinnerOptimism(winner, 1.0, 0.0)
    erring, sizes = sums[with_errors], np.append(units.sizes[with_errors], units.sizes[~with_errors])
    random, n = np.random.default_rng(seed), len(sizes)
    parts = [len(part) for part in np.array_split(np.arange(n_resamples), -(-n_resamples * n // _CELLS_AT_ONCE))]
    drawn = [_worse_outside(erring, sizes, winner, part, random) for part in parts]
    chosen, worse = (np.concatenate(column) for column in zip(*drawn, strict=True))
    return WinnerOptimism(winner, float((chosen == winner).mean()), float(worse.mean()))


def _worse_outside(
    with_errors: NDArray[np.float32],
    sizes: NDArray[np.intp],
    winner: int,
    n_resamples: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the model chosen in each resample, and how much worse it is than the winner on the groups not drawn.

    Only groups with errors, `with_errors` [group, model], are multiplied. Of the others, which have the last `sizes`,
    only the number of examples not drawn matters.
    """
    n = len(sizes)
    rows = np.arange(n_resamples, dtype=np.int64)[:, None]
    cells = rows * n + random.integers(n, size=(n_resamples, n), dtype=np.int32)
    counts = np.bincount(cells.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)
    n_outside = (counts == 0) @ sizes
    times = counts[:, : len(with_errors)].astype(np.float32)
    chosen = (times @ with_errors).argmin(axis=1)
    outside = (times == 0).astype(np.float32) @ with_errors
    worse = outside[np.arange(n_resamples), chosen] - outside[:, winner]
    return chosen, worse / np.maximum(n_outside, 1)
