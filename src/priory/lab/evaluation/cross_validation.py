"""Cross-validation: every model learns the training part of every fold and predicts its test part.

All models see the same folds of the same rows. Each model on each fold is one unit of work, so that units can run in
parallel, and finished ones are stored in a cache if the rest is interrupted.
"""

import ctypes
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from priory.lab.error import LabError
from priory.lab.examples import Jobs
from priory.lab.predictions import Predictions, log_probabilities, require_probabilities
from priory.lab.run import Run
from priory.lab.splits import Folds
from priory.lab.splits import folds as make_folds

if TYPE_CHECKING:
    from priory.lab.cache import FoldCache

Part: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]  #: numbers of the training and test examples
_STATUS: Final = Path("/proc/self/status")


@dataclass(frozen=True, slots=True, eq=False)
class FoldResult:
    """The predictions of one model for one fold, and what they took."""

    log_probabilities: NDArray[np.float64]  #: [test example, class]
    seconds_learning: float
    seconds_predicting: float
    peak_bytes: int | None
    train_error: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The examples and folds by which all models are judged."""

    X: Any  #: anything with rows for scikit-learn: a matrix, a data frame, a list of messages
    y: NDArray[Any]
    codes: NDArray[np.int64]  #: the labels as indexes into the classes
    classes: tuple[str, ...]  #: with two, figures are about the second
    names: tuple[str, ...]
    folds: Folds  #: no example is tested twice
    groups: NDArray[np.int64] | None  #: near-copies have the same number

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
        """Return a task; raise `LabError` if models cannot be judged by these examples.

        `folds` may be a number, for stratified folds, or any splitter of scikit-learn.
        """
        labels = np.asarray(y)
        present = [str(label) for label in np.unique(labels)]
        if len(present) < 2:
            which = f"only {present[0]!r}" if present else "none at all"
            raise LabError(
                f"the examples have {which} for a label: an evaluation needs examples of at least two labels"
            )
        known = present if classes is None else [str(label) for label in classes]
        if set(present) != set(known):
            raise LabError(
                f"the labels are {', '.join(present)}, but the classes named are {', '.join(known)}: they must be "
                "the same"
            )
        codes = np.array([known.index(str(label)) for label in labels.tolist()], np.int64)
        named = tuple(names or (f"row {i}" for i in range(len(labels))))
        fixed = _make_folds(folds, X, labels)
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


def _make_folds(folds: Any, X: Any, labels: NDArray[Any]) -> Folds:
    if isinstance(folds, Folds):
        return folds
    if isinstance(folds, int):
        return make_folds(labels, n_folds=folds)
    if not hasattr(folds, "split"):
        raise LabError(f"{folds!r} is no splitter: give a number of folds, or a splitter such as priory.lab.folds(y)")
    return Folds.of(folds.split(X, labels), len(labels), str(folds))


def judged(  # noqa: PLR0913
    models: Mapping[str, Any],
    task: Task,
    *,
    jobs: Jobs = 1,
    cache: "FoldCache | None" = None,
    done: Callable[[str, int], None] = lambda _model, _fold: None,
    with_train_error: bool = False,
    failed: dict[str, str] | None = None,
) -> list[Run]:
    """Return one run per model, with a prediction for every example that is in the test part of a fold.

    Raise `LabError` if a model fails; if `failed` is given, put the reason there and judge the others.

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
    results: dict[tuple[str, int], FoldResult] = {}
    for name, fold in work:
        stored = cache.load(name, fold) if cache else None
        if stored is not None:
            results[name, fold] = stored
            done(name, fold)
    remaining = [unit for unit in work if unit not in results]
    judging = _UnitWork(models, task, parts, with_train_error)
    failures: dict[str, LabError] = {}
    for unit, result in _results(judging, remaining, jobs):
        done(*unit)
        if isinstance(result, LabError):
            failures[unit[0]] = result
            if failed is None:
                raise result
            continue
        results[unit] = result
        if cache:
            cache.save(*unit, result)
    if failed is not None:
        failed |= {name: str(error) for name, error in failures.items()}
    complete = [name for name in models if name not in failures]
    return [run_of(name, task, [results[name, fold] for fold in range(len(parts))]) for name in complete]


@dataclass(frozen=True, slots=True, eq=False)
class _UnitWork:
    """The models, the task and its folds, as a picklable function of the unit of work."""

    models: Mapping[str, Any]
    task: Task
    parts: Sequence[Part]
    with_train_error: bool

    def __call__(self, unit: tuple[str, int]) -> "_UnitResult":
        name, fold = unit
        return _judge_unit(unit, self.models[name], self.task, self.parts[fold], self.with_train_error)


_UnitResult: TypeAlias = tuple[tuple[str, int], FoldResult | LabError]


