"""Evaluations of labelled mail: one model, several, or each message by all others, with or without a sealed test set.

The filter's worst mistakes come with reasons. Cross-validation works on hashed features, which have no names, so for
the few messages that a report shows, the filter of the fold is taught again and asked about the message itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray

from priory.corpus import Labelled
from priory.filter.options import Options
from priory.filter.provenance import SAMPLE, gap_lines
from priory.lab.cache import ReportInputs, settings_digest, store_report
from priory.lab.error import LabError
from priory.lab.evaluation.bench import Bench, Subject, conclude, judge
from priory.lab.evaluation.cross_validation import Task, judged, prediction_origins
from priory.lab.evaluation.exclusion import Exclusion
from priory.lab.evaluation.leave_one_out import leave_one_out
from priory.lab.evaluation.nested_cross_validation import nested as nested_choice
from priory.lab.examples import Example, Source, with_progress
from priory.lab.label_errors import Suspects, suspects
from priory.lab.mail import Mail, copies, mail_digest, mail_folds
from priory.lab.measures import summary
from priory.lab.models.filter_classifier import filter_identity, rows_of, taught_filter
from priory.lab.models.learner import reasons
from priory.lab.models.registry import model_named, model_without
from priory.lab.report import Report
from priory.lab.run import N_WEIGHED, LogOddsTerms, Mistake, Run, weights, worst
from priory.lab.splits import Folds, folds
from priory.lab.test_set import Fingerprint, Sealed, fingerprints, seal
from priory.lab.trust import ErrorClaim, judgement


@dataclass(frozen=True, slots=True)
class Split:
    """How to split mail into folds."""

    by: str
    n_folds: int
    seed: int
    together: bool  #: whether near-copies stay on one side

    def folds(self, mail: Mail) -> Folds:
        """Return the folds of this mail."""
        return mail_folds(mail, self.by, self.n_folds, self.seed, together=self.together)


@dataclass(frozen=True, eq=False)
class MailEvaluation:
    """Labelled mail, read once, and the evaluations that can be made of it."""

    source: Source
    mail: Mail
    bench: Bench
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, source: Source, bench: Bench) -> Self:
        """Read all mail of a source, in the order of arrival."""
        with bench.progress("reading", source.n_messages) as advance:
            mail = Mail.of(with_progress(source.read(bench.jobs), advance), source.bits)
        _require_labels(mail, source.options.labels)
        lines = *_contradictions(mail), *gap_lines(mail.traces(SAMPLE), source.bits)
        return cls(source, mail if source.in_order else mail.by_time(), bench, lines)

    def without(self, seal: Path | None) -> Self:
        """Leave out the messages of a sealed test set."""
        if seal is None:
            return self
        sealed = Sealed.open(seal)
        rest = without_sealed_mail(self.mail, sealed)
        n_left_out = len(self.mail) - len(rest)
        if n_left_out == 0:
            raise LabError(f"none of these messages is in the test set {seal}: it belongs to other mail")
        left_out = f"{n_left_out:,} messages of {seal} were left out ({sealed.line})"
        return replace(self, mail=rest, lines=(*self.lines, left_out))

    @property
    def options(self) -> Options:
        """The options of the filter."""
        return self.source.options

    @property
    def subject(self) -> Subject:
        """What models are judged on."""
        digest = mail_digest(self.mail.digests, self.mail.labels)
        return Subject(self.source.name, self.options.costs, self.lines, digest)

    def models(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the models with these names."""
        return {name: model_named(name, self.mail, self.options) for name in names}

    def look(self, model: str, seal: Path) -> Report:
        """Learn all mail except the sealed test set, and judge the model on that."""
        return look(self.models([model]), self.mail, Sealed.open(seal), self.subject, self.bench)

    def evaluate(self, model: str, split: Split, exclude: Sequence[str], *, curve: bool) -> Report:
        """Judge one model; if kinds of features are to be excluded, with and without them."""
        folds, models = split.folds(self.mail), self.models([model])
        name = f"{model} without {', '.join(exclude)}"
        if exclude:
            models[name] = model_without(model, self.mail, self.options, exclude)

        def finish(runs: list[Run]) -> tuple[list[Run], list[str]]:
            by_model = {run.model: run.predictions for run in runs}
            if not exclude:
                return self._explain(runs, folds), []
            lost = Exclusion.between(", ".join(exclude), by_model[name], by_model[model], self.options.costs)
            return self._explain(runs, folds), str(lost).splitlines()

        subject = self._with_warning(split).subject
        return judge(models, self._task(folds), subject, self.bench, finish=finish, curve=curve)

    def leave_one_out(self, *, together: bool) -> Report:
        """Judge the filter on each message without it, in one pass."""
        groups = self.copies if together else None
        with self.bench.progress("judging", 1):
            run = leave_one_out(self.mail, self.options, groups)
        subject, model = self.subject, settings_digest(filter_identity(self.options))
        question = {"examples": subject.digest, "options": self.options, "together": together}
        return conclude([run], subject, self.bench, self.bench.results("left-out", question), {"filter": model})

    def compare(self, names: Sequence[str], split: Split, *, nested: bool, curve: bool = False) -> Report:
        """Judge several models; with `nested`, also the choice of the best among them."""
        folds, models = split.folds(self.mail), self.models(names)

        def finish(runs: list[Run]) -> tuple[list[Run], list[str]]:
            chosen, remarks = self._judge_choice(models, folds, split) if nested else ([], [])
            return [*self._explain(runs, folds), *chosen], remarks

        subject = self._with_warning(split).subject
        return judge(models, self._task(folds), subject, self.bench, finish=finish, curve=curve)

    def suspects(self, model: str, n_folds: int, seed: int) -> Suspects:
        """Find labels that look wrong to a model that has learned neither the message nor a near-copy."""
        task = self._task(mail_folds(self.mail, "stratified", n_folds, seed))
        [run] = self._judge(self.models([model]), task)
        return suspects(run.predictions, groups=self.copies)

    @cached_property
    def copies(self) -> NDArray[np.int64]:
        """A group number for each message: near-copies have the same."""
        return copies(self.mail)

    def _with_warning(self, split: Split) -> "MailEvaluation":
        """Add a warning to the report if near-copies may be on both sides of the splits."""
        warning = "near-copies of a message were on both sides of the splits: the figures are too good"
        return self if split.together else replace(self, lines=(*self.lines, warning))

    def _task(self, folds: Folds) -> Task:
        mail = self.mail
        return Task.of(mail.X, mail.labels, folds, self.options.labels, mail.names, groups=self.copies)

    def _judge(self, models: Mapping[str, Any], task: Task) -> list[Run]:
        return self.bench.judge(models, task, str(joblib.hash((task.X, task.y))))

    def _judge_choice(self, models: Mapping[str, Any], folds: Folds, split: Split) -> tuple[list[Run], list[str]]:
        """Judge "compare these and take the best" by choosing within each fold, with the same kind of split."""
        choice = nested_choice(
            models, self._task(folds), lambda train: split.folds(self.mail.take(train)), judge=self._judge
        )
        return [choice.run], [choice.warning] if choice.warning else []

    def _explain(self, runs: list[Run], folds: Folds) -> list[Run]:
        """Add reasons to the filter's mistakes if the messages themselves are available."""
        raw = self.source.raw
        if raw is None:
            return runs
        return [explain(run, self.mail, folds, self.options, raw()) if run.model == "filter" else run for run in runs]


