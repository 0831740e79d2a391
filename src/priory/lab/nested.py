"""Choosing the best model is a part of learning: nested cross-validation judges both together.

Cross-validation of 20 settings over 5 folds fits 100 models and chooses one. The error by which it was chosen is too
low for that one (see `priory.lab.optimism`). So the choice is made inside: for each outer fold all candidates are
compared by cross-validation of the training part alone, the winner learns all of that part, and the outer fold judges
it. What comes out is the error of the whole procedure, "compare these and take the best". It is unbiased for as much
mail as an outer training part has.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.out_of_fold import log_probabilities, out_of_fold
from priory.lab.predictions import Predictions


def error_rate(predictions: Predictions) -> float:
    """Return the share of examples whose most probable class is the wrong one."""
    return float(predictions.errors.mean())


@dataclass(frozen=True, slots=True)
class Inner:
    """How candidates are compared: in so many folds, shuffled with a seed, by a figure of which less is better."""

    n_folds: int = 5
    seed: int = 0
    figure: Callable[[Predictions], float] = error_rate


INNER: Final = Inner()


@dataclass(frozen=True, slots=True)
class Choice:
    """Which candidate is best by cross-validation, and what each was judged at, less being better."""

    name: str
    judged: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """What the procedure of choosing and learning predicted, and what it chose for each outer fold."""

    predictions: Predictions
    choices: tuple[Choice, ...]

    @property
    def warning(self) -> str | None:
        """What to think of it if not all folds chose the same; None if they did."""
        wins = Counter(choice.name for choice in self.choices)
        if len(wins) == 1:
            return None
        counted = ", ".join(f"{name} in {n}" for name, n in wins.most_common())
        return (
            f"the winner differs between the {len(self.choices)} outer folds ({counted}): so much mail hardly tells "
            "the candidates apart; the error is that of choosing among them, not that of any one"
        )


def choose(
    candidates: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    inner: Inner = INNER,
    groups: NDArray[Any] | None = None,
) -> Choice:
    """Return the best candidate by cross-validation; of equals, the one that is named first.

    >>> from priory.bayes import BernoulliNB
    >>> mail = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 5)                    # has "offer", has "lunch"
    >>> models = {"certain": BernoulliNB(prior=[1, 0]), "fitted": BernoulliNB()}
    >>> choose(models, mail, ["spam", "spam", "ham", "ham"] * 5)
    Choice(name='fitted', judged={'certain': 0.5, 'fitted': 0.0})
    """
    labels = np.asarray(y)
    _check(candidates, labels, inner)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    parts = kind(inner.n_folds, shuffle=True, random_state=inner.seed).split(np.zeros(len(labels)), labels, groups)
    folds = check_cv(list(parts))
    judged = {name: inner.figure(out_of_fold(model, X, labels, folds=folds)) for name, model in candidates.items()}
    return Choice(min(judged, key=lambda name: judged[name]), judged)


def nested(  # noqa: PLR0913 - the last three have a default that fits
    candidates: Mapping[str, Any],
    X: Any,
    y: ArrayLike,
    outer: Any,
    inner: Inner = INNER,
    *,
    groups: NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Nested:
    """Judge "compare these candidates and take the best" by nested cross-validation.

    `outer` is any splitter of scikit-learn's protocol. With `groups`, inner folds keep each group on one side, too. An
    example that several outer folds test is predicted as often; predictions are in the order of the examples.
    """
    labels = np.asarray(y)
    classes = np.unique(labels)
    choices, tested, said = [], [], []
    for train, test in outer.split(X, labels, groups):
        part, known = _safe_indexing(X, train), labels[train]
        _check_classes(classes, known)
        choices.append(choose(candidates, part, known, inner, None if groups is None else groups[train]))
        model = clone(candidates[choices[-1].name]).fit(part, known)
        said.append(log_probabilities(model, _safe_indexing(X, test)))
        tested.append(np.asarray(test))
    if not choices:
        raise LabError("the outer splitter has no folds: there is nothing to judge by")
    numbers = np.concatenate(tested)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    truth = np.searchsorted(classes, labels[numbers]).astype(np.int64)
    where = tuple(f"row {i}" if names is None else names[i] for i in numbers)
    return Nested(Predictions(tuple(map(str, classes)), truth, np.vstack(said)[order], where), tuple(choices))


def _check(candidates: Mapping[str, Any], labels: NDArray[Any], inner: Inner) -> None:
    if not candidates:
        raise LabError("no candidates: name one model at least")
    for name, model in candidates.items():
        if not hasattr(model, "predict_proba"):
            what = _class_name(model)
            raise LabError(
                f"{name} ({what}) gives no probabilities: wrap it, CalibratedClassifierCV({what}()), from "
                "sklearn.calibration, or choose another"
            )
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        all_are = f"all {len(labels):,} examples are {classes[0]}" if len(classes) else "there are no examples"
        raise LabError(f"{all_are}: it takes two classes to compare models")
    if counts.min() < inner.n_folds:
        raise LabError(
            f"{classes[counts.argmin()]} has {counts.min()} examples to learn and there are {inner.n_folds} inner "
            "folds: take fewer folds, or more examples"
        )


def _class_name(model: Any) -> str:
    """The name of a model's class; of a pipeline, that of its last step."""
    return type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__


def _check_classes(classes: NDArray[Any], known: NDArray[Any]) -> None:
    missing = sorted(set(classes.tolist()) - set(known.tolist()))
    if missing:
        raise LabError(f"an outer fold has no {missing[0]} to learn from: take fewer folds, or stratified ones")
