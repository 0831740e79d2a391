r"""Ranking: ROC and precision-recall curves, and the area under the ROC curve, independent of any threshold.

At a threshold $t$, examples with log-odds of $t$ or more are predicted to be of the class. The ROC curve is the true
positive rate over the false positive rate for every $t$, from (0, 0), where no example is predicted, to (1, 1), where
all are. The diagonal is guessing. The area is the probability that a random example of the class ranks above a random
other one. Only the order counts: examples are ranked first, so infinite log-odds are the first and last ranks.

The area is the share of pairs, one positive and one negative, that are ranked correctly; ties count half. An example's
*placement* is its own share of correct pairs. With $m$ positives of placement $V_i$ and $n$ negatives of placement
$W_j$, DeLong's variance is

$$ A = \frac1m\sum_i V_i = \frac1n\sum_j W_j, \qquad \operatorname{var} A = \frac{s^2_V}{m} + \frac{s^2_W}{n}. $$

Each example moves the area by its *influence* $(V_i - A)/m$ or $(W_j - A)/n$, and the variance is the sum of their
squares (each times $m/(m-1)$ or $n/(n-1)$). The difference of two areas on the same examples, or the mean over classes,
has the difference or mean of the influences, and its variance follows in the same way. For examples in groups,
influences are added within each group before they are squared (Obuchowski 1997): the variance grows by their design
effect (`priory.lab.measures.design_effect`).

E. DeLong, D. DeLong, D. Clarke-Pearson: Comparing the areas under two or more correlated receiver operating
characteristic curves. Biometrics 44, 1988, 837-845. N. Obuchowski: Nonparametric analysis of clustered ROC curve data.
Biometrics 53, 1997, 567-578. Placements come from midranks in $O(n \log n)$: X. Sun, W. Xu: Fast
implementation of DeLong's algorithm. IEEE Signal Processing Letters 21, 2014, 1389-1393.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata
from sklearn.metrics import precision_recall_curve, roc_curve

from priory.lab.measures.design_effect import design_effect, n_groups
from priory.lab.measures.interval import LEVEL, Interval
from priory.lab.predictions import Predictions, require_both

Floats = NDArray[np.float64]


PIXELS: Final = 800  # of the longer side of a plot


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Points of a curve, and their thresholds in log-odds.

    Where no example is predicted the threshold is inf, beyond every example, including those with infinite log-odds.
    """

    x: Floats
    y: Floats
    thresholds: Floats


def roc(predictions: Predictions, about: int = 1) -> Curve:
    """Return the ROC curve: x is the false positive rate, y the true positive rate.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [1.0, 0.0]])
    >>> curve = roc(seen)
    >>> curve.x.tolist(), curve.y.tolist()
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0])
    """
    levels, ranks, positive = _rank(predictions, about)
    x, y, thresholds = roc_curve(positive, ranks)
    return Curve(x, y, np.append(np.inf, levels[thresholds[1:].astype(np.intp)]))


def precision_recall(predictions: Predictions, about: int = 1) -> Curve:
    """Return the precision-recall curve: x is the recall, y the precision.

    It begins where all examples are predicted, with the precision of guessing. It ends where none is, with recall 0
    and, by convention, precision 1.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    >>> curve = precision_recall(seen)
    >>> curve.x.tolist(), curve.y.round(3).tolist()
    ([1.0, 1.0, 0.5, 0.0], [0.667, 1.0, 1.0, 1.0])
    """
    levels, ranks, positive = _rank(predictions, about)
    precision, recall, thresholds = precision_recall_curve(positive, ranks)
    return Curve(recall, precision, np.append(levels[thresholds.astype(np.intp)], np.inf))


def auc(predictions: Predictions, about: int = 1) -> Interval:
    """Return the area under the ROC curve of one class against the rest, with DeLong's interval.

    >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 3 + ["spam"] * 2, [[1 - p, p] for p in (0, 0.2, 0.8, 0.7, 1)])
    >>> print(auc(seen))
    0.8333 (0.1523 to 0.9929)
    """
    require_both(predictions, about)
    positive = predictions.truth == about
    area, influences = area_and_influences(predictions.log_odds(about), positive)
    spread = variance(influences, positive, predictions.groups)
    return area_interval(area, spread, n_smallest(positive, predictions.groups))


def macro_auc(predictions: Predictions) -> Interval:
    """Return the mean over all classes of the area of each class against the rest.

    >>> seen = Predictions.of("abc", "abcabc", [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]] * 2)
    >>> macro_auc(seen).estimate
    1.0
    """
    for about in range(predictions.n_classes):
        require_both(predictions, about)
    by_class = [
        area_and_influences(predictions.log_odds(about), predictions.truth == about)
        for about in range(predictions.n_classes)
    ]
    areas, influences = zip(*by_class, strict=True)
    spread = variance(np.mean(influences, axis=0), predictions.truth, predictions.groups)
    return area_interval(float(np.mean(areas)), spread, n_smallest(predictions.truth, predictions.groups))


def _rank(predictions: Predictions, about: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
    """Return the distinct log-odds in increasing order, the rank of each example among them, and if it is positive."""
    require_both(predictions, about)
    levels, ranks = np.unique(predictions.log_odds(about), return_inverse=True)
    return levels, ranks, predictions.truth == about


def area_and_influences(log_odds: Floats, positive: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the area under the ROC curve and the influence of each example; both classes must occur.

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
    """Return the variance of a figure from its influences; NaN if a stratum has one example or group only.

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
    """Return the number of examples, or groups, in the smallest stratum.

    >>> n_smallest(np.array(["ham", "ham", "spam", "spam", "spam"]), np.array([1, 2, 3, 3, 3]))
    1
    """
    of = [strata == stratum for stratum in np.unique(strata)]
    return min(n_groups(None if groups is None else groups[members], int(members.sum())) for members in of)


def area_interval(area: float, variance_: float, n_smaller: int) -> Interval:
    r"""Return the interval of an area, on the scale of its log-odds, so that it stays between 0 and 1.

    If all pairs are ranked correctly the variance is 0 and says nothing. But `n_smaller` examples (or groups) of the
    smaller class form as many independent pairs: the interval is then that of as many successes in a row.

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


def thin_curve(curve: Curve, n_decades: int = 6, pixels: int = PIXELS) -> Curve:
    """Remove the points of a curve that a plot cannot distinguish from their neighbours.

    With `n_decades`, points that a logarithmic axis of this length distinguishes stay, too.

    >>> many = np.linspace(0, 1, 100_000)
    >>> len(thin_curve(Curve(many, many, many)).x) < 5_000
    True
    """
    keep = visible_points(curve.x, curve.y, n_decades, pixels)
    return Curve(curve.x[keep], curve.y[keep], curve.thresholds[keep])


def visible_points(x: NDArray[np.float64], y: NDArray[np.float64], n_decades: int, pixels: int) -> NDArray[np.intp]:
    """Return the points, given as shares, before and after each step to another pixel."""
    sides = [x, y] if n_decades == 0 else [x, y, np.log10(np.maximum(x, 10.0**-n_decades)) / n_decades]
    cells = np.rint(np.column_stack(sides) * pixels)
    steps = np.flatnonzero((np.diff(cells, axis=0) != 0).any(axis=1))
    return np.unique(np.concatenate([[0], steps, steps + 1, [len(x) - 1]])).astype(np.intp)
