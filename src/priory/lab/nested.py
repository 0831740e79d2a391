"""Choosing the best model is a part of learning: nested cross-validation judges both together.

Cross-validation of 20 settings over 5 folds fits 100 models and chooses one. The error by which it was chosen is too
low for that one (see `priory.lab.optimism`). So the choice is made inside: for each outer fold all candidates are
compared by cross-validation of the training part alone, the winner learns all of that part, and the outer fold judges
it. What comes out is the error of the whole procedure, "compare these and take the best". It is unbiased for as much
mail as an outer training part has.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.judging import Task, cell_of, run_of
from priory.lab.out_of_fold import out_of_fold
from priory.lab.predictions import Predictions
from priory.lab.probabilities import require_probabilities
from priory.lab.run import Run


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
    """How the procedure of choosing and learning was judged, and what it chose for each outer fold."""

    run: Run
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


def nested(
    candidates: Mapping[str, Any], task: Task, inner: Inner = INNER, *, groups: NDArray[Any] | None = None
) -> Nested:
    """Judge "compare these candidates and take the best" by nested cross-validation: the outer folds are the task's.

    With `groups`, inner folds keep each group on one side, too.
    """
    choices, cells = [], []
    for train, test in task.folds:
        within = None if groups is None else groups[train]
        choices.append(choose(candidates, _safe_indexing(task.X, train), task.y[train], inner, within))
        best = choices[-1].name
        cells.append(cell_of(best, candidates[best], task, (train, test)))
    if not cells:
        raise LabError("the task has no folds: there is nothing to judge by")
    return Nested(run_of("the best, chosen in each fold", task, cells), tuple(choices))


def _check(candidates: Mapping[str, Any], labels: NDArray[Any], inner: Inner) -> None:
    if not candidates:
        raise LabError("no candidates: name one model at least")
    for name, model in candidates.items():
        require_probabilities(model, name)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        all_are = f"all {len(labels):,} examples are {classes[0]}" if len(classes) else "there are no examples"
        raise LabError(f"{all_are}: it takes two classes to compare models")
    if counts.min() < inner.n_folds:
        raise LabError(
            f"{classes[counts.argmin()]} has {counts.min()} examples to learn and there are {inner.n_folds} inner "
            "folds: take fewer folds, or more examples"
        )
