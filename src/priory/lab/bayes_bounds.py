r"""What examples tell about the error that no classifier can avoid: bounds, for the Bayes error itself cannot be seen.

From above: no classifier is better than the best possible one, so the error of any, on examples it had not learned, is
a bound. From both sides: with endless examples the nearest neighbour is of the class that an independent draw from
$p(y \mid x)$ would give, so its error $R$ is, for $K$ classes (Cover and Hart 1967),

$$ R^* \le R \le R^* \Big( 2 - \frac{K}{K-1} R^* \Big), \qquad\text{hence}\qquad
   \frac{K-1}{K} \Big( 1 - \sqrt{1 - \tfrac{K}{K-1} R} \Big) \le R^* \le R . $$

The lower bound holds *in the limit only*. With a few thousand examples and many features the nearest one is far away, R
is larger than its limit, and the "lower bound" may lie above the truth. More examples, or a better distance, lower it:
read it as "nothing seen so far says that the error can be less".

Reference: T. Cover and P. Hart, Nearest neighbor pattern classification, IEEE Transactions on Information Theory 13
(1967) 21-27.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priory.bayes import NearestNeighbours
from priory.lab.design_effect import design_effect
from priory.lab.error import LabError
from priory.lab.interval import LEVEL, Interval, share
from priory.lab.optimism import upper_bound
from priory.lab.predictions import Predictions


@dataclass(frozen=True, slots=True)
class NeighbourBounds:
    """The error of the nearest neighbour, which bounds the Bayes error from above, and what follows from it below.

    >>> print(neighbour_bounds(18, 100, n_classes=2))
    Bayes error between 0.1000 (0.0586 to 0.1605) and 0.1800 (0.1103 to 0.2695), if 100 examples were endless many
    """

    lower: Interval
    upper: Interval
    n_examples: int

    def __str__(self) -> str:
        return f"Bayes error between {self.lower} and {self.upper}, if {self.n_examples} examples were endless many"


@dataclass(frozen=True, slots=True)
class ClassifierBound:
    """The best of some classifiers: the Bayes error is at most `high`, with the confidence asked for."""

    best: int  #: its place among those given
    error: Interval  #: of the best, by itself
    high: float  #: holds for all classifiers at once, so that having chosen the best of them does not matter


def from_neighbours(X: Any, y: ArrayLike, *, metric: str = "euclidean", level: float = LEVEL) -> NeighbourBounds:
    """Return the bounds of Cover and Hart from the error of each example's nearest other example.

    `metric` is one of `NearestNeighbours`; rows may be sparse. Scale the columns first: distance is all that counts
    here. The intervals take the examples' errors for independent, which they nearly are.

    >>> sizes = [[1.0], [1.1], [1.2], [5.0], [5.1], [5.3]]                       # kilobytes
    >>> from_neighbours(sizes, ["ham", "ham", "spam", "spam", "spam", "spam"]).upper.estimate == 2 / 6
    True
    """
    labels = np.asarray(y)
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise LabError(f"the {len(labels)} examples have {n_classes} classes: the Bayes error is about two or more")
    model = NearestNeighbours(k=1, metric=metric).fit(X, labels)
    places = model.kneighbors(X, k=2, return_distance=False)
    others = np.where(places[:, 0] == np.arange(len(labels)), places[:, 1], places[:, 0])
    return neighbour_bounds(int((labels[others] != labels).sum()), len(labels), n_classes, level=level)


def neighbour_bounds(n_errors: int, n_examples: int, n_classes: int, *, level: float = LEVEL) -> NeighbourBounds:
    """Return the bounds from the number of examples whose nearest other example is of another class."""
    found = share(n_errors, n_examples, level)
    ends = (least_error(end, n_classes) for end in (found.estimate, found.low, found.high))
    return NeighbourBounds(Interval(*ends), found, n_examples)


def least_error(neighbour_error: float, n_classes: int) -> float:
    """Return the Bayes error below which the nearest neighbour cannot err so often; guessing at most.

    >>> round(least_error(0.18, 2), 12), least_error(0.9, 2)
    (0.1, 0.5)
    """
    guessing = (n_classes - 1) / n_classes
    return float(guessing * (1 - np.sqrt(max(1 - neighbour_error / guessing, 0.0))))


def from_classifiers(runs: Sequence[Predictions], *, level: float = LEVEL) -> ClassifierBound:
    """Return the bound that the best of some classifiers gives, from what each said about the same test examples.

    Each of m classifiers has its one-sided exact limit at level 1 - (1 - level) / m, so that all hold at once and the
    least of them bounds the Bayes error, though the best was chosen after looking.

    >>> truth = ["ham"] * 50 + ["spam"] * 50
    >>> good = Predictions.of(["ham", "spam"], truth, [[0.9, 0.1]] * 48 + [[0.2, 0.8]] * 52)
    >>> poor = Predictions.of(["ham", "spam"], truth, [[0.6, 0.4]] * 100)
    >>> bound = from_classifiers([poor, good])
    >>> bound.best, bound.error.estimate, round(bound.high, 3)
    (1, 0.02, 0.07)
    """
    if not runs or not all(len(run) for run in runs):
        raise LabError("the Bayes error is bounded by classifiers that were tested: give predictions of one or more")
    looks = [(int(run.errors.sum()), len(run), design_effect(run.errors, run.groups)) for run in runs]
    highs = [upper_bound(k, n, len(runs), level, effect) for k, n, effect in looks]
    best = int(np.argmin(highs))
    k, n, effect = looks[best]
    return ClassifierBound(best, share(k, n, level, effect), highs[best])
