r"""Bounds on the Bayes error from examples, as the error itself cannot be observed.

From above: no classifier is better than the best possible one, so the error of any, on examples it has not learned, is
a bound. From both sides: with infinitely many examples the nearest neighbour has the class of an independent draw from
$p(y \mid x)$, so its error $R$ is, for $K$ classes (Cover and Hart 1967),

$$ R^* \le R \le R^* \Big( 2 - \frac{K}{K-1} R^* \Big), \qquad\text{so}\qquad
   \frac{K-1}{K} \Big( 1 - \sqrt{1 - \tfrac{K}{K-1} R} \Big) \le R^* \le R . $$

The lower bound holds *in the limit only*. With a few thousand examples and many features the nearest one is far away, R
exceeds its limit, and the "lower bound" may lie above the truth. More examples, or a better distance, lower it: read it
as "no evidence so far that the error can be lower".

Reference: T. Cover and P. Hart, Nearest neighbor pattern classification, IEEE Transactions on Information Theory 13
(1967) 21-27.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priory.bayes import NearestNeighbours
from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import LEVEL, Interval, share
from priory.lab.predictions import Predictions
from priory.lab.trust.optimism import upper_bound


@dataclass(frozen=True, slots=True)
class NeighbourBounds:
    """Bounds from the error of the nearest neighbour, which is the upper bound.

    >>> print(neighbour_bounds(18, 100, n_classes=2))
    Bayes error between 0.1000 (0.0586 to 0.1605) and 0.1800 (0.1103 to 0.2695), if 100 examples were infinitely many
    """

    lower: Interval
    upper: Interval
    n_examples: int

    def __str__(self) -> str:
        return f"Bayes error between {self.lower} and {self.upper}, if {self.n_examples} examples were infinitely many"


@dataclass(frozen=True, slots=True)
class ClassifierBound:
    """The best of several classifiers: the Bayes error is at most `high`, at the confidence level."""

    best: int  #: its index
    error: Interval  #: of the best alone
    high: float  #: holds for all classifiers at once, so that choosing the best does not matter


def from_neighbours(X: Any, y: ArrayLike, *, metric: str = "euclidean", level: float = LEVEL) -> NeighbourBounds:
    """Return the bounds of Cover and Hart from the error of each example's nearest other example.

    `metric` is one of `NearestNeighbours`; rows may be sparse. Scale the columns first: only distances count here. The
    intervals assume independent errors, which is nearly true.

    >>> sizes = [[1.0], [1.1], [1.2], [5.0], [5.1], [5.3]]                       # kilobytes
    >>> from_neighbours(sizes, ["ham", "ham", "spam", "spam", "spam", "spam"]).upper.estimate == 2 / 6
    True
    """
    labels = np.asarray(y)
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise LabError(f"the {len(labels)} examples have {n_classes} classes: the Bayes error needs at least two")
    model = NearestNeighbours(k=1, metric=metric).fit(X, labels)
    places = model.kneighbors(X, k=2, return_distance=False)
    others = np.where(places[:, 0] == np.arange(len(labels)), places[:, 1], places[:, 0])
    return neighbour_bounds(int((labels[others] != labels).sum()), len(labels), n_classes, level=level)


def neighbour_bounds(n_errors: int, n_examples: int, n_classes: int, *, level: float = LEVEL) -> NeighbourBounds:
    """Return the bounds from the number of examples whose nearest other example is of another class."""
    error = share(n_errors, n_examples, level)
    ends = (least_error(end, n_classes) for end in (error.estimate, error.low, error.high))
    return NeighbourBounds(Interval(*ends), error, n_examples)


def least_error(neighbour_error: float, n_classes: int) -> float:
    """Return the lowest Bayes error that permits this error of the nearest neighbour; at most that of guessing.

    >>> round(least_error(0.18, 2), 12), least_error(0.9, 2)
    (0.1, 0.5)
    """
    guessing = (n_classes - 1) / n_classes
    return float(guessing * (1 - np.sqrt(max(1 - neighbour_error / guessing, 0.0))))


def from_classifiers(runs: Sequence[Predictions], *, level: float = LEVEL) -> ClassifierBound:
    """Return the bound given by the best of several classifiers, from their predictions of the same test examples.

    Each of m classifiers has its one-sided exact limit at level 1 - (1 - level) / m, so that all hold at once and the
    lowest of them bounds the Bayes error, although it was chosen afterwards.

    >>> truth = ["ham"] * 50 + ["spam"] * 50
    >>> good = Predictions.of(["ham", "spam"], truth, [[0.9, 0.1]] * 48 + [[0.2, 0.8]] * 52)
    >>> poor = Predictions.of(["ham", "spam"], truth, [[0.6, 0.4]] * 100)
    >>> bound = from_classifiers([poor, good])
    >>> bound.best, bound.error.estimate, round(bound.high, 3)
    (1, 0.02, 0.07)
    """
    if not runs or not all(len(run) for run in runs):
        raise LabError(
            "there are no predictions to bound the Bayes error by: give the predictions of at least one classifier"
        )
    looks = [(int(run.errors.sum()), len(run), design_effect(run.errors, run.groups)) for run in runs]
    highs = [upper_bound(k, n, len(runs), level, effect) for k, n, effect in looks]
    best = int(np.argmin(highs))
    k, n, effect = looks[best]
    return ClassifierBound(best, share(k, n, level, effect), highs[best])
