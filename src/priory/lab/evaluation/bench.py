"""The workbench itself: judge models, say how far to trust the best one, and store the result.

A log counts the models that were tried on the same mail, also on other days: the more were tried, the less the best of
them can be believed. It has one line per model and set of mail, and holds digests, no mail.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import joblib
import numpy as np

from priory.decision import Costs
from priory.html.numbers import percent
from priory.lab.cache import FoldCache, ReportInputs, ResultFolder, make_folder, settings_digest, store_report
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Task, judged
from priory.lab.evaluation.learning_curve import LearningCurve, learning_curve
from priory.lab.examples import Jobs
from priory.lab.predictions import Predictions
from priory.lab.report import Report
from priory.lab.run import Run
from priory.lab.trust import ErrorClaim, judgement, winner_trust

MANY: Final = 200  #: with at least this many examples, a model without any error is suspicious
Advance: TypeAlias = Callable[[int], None]
Finish: TypeAlias = Callable[[list[Run]], tuple[list[Run], list[str]]]


@contextmanager
def no_progress(_stage: str, _total: int) -> Iterator[Advance]:
    """Show no progress."""
    yield lambda _: None


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder for results, the number of processes or an executor, and the display of progress."""

    folder: Path
    jobs: Jobs = 1
    fresh: bool = False  #: whether to ignore stored results
    progress: Callable[[str, int], AbstractContextManager[Advance]] = no_progress

    def results(self, command: str, question: Mapping[str, Any]) -> ResultFolder:
        """Return the folder for the results of a question."""
        folder = ResultFolder.under(self.folder, command, question)
        if self.fresh:
            folder.clear()
        return folder

    def judge(
        self,
        models: Mapping[str, Any],
        task: Task,
        examples: str,
        *,
        with_train_error: bool = False,
        failed: dict[str, str] | None = None,
    ) -> list[Run]:
        """Judge models, reusing stored results; `examples` is a digest of the task's rows and labels."""
        options = {"fresh": self.fresh, "with_train_error": with_train_error}
        cache = FoldCache.of(self.folder / "cells", models, task, examples, **options)
        with self.progress("judging", len(models) * len(task.folds)) as advance:
            return judged(
                models,
                task,
                jobs=self.jobs,
                cache=cache,
                done=lambda _model, _fold: advance(1),
                with_train_error=with_train_error,
                failed=failed,
            )


@dataclass(frozen=True, slots=True)
class Subject:
    """What models are judged on: a title, the costs of mistakes, and the first lines of the report.

    `digest` identifies the examples, whatever their order, so that the log finds earlier attempts on them. The default
    is a digest of rows and labels.
    """

    title: str
    costs: Costs
    lines: Sequence[str] = ()
    digest: str = ""


def judge(  # noqa: PLR0913 - the last two have a default that fits
    models: Mapping[str, Any],
    task: Task,
    subject: Subject,
    bench: Bench,
    *,
    finish: Finish = lambda runs: (runs, []),
    curve: bool = False,
) -> Report:
    """Judge models by the same folds and return a report, the best first, that says how far to trust it.

    `finish` receives the runs and returns them, possibly with others, and lines to add to the report. `curve` adds the
    learning curve of the best model.

    >>> from tempfile import mkdtemp
    >>> from priory.bayes import BernoulliNB
    >>> from priory.lab.splits import folds
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 1]] * 25)                       # has "offer", has "lunch"
    >>> y = ["spam", "spam", "ham", "ham"] * 25
    >>> task = Task.of(X, y, folds(y, seed=1))
    >>> report = judge({"bernoulli": BernoulliNB()}, task, Subject("An inbox", Costs()), Bench(Path(mkdtemp())))
    >>> print(*report.lines)    # doctest: +NORMALIZE_WHITESPACE
    bernoulli, one look at 100 messages: 0.00 % wrong as seen (0.00 to 3.62); at most 2.95 % with 95 % confidence.
    Believe it: probably.
    """
    if not models:
        raise LabError("there is no model to judge: name at least one")
    examples, failed = str(joblib.hash((task.X, task.y))), dict[str, str]()
    runs = bench.judge(models, task, examples, with_train_error=len(models) == 1, failed=failed)
    if not runs:
        raise LabError(next(iter(failed.values())))
    subject = replace(subject, lines=[*subject.lines, *(f"not judged: {why}" for why in failed.values())])
    curves = []
    if curve:
        best = best_first(runs)[0].model
        with bench.progress("learning curve", 1):
            jobs = bench.jobs if isinstance(bench.jobs, int) else 1
            curves = [(best, learning_curve(models[best], task.X, task.y, folds=task.folds, jobs=jobs))]
    question = {"title": subject.title, "examples": examples, "folds": task.folds.digest, "models": dict(models)}
    digests = {name: settings_digest(getattr(model, "identity", model)) for name, model in models.items()}
    subject = subject if subject.digest else replace(subject, digest=examples)
    return conclude(runs, subject, bench, bench.results("judged", question), digests, finish=finish, curves=curves)


