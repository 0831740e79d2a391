r"""Confident learning: another method to find labels that look wrong, for comparison.

An example labelled $i$ is counted as truly $j$ if the classifier is as sure of $j$ as it is, on average, of the
examples labelled $j$:

$$ t_j = \frac{1}{n_j} \sum_{k: y_k = j} p(j \mid x_k), \qquad
   \hat z = \arg\max_{j:\, p(j \mid x) \ge t_j} p(j \mid x) . $$

If $\hat z$ exists and is not the label, the label is suspected; suspects are ranked by the margin between the label's
probability and that of $\hat z$. There are no parameters and no model of slips. It does not say how probable a slip is,
nor when to stop.

C. Northcutt, L. Jiang, I. Chuang: Confident learning: estimating uncertainty in dataset labels. Journal of
Artificial Intelligence Research 70, 2021, 1373-1411.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priory.lab.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class ConfidentLearning:
    """Suspected labels, the worst first, and the counts [label, counted as]."""

    order: NDArray[np.int64]
    counts: NDArray[np.int64]


def confident_learning(predictions: Predictions) -> ConfidentLearning:
    """Return the suspected labels, from predictions about examples that the classifier had not learned.

    >>> probabilities = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]]
    >>> result = confident_learning(Predictions.of(["ham", "spam"], ["ham"] * 3 + ["spam"] * 3, probabilities))
    >>> result.order.tolist(), result.counts.tolist()
    ([5], [[2, 0], [1, 2]])
    """
    p, truth, n_classes = predictions.probabilities, predictions.truth, predictions.n_classes
    present = np.bincount(truth, minlength=n_classes)
    own = p[np.arange(len(truth)), truth]
    thresholds = np.bincount(truth, own, n_classes) / np.maximum(present, 1)
    sure = (p >= thresholds - 1e-12) & (present > 0)
    counted = np.where(sure, predictions.log_probabilities, -np.inf).argmax(axis=1)
    known = sure.any(axis=1)
    counts = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(counts, (truth[known], counted[known]), 1)
    suspected = np.flatnonzero(known & (counted != truth))
    logs = predictions.log_probabilities[suspected]
    best = logs[np.arange(len(suspected)), counted[suspected]]
    margins = logs[np.arange(len(suspected)), truth[suspected]] - best
    return ConfidentLearning(suspected[np.lexsort((margins, own[suspected] - np.exp(best)))], counts)