def _require_labels(mail: Mail, labels: Sequence[str]) -> None:
    for label in labels:
        if label not in mail.labels:
            raise LabError(
                f"there is no {label} among {len(mail):,} messages: an evaluation needs messages of every label; teach "
                "some, or take the label out of priory.toml"
            )


def _contradictions(mail: Mail) -> list[str]:
    """Count messages that occur with two labels: no model can be right about all of them."""
    labels: defaultdict[bytes, set[str]] = defaultdict(set)
    for digest, label in zip(mail.digests, mail.labels, strict=True):
        labels[digest].add(label)
    n = sum(len(several) > 1 for several in labels.values())
    return [f"{n:,} messages occur with two labels: at least one is wrong; see priory lab errors"] if n else []


def explain(run: Run, mail: Mail, folds: Folds, options: Options, raw: Iterable[Labelled]) -> Run:
    """Return a run of the filter with reasons for its worst mistakes, and the weights of features.

    `raw` yields the messages themselves, with the same names as `mail`.
    """
    example, fold, _ = prediction_origins(folds)
    mistakes = worst(run.predictions)
    sample = np.random.default_rng(0).permutation(len(mail))[:N_WEIGHED].tolist()
    numbers = {*example[mistakes].tolist(), *sample}
    messages = _messages(raw, {mail.names[number] for number in numbers})
    explained: dict[int, Mistake] = {}
    for number, (train, _) in enumerate(folds):
        places = [place for place in mistakes if fold[place] == number]
        terms = _terms(mail.take(train), options, [messages[mail.names[example[place]]] for place in places])
        explained |= {place: of.mistake(place) for place, of in zip(places, terms, strict=True) if of}
    weighed = _terms(mail, options, [messages[mail.names[number]] for number in sample])
    return replace(
        run,
        mistakes=tuple(explained.get(place, Mistake(place, 0.0, ())) for place in mistakes),
        weights=weights(weighed, options.labels),
    )


