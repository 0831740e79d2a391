r"""How sure the area under a ROC curve is: DeLong's variance, which is that of an average over examples.

The area is the share of pairs, one positive and one negative, that are ranked rightly; ties count half. An example's
*placement* is its own share of right pairs. With $m$ positives of placement $V_i$ and $n$ negatives of placement $W_j$,

$$ A = \frac1m\sum_i V_i = \frac1n\sum_j W_j, \qquad \operatorname{var} A = \frac{s^2_V}{m} + \frac{s^2_W}{n}. $$

So each example moves the area by its *influence* $(V_i - A)/m$ or $(W_j - A)/n$, and the variance is the sum of their
squares (each times $m/(m-1)$ or $n/(n-1)$). Influences add: the difference of two areas on the same examples, or the
mean over classes, has the difference or mean of influences, and its variance in the same way. Where examples come in
groups, influences add up within each before they are squared (Obuchowski 1997): the variance grows by their design
effect (`priory.lab.design_effect`).

E. DeLong, D. DeLong, D. Clarke-Pearson: Comparing the areas under two or more correlated receiver operating
characteristic curves. Biometrics 44, 1988, 837-845. N. Obuchowski: Nonparametric analysis of clustered ROC curve data.
Biometrics 53, 1997, 567-578. Placements come from midranks in $O(n \log n)$: X. Sun, W. Xu: Fast
implementation of DeLong's algorithm. IEEE Signal Processing Letters 21, 2014, 1389-1393.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata

from priory.lab.design_effect import design_effect, n_groups
from priory.lab.interval import LEVEL, Interval

Floats = NDArray[np.float64]


def area_and_influences(log_odds: Floats, positive: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the area under the ROC curve and how far each example moves it; both classes must be there.

    >>> area_and_influences(np.array([-1.0, 2.0, 1.0, 3.0]), np.array([False, False, True, True]))
    (0.75, array([ 0.125, -0.125, -0.125,  0.125]))
    """
    m, n = int(positive.sum()), int((~positive).sum())
    ranks = rankdata(log_odds)
    placements = np.empty(len(log_odds))
    placements[positive] = (ranks[positive] - rankdata(log_odds[positive])) / n
    placements[~positive] = 1 - (ranks[~positive] - rankdata(log_odds[~positive])) / m
    area = float((ranks[positive].sum() - m * (m + 1) / 2) / (m * n))
    return area, (placements - area) / np.where(positive, m, n)


def variance(influences: Floats, strata: NDArray[np.generic], groups: NDArray[np.int64] | None = None) -> float:
    """Return the variance of a figure from its influences; NaN where a stratum has one example, or one group.

    >>> float(variance(np.array([0.125, -0.125, -0.125, 0.125]), np.array(["ham", "ham", "spam", "spam"])))
    0.125
    """
    _, codes, n_of = np.unique(strata, return_inverse=True, return_counts=True)
    if n_smallest(strata, groups) < 2:
        return float("nan")
    centred = influences - (np.bincount(codes, influences) / n_of)[codes]
    alone = float((np.bincount(codes, centred**2) * n_of / (n_of - 1)).sum())
    return alone * design_effect(centred * np.sqrt(n_of / (n_of - 1))[codes], groups)


def n_smallest(strata: NDArray[np.generic], groups: NDArray[np.int64] | None = None) -> int:
    """Return how many examples, or groups of them, the smallest stratum has.

    >>> n_smallest(np.array(["ham", "ham", "spam", "spam", "spam"]), np.array([1, 2, 3, 3, 3]))
    1
    """
    of = [strata == stratum for stratum in np.unique(strata)]
    return min(n_groups(None if groups is None else groups[each], int(each.sum())) for each in of)


def area_interval(area: float, variance_: float, n_smaller: int) -> Interval:
    r"""Return the interval of an area, on the scale of its log-odds, so that it stays between 0 and 1.

    Where all pairs are ranked rightly the variance is 0 and says nothing. But a class of `n_smaller` examples (or
    groups) makes as many pairs that share none, each a coin of its own: the interval is then that of so many successes
    in a row.

    >>> print(area_interval(1.0, 0.0, 10))
    1.0000 (0.6915 to 1.0000)
    """
    if n_smaller < 2:
        return Interval(area, 0.0, 1.0)
    outside = (1 - LEVEL) / 2
    if area in (0.0, 1.0):
        edge = outside ** (1 / n_smaller)
        return Interval(area, edge if area else 0.0, 1.0 if area else 1 - edge)
    margin = -ndtri(outside) * np.sqrt(variance_) / (area * (1 - area))
    return Interval(area, float(expit(logit(area) - margin)), float(expit(logit(area) + margin)))
