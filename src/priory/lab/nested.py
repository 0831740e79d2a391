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
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.judging import Task, cell_of, judged, run_of
from priory.lab.predictions import Predictions
from priory.lab.run import Run
from priory.lab.splits import Folds, folds

N_INNER_FOLDS: Final = 5
Figure: TypeAlias = Callable[[Predictions], float]
Judge: TypeAlias = Callable[[Mapping[str, Any], Task], list[Run]]
Inner: TypeAlias = Callable[[NDArray[np.int64]], Folds]


def error_rate(predictions: Predictions) -> float:
    """Return the share of examples whose most probable class is the wrong one."""
    return predictions.error_rate


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


def choose(candidates: Mapping[str, Any], task: Task, figure: Figure = error_rate, judge: Judge = judged) -> Choice:
    """Return the best candidate by a figure of which less is better; of equals, the one that is named first.

    >>> from priory.bayes import BernoulliNB
    >>> mail, labels = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 5), ["spam", "spam", "ham", "ham"] * 5
    >>> models = {"certain": BernoulliNB(prior=[1, 0]), "fitted": BernoulliNB()}
    >>> choose(models, Task.of(mail, labels, folds(labels)))
    Choice(name='fitted', judged={'certain': 0.5, 'fitted': 0.0})
    """
    if not candidates:
        raise LabError("no candidates: name one model at least")
    found = {run.model: figure(run.predictions) for run in judge(candidates, task)}
    return Choice(min(found, key=lambda name: found[name]), found)


def nested(
    candidates: Mapping[str, Any],
    task: Task,
    inner: Inner | None = None,
    *,
    figure: Figure = error_rate,
    judge: Judge = judged,
) -> Nested:
    """Judge "compare these candidates and take the best" by nested cross-validation: the outer folds are the task's.

    `inner` makes the folds within the examples that it is given the numbers of; without it there are five, stratified,
    that keep the task's groups together. Who splits by time or sender outside should do so inside.
    """
    choices, cells = [], []
    for train, test in task.folds:
        choices.append(choose(candidates, _within(task, train, inner), figure, judge))
        best = choices[-1].name
        cells.append(cell_of(best, candidates[best], task, (train, test)))
    if not cells:
        raise LabError("the task has no folds: there is nothing to judge by")
    return Nested(run_of("the best, chosen in each fold", task, cells), tuple(choices))


def _within(task: Task, train: NDArray[np.int64], inner: Inner | None) -> Task:
    """The task of choosing by a training part alone."""
    groups = None if task.groups is None else task.groups[train]
    made = inner(train) if inner else folds(task.y[train], n_folds=N_INNER_FOLDS, groups=groups)
    names = tuple(task.names[i] for i in train)
    return Task.of(_safe_indexing(task.X, train), task.y[train], made, task.classes, names, groups=groups)
