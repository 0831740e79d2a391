r"""How often something goes wrong, at most: a bound that holds at every moment at once, however often one looks.

A confidence interval is right for one look at the data. Somebody who looks every day, and acts on what is seen, needs
a confidence sequence: with probability $1 - \alpha$ it is never wrong, at no time (Robbins 1970).

Let $x_i$ be 1 if trial $i$ goes wrong, and $p_i$ its probability, given all before. The probabilities may drift, and
may depend on what happened. For a fixed rate $\mu$ from 0 to 1, each factor of

$$ M_t(\mu) = \prod_{i \le t} \frac{1 - \mu x_i}{1 - \mu p_i} $$

has the expectation 1, so $M_t$ is a martingale that starts at 1: the fortune of a gambler who bets on few failures in
a fair game. A mixture of such games with weights $w_k$ is one, too, and by Ville's inequality (1939) it reaches
$1/\alpha$ at any time at all with a probability of at most $\alpha$. The logarithm is concave, so for the average
$\bar p_t$ of the probabilities so far, $\prod (1 - \mu p_i) \le (1 - \mu \bar p_t)^t$ (Jensen). With $s$ failures so
far, the fortune is therefore at least

$$ E_t(\bar p_t) = \sum_k w_k (1 - \mu_k)^s (1 - \mu_k \bar p_t)^{-t} $$

which grows with $\bar p_t$. So with probability $1 - \alpha$, at all times, $\bar p_t$ is below the root $p$ of
$E_t(p) = 1/\alpha$. This bounds the average probability of the trials so far, not that of the next one.

Half of the weight is on $\mu = 1$, which only no failure at all survives: $n$ trials without one give 3.41 / n, where
the bound for a single look is 3.00 / n. The other rates were chosen for 1 to 1,000 failures, where the bound is 1.55 to
1.06 times that of Clopper and Pearson for a single look (docs/decisions/promise.md).

J. Ville: Étude critique de la notion de collectif. Gauthier-Villars 1939.
H. Robbins: Statistical methods related to the law of the iterated logarithm. Annals of Mathematical Statistics 41,
1970, 1397-1409.
S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon: Time-uniform, nonparametric, nonasymptotic confidence sequences.
Annals of Statistics 49, 2021, 1055-1080.
I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting. Journal of the Royal Statistical
Society B 86, 2024, 1-27.
"""

import math
from bisect import bisect_left
from typing import Final

CONFIDENCE: Final = 0.95
RATES: Final = (1.0, 0.85, 0.7, 0.5, 0.3, 0.15, 0.07)
WEIGHTS: Final = (0.5, 0.15, 0.115, 0.085, 0.065, 0.05, 0.035)
_GAMES: Final = tuple(
    (rate, math.log(weight), math.log1p(-rate) if rate < 1 else -math.inf)
    for rate, weight in zip(RATES, WEIGHTS, strict=True)
)
_STEPS: Final = 50  # halvings of an interval: to 1e-15
_MOST_TRIALS: Final = 1 << 53


def log_fortune(n_failures: int, n: int, p: float) -> float:
    """Return log E(p), the logarithm of the fortune after this many failures in n trials; p is below 1.

    >>> round(log_fortune(0, 100, 0.0), 9), round(log_fortune(0, 100, 0.01), 3)
    (0.0, 0.822)
    """
    games = [
        log_weight + (n_failures * log_rest if n_failures else 0.0) - n * math.log1p(-rate * p)
        for rate, log_weight, log_rest in _GAMES
    ]
    largest = max(games)
    return largest + math.log(math.fsum(math.exp(game - largest) for game in games))


def upper_bound(n_failures: int, n: int, confidence: float = CONFIDENCE) -> float:
    """Return a bound on the average probability of failure, which holds after any number of looks.

    >>> round(upper_bound(0, 712), 5), round(upper_bound(3, 712), 5), upper_bound(0, 0)
    (0.00479, 0.01579, 1.0)
    """
    if n_failures >= n:
        return 1.0
    enough = _log_of_enough(confidence)
    low, high = n_failures / n, 1.0
    for _ in range(_STEPS):
        p = (low + high) / 2
        if log_fortune(n_failures, n, p) < enough:
            low = p
        else:
            high = p
    return high


def most_failures(n: int, p: float, confidence: float = CONFIDENCE) -> int:
    """Return the largest number of failures in n trials for which the bound is at most p; -1 if none is small enough.

    >>> most_failures(3_400, 0.001), most_failures(3_420, 0.001), most_failures(100_000, 0.001)
    (-1, 0, 68)
    """
    enough = _log_of_enough(confidence)
    failures = range(int(n * p) + 1)
    return bisect_left(failures, True, key=lambda n_failures: log_fortune(n_failures, n, p) < enough) - 1


def fewest_trials(n_failures: int, p: float, confidence: float = CONFIDENCE) -> int:
    """Return the least number of trials with this many failures for which the bound is at most p.

    >>> fewest_trials(0, 0.001), fewest_trials(1, 0.001), fewest_trials(0, 0.01)
    (3415, 7360, 340)
    """
    enough = _log_of_enough(confidence)
    return bisect_left(range(_MOST_TRIALS), True, key=lambda n: log_fortune(n_failures, n, p) >= enough)


def _log_of_enough(confidence: float) -> float:
    """Return the logarithm of the fortune that the bound must reach, 1/α."""
    return -math.log(1 - confidence)
