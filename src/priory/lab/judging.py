"""Judge classifiers by splits: learn on one part, predict the other, for every model and every split alike.

All models see the same folds of the same rows. Each model on each fold is one piece of work, so that they can run side
by side, and what was done is kept should the rest be interrupted.
"""

import ctypes
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.hands import Hands
from priory.lab.predictions import Predictions
from priory.lab.probabilities import log_probabilities, require_probabilities
from priory.lab.run import Run
from priory.lab.splits import Folds, folds

Part: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  #: numbers to learn, numbers to judge
_STATUS: Final = Path("/proc/self/status")


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """What one model made of one fold."""

    log_probabilities: NDArray[np.float64]  #: [test example, class]
    seconds_learning: float
    seconds_predicting: float
    peak_bytes: int | None
    train_error: float | None


class Shelf(Protocol):
    """Where finished cells are kept."""

    def load(self, model: str, fold: int) -> Cell | None:
        """Return what was kept of a model on a fold."""

    def save(self, model: str, fold: int, cell: Cell) -> None:
        """Keep it."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The examples that all models are judged by."""

    X: Any  #: anything that scikit-learn can take rows from: a matrix, a frame, a list of messages
    y: NDArray[Any]
    codes: NDArray[np.int64]  #: the labels as indexes into the classes
    classes: tuple[str, ...]  #: with two, what is said is about the second
    names: tuple[str, ...]
    folds: Folds  #: no example is judged twice
    groups: NDArray[np.int64] | None  #: of examples that are alike, such as near-copies: they are no independent trials

    @classmethod
    def of(  # noqa: PLR0913 - the last three have a default that fits
        cls,
        X: Any,
        y: Any,
        folds: Any,
        classes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        *,
        groups: NDArray[np.int64] | None = None,
    ) -> "Task":
        """Put examples together, and refuse what cannot be judged by.

        `folds` may be a number, for stratified folds, or any splitter of scikit-learn's.
        """
        labels = np.asarray(y)
        found = [str(label) for label in np.unique(labels)]
        if len(found) < 2:
            which = f"only {found[0]!r}" if found else "none at all"
            raise LabError(
                f"the examples have {which} for a label: to judge a classifier takes examples of two labels or more"
            )
        known = found if classes is None else [str(label) for label in classes]
        if set(found) != set(known):
            raise LabError(
                f"the labels are {', '.join(found)}, but the classes named are {', '.join(known)}: they must be "
                "the same"
            )
        codes = np.array([known.index(str(label)) for label in labels.tolist()], np.int64)
        named = tuple(names or (f"row {i}" for i in range(len(labels))))
        fixed = _fixed(folds, X, labels)
        task = cls(X, labels, codes, tuple(known), named, fixed.each_once(), groups)
        task._require_all_classes()
        return task

    def _require_all_classes(self) -> None:
        for number, (train, _) in enumerate(self.folds.split(self.X, self.y), 1):
            lacking = set(range(len(self.classes))) - set(self.codes[train].tolist())
            if lacking:
                raise LabError(
                    f"fold {number} of {len(self.folds)} has no {self.classes[min(lacking)]} to learn from: take fewer "
                    "folds, or stratified ones"
                )


def _fixed(given: Any, X: Any, labels: NDArray[Any]) -> Folds:
    if isinstance(given, Folds):
        return given
    if isinstance(given, int):
        return folds(labels, n_folds=given)
    if not hasattr(given, "split"):
        raise LabError(f"{given!r} makes no folds: give a number, or a splitter such as priory.lab.folds(y)")
    return Folds.of(given.split(X, labels), len(labels), str(given))


def judged(  # noqa: PLR0913
    models: Mapping[str, Any],
    task: Task,
    *,
    jobs: Hands = 1,
    shelf: Shelf | None = None,
    done: Callable[[str, int], None] = lambda _model, _fold: None,
    with_train_error: bool = False,
    failed: dict[str, str] | None = None,
) -> list[Run]:
    """Return one run per model, with a prediction for every example that is in the test part of a fold.

    A model that fails is an error; but if `failed` is given, it is noted there why, and the others are judged.

    >>> from priory.bayes import BernoulliNB, MultinomialNB
    >>> from priory.lab.splits import folds
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 1]] * 10)                       # has "offer", has "lunch"
    >>> y = ["spam", "spam", "ham", "ham"] * 10
    >>> task = Task.of(X, y, folds(y, n_folds=5, seed=1))
    >>> for run in judged({"Bernoulli": BernoulliNB(), "multinomial": MultinomialNB()}, task):
    ...     print(run.model, run.predictions.errors.mean())
    Bernoulli 0.0
    multinomial 0.0
    """
    parts = list(task.folds.split(task.X, task.y))
    work = [(name, fold) for name in models for fold in range(len(parts))]
    cells: dict[tuple[str, int], Cell] = {}
    for name, fold in work:
        kept = shelf.load(name, fold) if shelf else None
        if kept is not None:
            cells[name, fold] = kept
            done(name, fold)
    left = [each for each in work if each not in cells]
    judging = _Judging(models, task, parts, with_train_error)
    wrong: dict[str, LabError] = {}
    for each, cell in _results(judging, left, jobs):
        done(*each)
        if isinstance(cell, LabError):
            wrong[each[0]] = cell
            if failed is None:
                raise cell
            continue
        cells[each] = cell
        if shelf:
            shelf.save(*each, cell)
    if failed is not None:
        failed |= {name: str(error) for name, error in wrong.items()}
    whole = [name for name in models if name not in wrong]
    return [run_of(name, task, [cells[name, fold] for fold in range(len(parts))]) for name in whole]


