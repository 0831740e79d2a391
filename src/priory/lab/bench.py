"""The workbench itself: judge models, say how far to trust the best, and keep the result to look at again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import joblib
import numpy as np

from priory.decision import Costs
from priory.lab.cells import Cells
from priory.lab.digests import settings_digest
from priory.lab.error import LabError
from priory.lab.hands import Hands
from priory.lab.interval import percent
from priory.lab.judging import Task, judged
from priory.lab.kept import Kept
from priory.lab.kept_report import Ingredients, kept_report
from priory.lab.learning_curve import LearningCurve, learning_curve
from priory.lab.predictions import Predictions
from priory.lab.report import Report
from priory.lab.run import Run
from priory.lab.tried import Tried
from priory.lab.tried import tried as tried_by_now
from priory.lab.trust import Claim, judgement, winner_trust

MANY: Final = 200  #: examples without an error are too good to be taken as they are
Advance: TypeAlias = Callable[[int], None]
Finish: TypeAlias = Callable[[list[Run]], tuple[list[Run], list[str]]]


@contextmanager
def silence(_what: str, _total: int) -> Iterator[Advance]:
    """Show no progress."""
    yield lambda _: None


@dataclass(frozen=True, slots=True)
class Bench:
    """Where results are kept, by how many processes, or by whom, they are found, and how progress is shown."""

    folder: Path
    jobs: Hands = 1
    fresh: bool = False  #: whether to do anew what was done before
    progress: Callable[[str, int], AbstractContextManager[Advance]] = silence

    def kept(self, command: str, question: Mapping[str, Any]) -> Kept:
        """Return the folder for the answer to a question."""
        kept = Kept.under(self.folder, command, question)
        if self.fresh:
            kept.clear()
        return kept

    def judged(
        self,
        models: Mapping[str, Any],
        task: Task,
        examples: str,
        *,
        with_train_error: bool = False,
        failed: dict[str, str] | None = None,
    ) -> list[Run]:
        """Judge models, taking what was kept of them; `examples` is a digest of the task's rows and labels."""
        how = {"fresh": self.fresh, "with_train_error": with_train_error}
        cells = Cells.of(self.folder / "cells", models, task, examples, **how)
        with self.progress("judging", len(models) * len(task.folds)) as advance:
            return judged(
                models,
                task,
                jobs=self.jobs,
                shelf=cells,
                done=lambda _model, _fold: advance(1),
                with_train_error=with_train_error,
                failed=failed,
            )


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged by: a name for people, what mistakes cost, and what is to be said before anything else.

    `digest` names the examples, whatever their order, so that models which were tried on them before are remembered;
    without it, it is found from rows and labels.
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
    """Judge models by the same folds and report on them, the best first, with a word on how far to trust it.

    `finish` is given the runs and may add to them, and to what is said about them. `curve` also shows how the best
    model's error falls with more examples.

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
        raise LabError("there is no model to judge: name one at least")
    examples, failed = str(joblib.hash((task.X, task.y))), dict[str, str]()
    runs = bench.judged(models, task, examples, with_train_error=len(models) == 1, failed=failed)
    if not runs:
        raise LabError(next(iter(failed.values())))
    subject = replace(subject, lines=[*subject.lines, *(f"not judged: {why}" for why in failed.values())])
    curves = []
    if curve:
        best = best_first(runs)[0].model
        with bench.progress("learning curve", 1):
            here = bench.jobs if isinstance(bench.jobs, int) else 1
            found = learning_curve(models[best], task.X, task.y, folds=task.folds, jobs=here)
        curves = [(best, found)]
    asked = {"title": subject.title, "examples": examples, "folds": task.folds.digest, "models": dict(models)}
    tried = {name: settings_digest(getattr(model, "identity", model)) for name, model in models.items()}
    subject = subject if subject.digest else replace(subject, digest=examples)
    return conclude(runs, subject, bench, bench.kept("judged", asked), tried, finish=finish, curves=curves)


def conclude(  # noqa: PLR0913 - the last two have a default that fits
    runs: Sequence[Run],
    subject: Subject,
    bench: Bench,
    kept: Kept,
    tried: Mapping[str, str],
    *,
    finish: Finish = lambda runs: (runs, []),
    curves: Sequence[tuple[str, LearningCurve]] = (),
) -> Report:
    """Say how far to trust the best of these runs, keep them, and report.

    `tried` has digests of the models that are to be remembered as tried by these examples.
    """
    in_order = best_first(runs)
    error_rates = {tried[run.model]: run.predictions.error_rate for run in runs if run.model in tried}
    before = tried_by_now(bench.folder / "tried.jsonl", subject.digest, error_rates) if error_rates else None
    trust = trust_lines(in_order, before)
    in_order, remarks = finish(in_order)
    lines = [*subject.lines, *trust, *remarks]
    return kept_report(kept, Ingredients(in_order, subject.costs, subject.title, lines, curves))


def best_first(runs: Sequence[Run]) -> list[Run]:
    """Return the runs, the one with the fewest errors first; of equals the one that was named first."""
    return sorted(runs, key=lambda run: run.predictions.error_rate)


def trust_lines(runs: Sequence[Run], before: Tried | None = None) -> list[str]:
    """Say how far to trust the first of these runs, the best, and what else should give pause.

    A model that was tried on the same examples last week and thrown away was compared, too.
    """
    best = runs[0].predictions
    errors = np.column_stack([run.predictions.errors for run in runs])
    lines = [winner_trust(errors, [run.model for run in runs], groups=best.groups).line]
    n_others = before.n_models - len(runs) if before else 0
    if before and n_others > 0:
        others = "1 other model was" if n_others == 1 else f"{n_others} other models were"
        found = judgement(Claim.of(best.errors, best.groups, n_models=before.n_models))
        known = f"{before.n_better} had fewer errors" if before.n_better else found.line
        lines.append(f"{others} judged by the same messages before: {known}")
    return [*lines, *_doubts(best)]


def _doubts(best: Predictions) -> list[str]:
    """What is too bad or too good to be taken as it is."""
    shares = np.bincount(best.truth, minlength=best.n_classes) / len(best)
    usual = best.classes[int(shares.argmax())]
    if best.error_rate >= 1 - shares.max() > 0:
        return [f"this is no better than always saying {usual}, which is wrong in {percent(1 - float(shares.max()))}"]
    if not best.errors.any() and len(best) >= MANY:
        good = f"not one error in {len(best):,}: can the labels be told by something that new mail will not have"
        return [f"{good}, such as the place it was collected from? Look at the feature weights"]
    return []
