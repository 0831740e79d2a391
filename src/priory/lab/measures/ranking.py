r"""How well examples are ranked, whatever threshold is set afterwards: ROC and precision-recall curves, and the area.

At a threshold $t$ an example is said to be of the class when its log-odds are $t$ or more. The ROC curve is the true
positive rate over the false positive rate for every $t$: from (0, 0), nothing is said to be it, to (1, 1), everything
is. The diagonal is guessing. The area below it is the probability that a random example of the class ranks above a
random other one. Only the order counts: any growing transform of the log-odds gives the same curves. So examples are
ranked first, and infinite log-odds, such as those of a random forest that is certain, are the first and last ranks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

from priory.lab.interval import Interval
from priory.lab.measures.placements import Floats, area_and_influences, area_interval, n_smallest, variance
from priory.lab.measures.presence import require_both
from priory.lab.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Points of a curve, and the log-odds from which on an example is said to be of the class.

    Where nothing is said to be of it the threshold is inf, which means beyond every example, also beyond those that
    are certain.
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
    levels, ranks, positive = _ranked(predictions, about)
    x, y, thresholds = roc_curve(positive, ranks)
    return Curve(x, y, np.append(np.inf, levels[thresholds[1:].astype(np.intp)]))


def precision_recall(predictions: Predictions, about: int = 1) -> Curve:
    """Return the precision-recall curve: x is the recall, y the precision.

    It begins where everything is said to be of the class: the precision there is that of guessing. It ends where
    nothing is, with recall 0 and, by convention, precision 1.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    >>> curve = precision_recall(seen)
    >>> curve.x.tolist(), curve.y.round(3).tolist()
    ([1.0, 1.0, 0.5, 0.0], [0.667, 1.0, 1.0, 1.0])
    """
    levels, ranks, positive = _ranked(predictions, about)
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
    """Return the mean over all classes of the area of each against the rest.

    >>> seen = Predictions.of("abc", "abcabc", [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]] * 2)
    >>> macro_auc(seen).estimate
    1.0
    """
    for about in range(predictions.n_classes):
        require_both(predictions, about)
    each = [
        area_and_influences(predictions.log_odds(about), predictions.truth == about)
        for about in range(predictions.n_classes)
    ]
    areas, influences = zip(*each, strict=True)
    spread = variance(np.mean(influences, axis=0), predictions.truth, predictions.groups)
    return area_interval(float(np.mean(areas)), spread, n_smallest(predictions.truth, predictions.groups))


def _ranked(predictions: Predictions, about: int) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
    """Return the different log-odds in growing order, which of them each example has, and whether it is positive."""
    require_both(predictions, about)
    levels, ranks = np.unique(predictions.log_odds(about), return_inverse=True)
    return levels, ranks, predictions.truth == about
