r"""No free lunch: averaged over all possible worlds, every classifier is as good as guessing.

The examples are the corners of a cube, $2^d$ rows of yes-no features, each with one of $K$ labels. Some corners are
seen, the others are not. Of all $K^{2^d}$ labellings, those that agree on the seen corners teach a classifier the same,
and among them each unseen corner has each label equally often. So whatever it predicts for the unseen ones, its average
error there is (Wolpert 1996)

$$ \frac{K - 1}{K} $$

exactly, and every labelling on which it does well has counterparts on which it does as much worse. The assumption is
that all labellings are equally probable. If similar rows tend to have similar labels, some classifiers are better than
others: `Lunch.average(odds)` weights labellings by their smoothness.

Reference: D. Wolpert, The lack of a priori distinctions between learning algorithms, Neural Computation 8 (1996)
1341-1390.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priory.lab.error import LabError

Integers = NDArray[np.int64]
MOST_LABELLINGS: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Lunch:
    """The errors of a classifier on the unseen corners of a cube, under every labelling of its corners.

    A labelling is a pair of numbers: the labelling of the seen corners, and that of the unseen. Both count like digits,
    the last corner fastest.
    """

    n_features: int
    n_classes: int
    seen: tuple[int, ...]  #: corners by number; its binary digits are the features
    unseen: tuple[int, ...]
    predicted: Integers  #: [labelling of the seen, unseen corner]

    @property
    def n_wrong(self) -> Integers:
        """The number of misjudged unseen corners, [labelling of the seen, labelling of the unseen]."""
        labels = labellings(len(self.unseen), self.n_classes)
        return np.array([(labels != predicted_labels).sum(axis=1) for predicted_labels in self.predicted], np.int64)

    def average(self, odds: int | Fraction = 1) -> Fraction:
        r"""Return the mean error on the unseen corners, over all labellings.

        Corners that differ in one feature are neighbours. A labelling counts `odds` times as much for each pair of
        neighbours with the same label: with 1 all labellings are equally probable; above 1, similar corners tend to
        have similar labels; below 1, different ones.

        >>> from priory.bayes import NearestNeighbours
        >>> lunch = no_free_lunch(NearestNeighbours(k=1), n_features=2, seen=[0, 3])
        >>> print(lunch.average(), lunch.average(odds=2), lunch.average(odds=10))
        1/2 13/41 301/10601
        """
        if not odds > 0:
            raise LabError(f"the odds for equal labels of neighbours must be above 0, not {odds}")
        n_alike = self._n_alike()
        weights = [Fraction(odds) ** n for n in range(int(n_alike.max()) + 1)]
        wrong = np.bincount(n_alike.ravel(), self.n_wrong.ravel().astype(np.float64), len(weights))
        times = np.bincount(n_alike.ravel(), minlength=len(weights))
        total = sum(weight * int(n) for weight, n in zip(weights, times, strict=True))
        return Fraction(sum(w * int(n) for w, n in zip(weights, wrong, strict=True)), total * len(self.unseen))

    def counterparts(self, seen: int, unseen: int) -> tuple[Fraction, ...]:
        """Return the error under a labelling, and under its counterparts, which shift the label of every unseen corner.

        They agree on the seen corners. The errors add up to K - 1: with two classes, a classifier with 1 % in one world
        has 99 % in the other.
        """
        labels = labellings(len(self.unseen), self.n_classes)[unseen]
        turned = [(labels + by) % self.n_classes for by in range(self.n_classes)]
        return tuple(Fraction(int((self.predicted[seen] != world).sum()), len(labels)) for world in turned)

    def _n_alike(self) -> Integers:
        """Return the number of neighbouring corners with the same label, under every labelling."""
        first, then = (labellings(len(at), self.n_classes) for at in (self.seen, self.unseen))
        n_alike = np.zeros((len(first), len(then)), np.int64)
        columns = {corner: first[:, j][:, None] for j, corner in enumerate(self.seen)}
        columns |= {corner: then[:, j][None, :] for j, corner in enumerate(self.unseen)}
        for corner in range(1 << self.n_features):
            for neighbour in (corner ^ (1 << j) for j in range(self.n_features)):
                if corner < neighbour:
                    n_alike += columns[corner] == columns[neighbour]
        return n_alike


def no_free_lunch(model: Any, *, n_features: int, seen: Iterable[int], n_classes: int = 2) -> Lunch:
    """Let a classifier learn every labelling of the seen corners of a cube, and predict the unseen ones.

    `model` is any classifier of scikit-learn. It is fitted once for each labelling of the seen corners. If these all
    have the same label, and it refuses to learn one class (ValueError), its prediction is that label.

    >>> from priory.bayes import BernoulliNB
    >>> lunch = no_free_lunch(BernoulliNB(), n_features=3, seen=[0, 1, 2, 4, 7])     # 2^8 labellings, 2^5 lessons
    >>> print(lunch.average(), *lunch.counterparts(seen=1, unseen=3))
    1/2 2/3 1/3
    """
    corners, known = cube(n_features), tuple(seen)
    unseen = tuple(corner for corner in range(len(corners)) if corner not in known)
    _check(n_features, n_classes, known, unseen)
    rows, others = corners[list(known)], corners[list(unseen)]
    predictions = [_predict(model, rows, labels, others) for labels in labellings(len(known), n_classes)]
    return Lunch(n_features, n_classes, known, unseen, np.array(predictions, np.int64))


def n_better(one: Lunch, other: Lunch) -> tuple[int, int]:
    """Return the number of labellings on which each of two classifiers is better; the two numbers are equal.

    Exchanging the labels that the two predict turns a labelling into one with the opposite result.
    """
    cube_of_one = (one.n_features, one.n_classes, one.seen, one.unseen)
    if cube_of_one != (other.n_features, other.n_classes, other.seen, other.unseen):
        raise LabError("two classifiers can be compared only on the same cube with the same seen corners")
    a, b = one.n_wrong, other.n_wrong
    return int((a < b).sum()), int((a > b).sum())


def cube(n_features: int) -> Integers:
    """Return all rows of yes-no features: row number n has the binary digits of n.

    >>> cube(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return labellings(n_features, 2)


def labellings(n_corners: int, n_classes: int) -> Integers:
    """Return every labelling of corners with labels from 0 to K - 1, one in each row."""
    return np.array(np.unravel_index(np.arange(n_classes**n_corners), (n_classes,) * n_corners), np.int64).T


def _predict(model: Any, rows: Integers, labels: Integers, others: Integers) -> Integers:
    try:
        return np.asarray(clone(model).fit(rows, labels).predict(others), np.int64)
    except ValueError:
        if len(np.unique(labels)) > 1:
            raise
        return np.full(len(others), labels[0])


def _check(n_features: int, n_classes: int, seen: Sequence[int], unseen: Sequence[int]) -> None:
    if n_classes < 2 or n_classes ** (1 << n_features) > MOST_LABELLINGS:
        raise LabError(
            f"{n_classes} classes on a cube of {n_features} features have {n_classes}^{1 << n_features} labellings: "
            f"take two classes or more and at most {MOST_LABELLINGS:,} labellings, such as 2 classes on 4 features"
        )
    if not seen or not unseen or len(set(seen)) < len(seen) or not set(seen) <= set(range(1 << n_features)):
        raise LabError(
            f"seen corners are distinct numbers from 0 to {(1 << n_features) - 1}, at least one and not all of them, "
            f"not {list(seen)}"
        )