@dataclass(frozen=True, slots=True, eq=False)
class _Judging:
    """All that is to be judged, and how to judge one model on one fold of it."""

    models: Mapping[str, Any]
    task: Task
    parts: Sequence[Part]
    with_train_error: bool

    def __call__(self, each: tuple[str, int]) -> "_Judged":
        name, fold = each
        return _judged_one(each, self.models[name], self.task, self.parts[fold], self.with_train_error)


_Judged: TypeAlias = tuple[tuple[str, int], Cell | LabError]


def _results(judging: _Judging, left: Sequence[tuple[str, int]], jobs: Hands) -> Iterator[_Judged]:
    """Do the work here, in other processes, which map the rows into memory instead of copying them, or elsewhere."""
    if not isinstance(jobs, int):
        with jobs.unordered(judging, left) as results:
            yield from results
    elif jobs == 1:
        yield from map(judging, left)
    else:
        models, task, parts = judging.models, judging.task, judging.parts
        yield from Parallel(jobs, return_as="generator_unordered", max_nbytes="1M")(
            delayed(_judged_one)(each, models[each[0]], task, parts[each[1]], judging.with_train_error) for each in left
        )


def _judged_one(each: tuple[str, int], model: Any, task: Task, part: Part, with_train_error: bool) -> _Judged:
    try:
        return each, cell_of(each[0], model, task, part, with_train_error=with_train_error)
    except LabError as error:
        return each, error


def cell_of(name: str, model: Any, task: Task, part: Part, *, with_train_error: bool = False) -> Cell:
    """Learn the training part of a fold anew, and predict its test part; whatever goes wrong in the model is named."""
    require_probabilities(model, name)
    try:
        return _cell(name, model, task, part, with_train_error=with_train_error)
    except LabError:
        raise
    except (Exception, SystemExit) as error:  # a model is somebody else's code
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise LabError(
            f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]} ({at.filename}:{at.lineno}); "
            f"it was given {type(task.X).__name__} rows"
        ) from error


def _cell(name: str, model: Any, task: Task, part: Part, *, with_train_error: bool) -> Cell:
    train, test = part
    start_bytes = _reset_peak()
    fitted = clone(model)
    start = time.perf_counter()
    fitted.fit(_safe_indexing(task.X, train), task.y[train])
    learned = time.perf_counter()
    logs = log_probabilities(fitted, _safe_indexing(task.X, test), task.classes, name)
    if len(logs) != len(test):
        raise LabError(f"{name} gave {len(logs)} predictions for {len(test)} examples: it must give one for each")
    predicted = time.perf_counter()
    peak = None if start_bytes is None else max(_memory("VmHWM") - start_bytes, 0)
    train_error = None
    if with_train_error:
        again = log_probabilities(fitted, _safe_indexing(task.X, train), task.classes, name)
        train_error = float(np.mean(again.argmax(axis=1) != task.codes[train]))
    return Cell(logs, learned - start, predicted - learned, peak, train_error)


class Places(NamedTuple):
    """Of each prediction of a run: the example it is about, the fold that made it, its place when all follow by fold.

    Predictions are in the order of the examples.
    """

    example: NDArray[np.int64]
    fold: NDArray[np.int64]
    by_fold: NDArray[np.int64]


def places(folds: Folds) -> Places:
    """Return where the predictions of a run come from."""
    tests = [test for _, test in folds]
    numbers = np.concatenate(tests)
    order = np.argsort(numbers, kind="stable")
    return Places(numbers[order], np.repeat(np.arange(len(tests)), [len(test) for test in tests])[order], order)


def run_of(name: str, task: Task, cells: Sequence[Cell]) -> Run:
    """Put the folds of a task together."""
    numbers, _, order = places(task.folds)
    logs = np.concatenate([cell.log_probabilities for cell in cells])[order]
    names = tuple(task.names[i] for i in numbers)
    groups = None if task.groups is None else task.groups[numbers]
    peaks = [cell.peak_bytes for cell in cells if cell.peak_bytes is not None]
    train_errors = [cell.train_error for cell in cells if cell.train_error is not None]
    return Run(
        model=name,
        predictions=Predictions(task.classes, task.codes[numbers], logs, names, groups),
        protocol=task.folds.description,
        seconds_learning=sum(cell.seconds_learning for cell in cells),
        seconds_predicting=sum(cell.seconds_predicting for cell in cells),
        peak_bytes=max(peaks, default=None),
        train_error=float(np.mean(train_errors)) if train_errors else None,
    )


def _reset_peak() -> int | None:
    """Let the system forget this process's highest memory use, and return the present one; None where it cannot.

    What is free in this process goes back to the system first: a model that takes it would seem to take nothing.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return _memory("VmRSS")
    return None


def _memory(what: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024
