"""Nested cross-validation: judge the choice of the best model together with its learning.

Cross-validation of 20 settings over 5 folds fits 100 models and chooses one. The error by which it was chosen is too
low for it (see `priory.lab.trust.optimism`). So the choice is made within each outer fold: all candidates are compared
by cross-validation of the training part alone, the winner learns all of that part, and the outer fold judges it. The
result is the error of the whole procedure, "compare these and take the best". It is unbiased for as much mail as an
outer training part has.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Task, fit_and_predict, judged, run_of
from priory.lab.predictions import Predictions
from priory.lab.run import Run
from priory.lab.splits import Folds, folds

N_INNER_FOLDS: Final = 5
Figure: TypeAlias = Callable[[Predictions], float]
Judge: TypeAlias = Callable[[Mapping[str, Any], Task], list[Run]]
Inner: TypeAlias = Callable[[NDArray[np.int64]], Folds]


def error_rate(predictions: Predictions) -> float:
    """Return the share of examples whose most probable class is wrong."""
    return predictions.error_rate


@dataclass(frozen=True, slots=True)
class Choice:
    """The best candidate by cross-validation, and the figure of each; lower is better."""

    name: str
    judged: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """The run of the whole procedure, and the choice in each outer fold."""

    run: Run
    choices: tuple[Choice, ...]

    @property
    def warning(self) -> str | None:
        """A warning if the folds chose different candidates; None otherwise."""
        wins = Counter(choice.name for choice in self.choices)
        if len(wins) == 1:
            return None
        counted = ", ".join(f"{name} in {n}" for name, n in wins.most_common())
        return (
            f"the winner differs between the {len(self.choices)} outer folds ({counted}): this much mail hardly "
            "distinguishes the candidates; the error is that of choosing among them, not that of any one"
        )


def choose(candidates: Mapping[str, Any], task: Task, figure: Figure = error_rate, judge: Judge = judged) -> Choice:
    """Return the candidate with the lowest figure; among equals, the first.

    >>> from priory.bayes import BernoulliNB
    >>> mail, labels = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 5), ["spam", "spam", "ham", "ham"] * 5
    >>> models = {"certain": BernoulliNB(prior=[1, 0]), "fitted": BernoulliNB()}
    >>> choose(models, Task.of(mail, labels, folds(labels)))
    Choice(name='fitted', judged={'certain': 0.5, 'fitted': 0.0})
    """
    if not candidates:
        raise LabError("there are no candidates: name at least one model")
    figures = {run.model: figure(run.predictions) for run in judge(candidates, task)}
    return Choice(min(figures, key=lambda name: figures[name]), figures)


def nested(
    candidates: Mapping[str, Any],
    task: Task,
    inner: Inner | None = None,
    *,
    figure: Figure = error_rate,
    judge: Judge = judged,
) -> Nested:
    """Judge "compare these candidates and take the best" by nested cross-validation: the outer folds are the task's.

    `inner` receives the numbers of training examples and returns their folds; by default these are five, stratified,
    and keep the task's groups together. If the outer folds are by time or sender, the inner ones should be, too.
    """
    choices, cells = [], []
    for train, test in task.folds:
        choices.append(choose(candidates, _inner_task(task, train, inner), figure, judge))
        best = choices[-1].name
        cells.append(fit_and_predict(best, candidates[best], task, (train, test)))
    if not cells:
        raise LabError("the task has no folds: make at least one")
    return Nested(run_of("the best, chosen in each fold", task, cells), tuple(choices))


def _inner_task(task: Task, train: NDArray[np.int64], inner: Inner | None) -> Task:
    """Return the task of choosing by a training part alone."""
    groups = None if task.groups is None else task.groups[train]
    inner_folds = inner(train) if inner else folds(task.y[train], n_folds=N_INNER_FOLDS, groups=groups)
    names = tuple(task.names[i] for i in train)
    return Task.of(_safe_indexing(task.X, train), task.y[train], inner_folds, task.classes, names, groups=groups)
