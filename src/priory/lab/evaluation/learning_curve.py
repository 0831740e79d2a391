r"""Learning curves: training and validation error by the number of examples learned.

$$ E_\text{validation} = E_\text{train} + E_\text{approx} $$

From few examples a model learns everything by heart: $E_\text{train}$ is low and says little about other mail, the gap
$E_\text{approx}$ is wide. With more, both errors approach each other. If the gap is still wide, more mail or a simpler
model would help. If the training error is high, the model is too simple or the features say too little, and more mail
changes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import learning_curve as accuracies

from priory.html.numbers import percent
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Part, splits
from priory.lab.measures.interval import Interval, share
from priory.lab.trust.optimism import rate_interval

SHARES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """The errors after learning a number of examples."""

    n_examples: int
    train: Interval
    validation: Interval

    @property
    def gap(self) -> Interval:
        """E_approx, with an interval from the squared distances of both errors' limits (Newcombe 1998)."""
        t, v = self.train, self.validation
        below = math.hypot(v.estimate - v.low, t.high - t.estimate)
        above = math.hypot(v.high - v.estimate, t.estimate - t.low)
        difference = v.estimate - t.estimate
        return Interval(difference, difference - below, difference + above)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        errors = {"train": self.train.as_dict(), "validation": self.validation.as_dict(), "gap": self.gap.as_dict()}
        return {"n_examples": self.n_examples, **errors}


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The errors by the number of examples learned, from few to all."""

    points: tuple[Point, ...]

    @property
    def words(self) -> str:
        """The meaning of the gap at the last point."""
        last = self.points[-1]
        train, validation = percent(last.train.estimate, 2), percent(last.validation.estimate, 2)
        errors = f"{train} wrong in training and {validation} in validation"
        if last.validation.estimate == 0:
            return f"{errors}: these examples show nothing left to gain"
        if last.gap.low <= 0:
            return f"{errors}, hardly a gap: more data would not help; if that is too much, the model is too simple"
        if last.gap.estimate > last.train.estimate and self._still_falls:
            rest = "the gap still falls: more data would help, or a simpler model"
            return f"{errors}, most of which is the gap, and {rest}"
        if last.gap.estimate > last.train.estimate:
            rest = "the gap no longer falls: a simpler model or other features would help"
            return f"{errors}, most of which is the gap, and {rest}"
        return f"{errors}, most of it in training already: a richer model would help more than more data"

    @property
    def _still_falls(self) -> bool:
        """Whether the last doubling of the examples lowered the validation error by a tenth."""
        last = self.points[-1]
        half = next((point for point in self.points if 2 * point.n_examples >= last.n_examples), last)
        return half is last or last.validation.estimate < 0.9 * half.validation.estimate

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"points": [point.as_dict() for point in self.points], "words": self.words}


def learning_curve(  # noqa: PLR0913 - all but the first three have a default that fits
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    folds: Any = 5,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    jobs: int = 1,
) -> LearningCurve:
    """Return the errors of a model that learns growing shares of the training part of each fold.

    `folds` is a number, or any splitter of scikit-learn that tests no example twice. Validation errors are counted over
    all folds. Training errors are averaged over folds; as these share most of their examples, the interval is that of
    one fold.

    >>> from priory.bayes import BernoulliNB
    >>> mail = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 25)                  # has "offer", has "lunch"
    >>> curve = learning_curve(BernoulliNB(), mail, ["spam", "spam", "ham", "ham"] * 25, shares=[0.5, 1.0])
    >>> [(point.n_examples, point.validation.estimate) for point in curve.points]
    [(40, 0.0), (80, 0.0)]
    """
    labels = np.asarray(y)
    parts = splits(X, labels, folds)
    sizes = _sizes(shares, min(len(train) for train, _ in parts))
    random = np.random.default_rng(seed)
    growing = [(_spread(train, labels, random), test) for train, test in parts]
    trained, validated = _error_rates(model, X, labels, growing, sizes, jobs)
    n_tested = np.array([len(test) for _, test in parts])
    points = [
        Point(
            n,
            rate_interval(float(in_training.mean()), n),
            share(round(float(wrong @ n_tested)), int(n_tested.sum())),
        )
        for n, in_training, wrong in zip(sizes, trained, validated, strict=True)
    ]
    return LearningCurve(tuple(points))


def _sizes(shares: Sequence[float], n: int) -> list[int]:
    if not shares or not all(0 < part <= 1 for part in shares):
        raise LabError(
            f"shares of the training part must be above 0 and at most 1, such as 0.1 and 1, not {list(shares)}"
        )
    return sorted({max(1, int(part * n)) for part in shares})


def _spread(train: NDArray[np.intp], labels: NDArray[Any], random: np.random.Generator) -> NDArray[np.intp]:
    """Shuffle examples so that every beginning has the classes in the same shares as all."""
    places = np.empty(len(train))
    for label in np.unique(labels[train]):
        mine = np.flatnonzero(labels[train] == label)
        places[mine] = (random.permutation(len(mine)) + 0.5) / len(mine)
    return train[np.argsort(places, kind="stable")]


def _error_rates(  # noqa: PLR0913, PLR0917 - what scikit-learn's function takes
    model: Any, X: Any, labels: NDArray[Any], parts: list[Part], sizes: list[int], jobs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the error rates in training and validation, [size, fold]."""
    try:
        _, trained, validated = accuracies(
            model,
            X,
            labels,
            train_sizes=sizes,
            cv=parts,
            scoring="accuracy",
            n_jobs=jobs,
            error_score="raise",
        )
    except ValueError as error:
        raise LabError(
            f"{type(model).__name__} cannot learn from {sizes[0]} of these examples: {error}; if a class is "
            "missing among them, begin with a larger share"
        ) from error
    return 1 - trained, 1 - validated