def _terms(mail: Mail, options: Options, raws: list[bytes]) -> Iterator[LogOddsTerms | None]:
    """Teach a filter this mail, and yield its reasons about each message."""
    if not raws:
        return
    with taught_filter(rows_of(mail.X, mail.columns, mail.bits), mail.labels, options) as filter_:
        for raw in raws:
            yield reasons(filter_, raw)


def _messages(raw: Iterable[Labelled], names: set[str]) -> dict[str, bytes]:
    return {message.source: message.raw for message in raw if message.source in names}


def seal_share(path: Path, mail: Mail, share: float, seed: int) -> Sealed:
    """Draw a share of the mail, near-copies together, and seal it as a test set."""
    (_, test), *_ = folds(mail.y, "random", n_folds=1, seed=seed, groups=copies(mail), share=share)
    return seal(path, _fingerprints(mail.take(test)))


def without_sealed_mail(mail: Mail, sealed: Sealed) -> Mail:
    """Return the mail that is not in the test set."""
    rest = mail.take(~_is_sealed(mail, sealed))
    if not len(rest):
        raise LabError(f"all of this mail is in the test set {sealed.path}: name the mail to learn from, too")
    return rest


def without_sealed_examples(examples: Iterable[Example], sealed: Sealed) -> Iterator[Example]:
    """Yield the messages that are not in the test set."""
    digests = {example.digest for example in sealed.examples}
    for example in examples:
        [fingerprint] = fingerprints([example.name], [example.label], [example.message.digest])
        if fingerprint.digest not in digests:
            yield example


def look(model: Mapping[str, Any], mail: Mail, sealed: Sealed, subject: Subject, bench: Bench) -> Report:
    """Let one model, given with its name, learn all mail that is not sealed, and judge it on the test set.

    The look is recorded before any figure is returned.
    """
    [name] = model
    tested = np.flatnonzero(_is_sealed(mail, sealed))
    order = np.arange(len(mail))
    all_else = Folds(f"all but the sealed test set {sealed.path.name} learned", order, (tested,), (order[:0],))
    task = Task.of(mail.X, mail.labels, all_else, subject.costs.labels, mail.names, groups=copies(mail))

    def compute() -> Run:
        with bench.progress("judging", 1):
            [run] = judged(model, task)
        return run

    def figures(run: Run) -> Mapping[str, Any]:
        return {key: of.as_dict() for key, of in summary(run.predictions, subject.costs).figures.items()}

    run = sealed.look(_fingerprints(mail.take(tested)), name, compute, figures)
    n_looks = sealed.n_looks
    claim = ErrorClaim.of(run.predictions.errors, run.predictions.groups, n_models=n_looks)
    folder = bench.results("look", {"seal": str(sealed.path), "look": n_looks, "model": name})
    lines = [*subject.lines, judgement(claim).line]
    seal_path = str(sealed.path.resolve())
    return store_report(folder, ReportInputs([run], subject.costs, subject.title, lines, seal=seal_path))


def _is_sealed(mail: Mail, sealed: Sealed) -> NDArray[np.bool_]:
    digests = {example.digest for example in sealed.examples}
    return np.array([fingerprint.digest in digests for fingerprint in _fingerprints(mail)])


def _fingerprints(mail: Mail) -> list[Fingerprint]:
    return fingerprints(mail.names, mail.labels, mail.digests)
