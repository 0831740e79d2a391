r"""Would more mail help? Training and validation error by how much was learned.

$$ E_\text{validation} = E_\text{train} + E_\text{approx} $$

With little to learn from, a model has it all by heart: $E_\text{train}$ is low and tells little about other mail, the
gap $E_\text{approx}$ is wide. With more, both errors approach each other. A gap that is still wide says that more mail,
or a simpler model, would help; a training error that is high says that the model is too simple, or the features do not
tell, and more mail changes nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import learning_curve as accuracies

from priory.lab.error import LabError
from priory.lab.interval import Interval, percent, share
from priory.lab.judging import Part
from priory.lab.optimism import rate_interval
from priory.lab.out_of_fold import splits

SHARES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """The errors after so many examples were learned."""

    n_examples: int
    train: Interval
    validation: Interval

    @property
    def gap(self) -> Interval:
        """E_approx; its interval squares and adds what the limits of both are off by (Newcombe 1998)."""
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
    """The errors by how much was learned, from few examples to all."""

    points: tuple[Point, ...]

    @property
    def words(self) -> str:
        """What the gap means, by the last point."""
        last = self.points[-1]
        train, validation = percent(last.train.estimate), percent(last.validation.estimate)
        errors = f"{train} wrong in training and {validation} in validation"
        if last.validation.estimate == 0:
            return f"{errors}: nothing is left to gain that these examples could show"
        if last.gap.low <= 0:
            return f"{errors}, hardly a gap: more data would not help; if that is too much, the model is too simple"
        if last.gap.estimate > last.train.estimate and self._still_falls:
            return f"{errors}, most of it the gap, which still falls: more data would help, or a simpler model"
        if last.gap.estimate > last.train.estimate:
            return f"{errors}, most of it the gap, which falls no more: a simpler model or other features would help"
        return f"{errors}, most of it in training already: a richer model would help more than more data"

    @property
    def _still_falls(self) -> bool:
        """Whether the last doubling of the examples took away a tenth of the validation error."""
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

    `folds` is a number, or any splitter of scikit-learn's protocol that tests no example twice. Validation errors are
    counted over all folds. Training errors are averaged over folds, and as these share most of their examples, the
    interval is that of one fold.

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
        raise LabError(f"shares of the training part are above 0 and up to 1, such as 0.1 and 1, not {list(shares)}")
    return sorted({max(1, int(part * n)) for part in shares})


def _spread(train: NDArray[np.intp], labels: NDArray[Any], random: np.random.Generator) -> NDArray[np.intp]:
    """Shuffle so that the first few examples have the classes in the same shares as all."""
    places = np.empty(len(train))
    for label in np.unique(labels[train]):
        mine = np.flatnonzero(labels[train] == label)
        places[mine] = (random.permutation(len(mine)) + 0.5) / len(mine)
    return train[np.argsort(places, kind="stable")]


def _error_rates(  # noqa: PLR0913, PLR0917 - what scikit-learn's function takes
    model: Any, X: Any, labels: NDArray[Any], parts: list[Part], sizes: list[int], jobs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """In training and validation, [size, fold]."""
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
            f"{type(model).__name__} cannot learn from {sizes[0]} examples or more of these: {error}; if a class is "
            "missing among so few, begin with a larger share"
        ) from error
    return 1 - trained, 1 - validated