def _results(judging: _UnitWork, units: Sequence[tuple[str, int]], jobs: Jobs) -> Iterator[_UnitResult]:
    """Do the work in this process, in others that map the rows into memory, or by an executor."""
    if not isinstance(jobs, int):
        with jobs.unordered(judging, units) as results:
            yield from results
    elif jobs == 1:
        yield from map(judging, units)
    else:
        models, task, parts = judging.models, judging.task, judging.parts
        yield from Parallel(jobs, return_as="generator_unordered", max_nbytes="1M")(
            delayed(_judge_unit)(unit, models[unit[0]], task, parts[unit[1]], judging.with_train_error)
            for unit in units
        )


def _judge_unit(unit: tuple[str, int], model: Any, task: Task, part: Part, with_train_error: bool) -> _UnitResult:
    try:
        return unit, fit_and_predict(unit[0], model, task, part, with_train_error=with_train_error)
    except LabError as error:
        return unit, error


def fit_and_predict(name: str, model: Any, task: Task, part: Part, *, with_train_error: bool = False) -> FoldResult:
    """Fit a clone of a model to the training part of a fold and predict its test part; errors name the model."""
    require_probabilities(model, name)
    try:
        return _fit_fold(name, model, task, part, with_train_error=with_train_error)
    except LabError:
        raise
    except (Exception, SystemExit) as error:  # the model may be the user's own code
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise LabError(
            f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]} ({at.filename}:{at.lineno}); "
            f"it was given {type(task.X).__name__} rows"
        ) from error


def _fit_fold(name: str, model: Any, task: Task, part: Part, *, with_train_error: bool) -> FoldResult:
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
    return FoldResult(logs, learned - start, predicted - learned, peak, train_error)


class PredictionOrigins(NamedTuple):
    """The example and the fold of each prediction of a run, and its index if all are sorted by fold.

    Predictions are in the order of the examples.
    """

    example: NDArray[np.int64]
    fold: NDArray[np.int64]
    by_fold: NDArray[np.int64]


def prediction_origins(folds: Folds) -> PredictionOrigins:
    """Return the origins of the predictions of a run with these folds."""
    tests = [test for _, test in folds]
    numbers = np.concatenate(tests)
    order = np.argsort(numbers, kind="stable")
    return PredictionOrigins(
        numbers[order], np.repeat(np.arange(len(tests)), [len(test) for test in tests])[order], order
    )


def run_of(name: str, task: Task, results: Sequence[FoldResult]) -> Run:
    """Return the run of a model from its results on all folds."""
    numbers, _, order = prediction_origins(task.folds)
    logs = np.concatenate([result.log_probabilities for result in results])[order]
    names = tuple(task.names[i] for i in numbers)
    groups = None if task.groups is None else task.groups[numbers]
    peaks = [result.peak_bytes for result in results if result.peak_bytes is not None]
    train_errors = [result.train_error for result in results if result.train_error is not None]
    return Run(
        model=name,
        predictions=Predictions(task.classes, task.codes[numbers], logs, names, groups),
        protocol=task.folds.description,
        seconds_learning=sum(result.seconds_learning for result in results),
        seconds_predicting=sum(result.seconds_predicting for result in results),
        peak_bytes=max(peaks, default=None),
        train_error=float(np.mean(train_errors)) if train_errors else None,
    )


def _reset_peak() -> int | None:
    """Reset the peak of this process's memory, and return its present use; None if the system cannot.

    Free memory is returned to the system first; otherwise a model that reuses it would seem to take none.
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


def out_of_fold(  # noqa: PLR0913 - all but three have a default
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    folds: Any = 5,
    classes: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Predictions:
    """Cross-validate one model and return its predictions in the order of the examples.

    `folds` is a number, for stratified folds that are shuffled once, or any splitter of scikit-learn, or a list of
    training and test numbers. No example may be tested twice; those never tested are left out. `classes` gives the
    order of the labels, by default alphabetical.

    >>> from priory.bayes import BernoulliNB
    >>> mail = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 0], [0, 1]]                 # has "offer", has "lunch"
    >>> out_of_fold(BernoulliNB(), mail, ["spam"] * 3 + ["ham"] * 3, folds=3).errors.tolist()
    [False, False, False, False, False, False]
    """
    labels = np.asarray(y)
    fixed = Folds.of(splits(X, labels, folds), len(labels), "by the folds given")
    [run] = judged({type(model).__name__: model}, Task.of(X, labels, fixed, classes, names))
    return run.predictions


def splits(X: Any, y: NDArray[Any], folds: Any) -> list[Part]:
    """Return the training and test numbers of each fold; raise `LabError` if an example is tested twice."""
    if isinstance(folds, int):
        folds = make_folds(y, n_folds=folds)
    parts = list(check_cv(folds).split(X, y))
    times = np.bincount(np.concatenate([test for _, test in parts]), minlength=len(y))
    if times.max() > 1:
        raise LabError(
            f"{(times > 1).sum()} examples are tested in several folds, the first is row {int((times > 1).argmax())}: "
            "use folds that test each example once, so that errors are counted once"
        )
    return parts