def conclude(  # noqa: PLR0913 - the last two have a default that fits
    runs: Sequence[Run],
    subject: Subject,
    bench: Bench,
    folder: ResultFolder,
    digests: Mapping[str, str],
    *,
    finish: Finish = lambda runs: (runs, []),
    curves: Sequence[tuple[str, LearningCurve]] = (),
) -> Report:
    """Say how far to trust the best of these runs, store them, and return the report.

    `digests` identifies the models to be logged as tried on these examples.
    """
    in_order = best_first(runs)
    error_rates = {digests[run.model]: run.predictions.error_rate for run in runs if run.model in digests}
    attempts = log_attempts(bench.folder / "tried.jsonl", subject.digest, error_rates) if error_rates else None
    trust = trust_lines(in_order, attempts)
    in_order, remarks = finish(in_order)
    lines = [*subject.lines, *trust, *remarks]
    return store_report(folder, ReportInputs(in_order, subject.costs, subject.title, lines, curves))


def best_first(runs: Sequence[Run]) -> list[Run]:
    """Return the runs by their number of errors; runs with equally many stay in their order."""
    return sorted(runs, key=lambda run: run.predictions.error_rate)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How many models have been judged on the same mail, and how many of them were better than the present best."""

    n_models: int
    n_better: int


def log_attempts(path: Path, mail: str, error_rates: Mapping[str, float]) -> Attempts:
    """Log the error rates of models on this mail, and return all attempts on it so far.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp(), "tried.jsonl")
    >>> log_attempts(path, "my inbox", {"filter": 0.02, "forest": 0.03})
    Attempts(n_models=2, n_better=0)
    >>> log_attempts(path, "my inbox", {"boosting": 0.025})
    Attempts(n_models=3, n_better=1)
    """
    try:
        known = _read_log(path, mail)
        make_folder(path.parent)
        with path.open("a", encoding="utf-8") as stream:
            for model, error_rate in error_rates.items():
                if known.get(model) != error_rate:
                    stream.write(json.dumps({"mail": mail, "model": model, "error_rate": error_rate}) + "\n")
    except OSError as error:
        raise LabError(f"cannot use {path}: {error.strerror}; choose another --home") from None
    best = min(error_rates.values())
    return Attempts(len({**known, **error_rates}), sum(rate < best for rate in known.values()))


def _read_log(path: Path, mail: str) -> dict[str, float]:
    """Return the lowest error rate of each model on this mail."""
    known: dict[str, float] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            if entry["mail"] == mail:
                known[entry["model"]] = min(entry["error_rate"], known.get(entry["model"], 1.0))
        except (ValueError, KeyError, TypeError):
            continue  # a line cut off by a crash
    return known


def trust_lines(runs: Sequence[Run], attempts: Attempts | None = None) -> list[str]:
    """Say how far to trust the first of these runs, the best, and what else is suspicious.

    Models that were tried on the same examples earlier count as compared.
    """
    best = runs[0].predictions
    errors = np.column_stack([run.predictions.errors for run in runs])
    lines = [winner_trust(errors, [run.model for run in runs], groups=best.groups).line]
    n_others = attempts.n_models - len(runs) if attempts else 0
    if attempts and n_others > 0:
        others = "1 other model was" if n_others == 1 else f"{n_others} other models were"
        of_all = judgement(ErrorClaim.of(best.errors, best.groups, n_models=attempts.n_models))
        outcome = f"{attempts.n_better} had fewer errors" if attempts.n_better else of_all.line
        lines.append(f"{others} judged by the same messages before: {outcome}")
    return [*lines, *_suspicions(best)]


def _suspicions(best: Predictions) -> list[str]:
    """Say if the best model is no better than a constant answer, or too good to be true."""
    shares = np.bincount(best.truth, minlength=best.n_classes) / len(best)
    usual = best.classes[int(shares.argmax())]
    if best.error_rate >= 1 - shares.max() > 0:
        wrong = percent(1 - float(shares.max()), 2)
        return [f"this is no better than always saying {usual}, which is wrong in {wrong}"]
    if not best.errors.any() and len(best) >= MANY:
        good = f"not one error in {len(best):,}: can the labels be told by something that new mail will not have"
        return [f"{good}, such as the place it was collected from? Look at the feature weights"]
    return []
