"""One question of the workbench about mail: the mail, what it is judged with, and how the answer is found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray

from priory.lab.bench import Bench, Subject, conclude, judge
from priory.lab.digests import settings_digest
from priory.lab.error import LabError
from priory.lab.exclusion import Exclusion
from priory.lab.explained import explained
from priory.lab.filter_classifier import filter_identity
from priory.lab.golden_rule import look, unsealed
from priory.lab.judging import Task
from priory.lab.leave_one_out import leave_one_out
from priory.lab.mail import Mail
from priory.lab.mail_folds import copies, mail_folds
from priory.lab.models import model_named, model_without
from priory.lab.nested import nested as nested_choice
from priory.lab.report import Report
from priory.lab.run import Run
from priory.lab.sealed import Sealed
from priory.lab.source import Source, counted
from priory.lab.splits import Folds
from priory.lab.suspects import Suspects, suspects
from priory.lab.tried import mail_digest
from priory.options import Options


@dataclass(frozen=True, slots=True)
class Split:
    """How mail is split."""

    by: str
    n_folds: int
    seed: int
    together: bool  #: near-copies on one side

    def folds(self, mail: Mail) -> Folds:
        """Split it."""
        return mail_folds(mail, self.by, self.n_folds, self.seed, together=self.together)


@dataclass(frozen=True, eq=False)
class Case:
    """Mail that was read, to be judged by."""

    found: Source
    mail: Mail
    bench: Bench
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, found: Source, bench: Bench) -> Self:
        """Read all of the mail, in the order in which it came."""
        with bench.progress("reading", found.n_messages) as progressed:
            mail = Mail.of(counted(found.read(bench.jobs), progressed), found.bits)
        _require_labels(mail, found.options.labels)
        return cls(found, mail if found.in_order else mail.by_time(), bench, tuple(_contradictions(mail)))

    def without(self, seal: Path | None) -> Self:
        """Leave out what is sealed."""
        if seal is None:
            return self
        sealed = Sealed.open(seal)
        rest = unsealed(self.mail, sealed)
        n_left_out = len(self.mail) - len(rest)
        if n_left_out == 0:
            raise LabError(f"none of these messages is in the test set {seal}: it belongs to other mail")
        left_out = f"{n_left_out:,} messages of {seal} were left out ({sealed.line})"
        return replace(self, mail=rest, lines=(*self.lines, left_out))

    @property
    def options(self) -> Options:
        """The options of the filter."""
        return self.found.options

    @property
    def subject(self) -> Subject:
        """What is judged by."""
        digest = mail_digest(self.mail.digests, self.mail.labels)
        return Subject(self.found.name, self.options.costs, self.lines, digest)

    def models(self, names: Sequence[str]) -> dict[str, Any]:
        """The models of these names."""
        return {name: model_named(name, self.mail, self.options) for name in names}

    def looked_at(self, model: str, seal: Path) -> Report:
        """Learn all but the sealed test set, and judge that."""
        return look(self.models([model]), self.mail, Sealed.open(seal), self.subject, self.bench)

    def _with_flattery(self, split: Split) -> "Case":
        """Say in the report that near-copies were on both sides, if they were."""
        flattery = "near-copies of a message were on both sides of the splits: the figures flatter"
        return self if split.together else replace(self, lines=(*self.lines, flattery))

    def evaluated(self, model: str, split: Split, exclude: Sequence[str], *, curve: bool) -> Report:
        """Judge one model; with all features and without some kinds, if there are any to do without."""
        folds, models = split.folds(self.mail), self.models([model])
        name = f"{model} without {', '.join(exclude)}"
        if exclude:
            models[name] = model_without(model, self.mail, self.options, exclude)

        def finish(runs: list[Run]) -> tuple[list[Run], list[str]]:
            said = {run.model: run.predictions for run in runs}
            lost = Exclusion.between(", ".join(exclude), said[name], said[model], self.options.costs) if exclude else ""
            return self._explained(runs, folds), str(lost).splitlines()

        subject = self._with_flattery(split).subject
        return judge(models, self._task(folds), subject, self.bench, finish=finish, curve=curve)

    def left_out(self, *, together: bool) -> Report:
        """Judge the filter on each message without it, in one pass."""
        groups = self.copies if together else None
        with self.bench.progress("judging", 1):
            run = leave_one_out(self.mail, self.options, groups)
        subject, model = self.subject, settings_digest(filter_identity(self.options))
        kept = self.bench.kept("left-out", {"examples": subject.digest, "options": self.options, "together": together})
        return conclude([run], subject, self.bench, kept, {"filter": model})

    def compared(self, names: Sequence[str], split: Split, *, nested: bool, curve: bool = False) -> Report:
        """Judge several models, and the choosing among them if asked."""
        folds, models = split.folds(self.mail), self.models(names)

        def finish(runs: list[Run]) -> tuple[list[Run], list[str]]:
            chosen, remarks = self._chosen(models, folds, split) if nested else ([], [])
            return [*self._explained(runs, folds), *chosen], remarks

        subject = self._with_flattery(split).subject
        return judge(models, self._task(folds), subject, self.bench, finish=finish, curve=curve)

    def suspects(self, model: str, n_folds: int, seed: int) -> Suspects:
        """Find labels that look wrong to a model that did not learn the message, nor a near-copy."""
        task = self._task(mail_folds(self.mail, "stratified", n_folds, seed))
        [run] = self._judged(self.models([model]), task)
        return suspects(run.predictions, groups=self.copies)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """A group number for each message: near-copies have the same."""
        return copies(self.mail)

    def _task(self, folds: Folds) -> Task:
        mail = self.mail
        return Task.of(mail.X, mail.labels, folds, self.options.labels, mail.names, groups=self.copies)

    def _judged(self, models: Mapping[str, Any], task: Task) -> list[Run]:
        return self.bench.judged(models, task, str(joblib.hash((task.X, task.y))))

    def _chosen(self, models: Mapping[str, Any], folds: Folds, split: Split) -> tuple[list[Run], list[str]]:
        """Judge "compare these and take the best" by choosing within each fold, by the same kind of split."""
        found = nested_choice(
            models, self._task(folds), lambda train: split.folds(self.mail.take(train)), judge=self._judged
        )
        return [found.run], [found.warning] if found.warning else []

    def _explained(self, runs: list[Run], folds: Folds) -> list[Run]:
        """Let the filter give reasons for its mistakes, where the messages are at hand."""
        raw = self.found.raw
        if raw is None:
            return runs
        return [explained(run, self.mail, folds, self.options, raw()) if run.model == "filter" else run for run in runs]


def _require_labels(mail: Mail, labels: Sequence[str]) -> None:
    for label in labels:
        if label not in mail.labels:
            raise LabError(
                f"there is no {label} among {len(mail):,} messages: to judge takes messages of every label; teach "
                "some, or take the label out of priory.toml"
            )


def _contradictions(mail: Mail) -> list[str]:
    """Messages that are there under two labels cannot all be judged right."""
    labels: defaultdict[bytes, set[str]] = defaultdict(set)
    for digest, label in zip(mail.digests, mail.labels, strict=True):
        labels[digest].add(label)
    n = sum(len(each) > 1 for each in labels.values())
    return [f"{n:,} messages are there under two labels: at least one is wrong; see priory lab errors"] if n else []
