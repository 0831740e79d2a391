"""Replay the mail of a source with named models, resume an interrupted replay, and report on it."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from priory.filter.provenance import LessonTrace, gap_lines, header_buckets
from priory.lab.cache import settings_digest
from priory.lab.error import LabError
from priory.lab.evaluation.bench import Bench, Subject, conclude
from priory.lab.evaluation.feedback import Feedback
from priory.lab.evaluation.mail_evaluation import without_sealed_examples
from priory.lab.evaluation.replay import Checkpoint, replay
from priory.lab.examples import Example, Jobs, Source, in_order, with_progress
from priory.lab.mail import mail_digest
from priory.lab.models.filter_classifier import filter_identity
from priory.lab.models.registry import PROGRAM, learner_named
from priory.lab.report import Report
from priory.lab.test_set import Sealed

MOST_TRACES: Final = 2_000  #: messages of a replay by which the origins of the labels are compared
FEW_CHANGES: Final = 0.02  #: changes of label per message below which folders were taught one after the other


@dataclass(slots=True)
class _MailLog:
    """Digests and labels of the messages that were replayed, and of some of them where they come from."""

    bits: int
    every: int  #: the distance between two messages whose traces are stored
    digests: list[bytes] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    traces: list[LessonTrace] = field(default_factory=list)

    def record(self, mail: Iterable[Example]) -> Iterator[Example]:
        for example in mail:
            if len(self.labels) % self.every == 0:
                message = example.message
                headers = header_buckets(message.features, self.bits)
                self.traces.append(LessonTrace(example.label, message.sender, example.name, headers))
            self.digests.append(example.message.digest)
            self.labels.append(example.label)
            yield example

    def warnings(self) -> list[str]:
        return [*self._order_warnings(), *gap_lines(self.traces, self.bits)]

    def _order_warnings(self) -> list[str]:
        n_changes = sum(one != two for one, two in pairwise(self.labels))
        if len(self.labels) < 100 or n_changes > FEW_CHANGES * len(self.labels):
            return []
        times = "once" if n_changes == 1 else f"{n_changes:,} times"
        few = f"the labels change only {times} in {len(self.labels):,} messages"
        as_if = "as if one folder after another had been taught"
        return [f"{few}, {as_if}; mail does not arrive in this order: use priory lab evaluate"]


def replay_source(
    source: Source, models: Sequence[str], feedback: Feedback, bench: Bench
) -> tuple[Report, dict[str, float | int | None]]:
    """Replay mail with some models, resuming an interrupted replay of the same mail.

    Also return the number of messages, the seconds including reading, and the messages per second (None if the replay
    was resumed).
    """
    options = source.options
    question = {"mail": source.name, "messages": source.n_messages, "models": list(models)}
    folder = bench.results("replay", {**question, "feedback": feedback, "options": options})
    is_resumed = any(folder.load_partial(name).n_seen for name in models)
    log, start = _MailLog(source.bits, source.n_messages // MOST_TRACES + 1), time.perf_counter()
    with bench.progress("replaying", source.n_messages) as advance:
        learners = {
            name: partial(learner_named, name, options, hears_silence=feedback.leaves_silence) for name in models
        }
        checkpoint = Checkpoint(folder.load_partial, folder.save_partial)
        mail = with_progress(log.record(_in_order_of_arrival(source, bench.jobs)), advance)
        runs = replay(mail, learners, options.labels, feedback, checkpoint)
        runs = [replace(run, model=run.model.removeprefix(PROGRAM).rpartition("/")[2]) for run in runs]
        del mail  # with `FewLessons` some mail is left unread: this stops the processes that read ahead
    seconds = time.perf_counter() - start
    subject = Subject(source.name, options.costs, log.warnings(), mail_digest(log.digests, log.labels))
    # Worse feedback does not make another model, and the settings of a program are unknown here.
    names = [name for name in models if feedback.is_usual and not name.startswith(PROGRAM)]
    digests = {name: settings_digest(filter_identity(options) if name == "filter" else name) for name in names}
    report = conclude(runs, subject, bench, folder, digests)
    folder.clear("so-far-*")
    speed = None if is_resumed else len(log.labels) / seconds
    return report, {"messages": len(log.labels), "seconds": seconds, "messages_per_second": speed}


def _in_order_of_arrival(source: Source, jobs: Jobs) -> Iterable[Example]:
    mail = source.read(jobs)
    return mail if source.in_order else in_order(mail)


def with_weights(source: Source, weights: Sequence[str]) -> Source:
    """Return a source whose options have other weights, given as texts such as `source-gram=0`."""
    changed = dict(source.options.weights)
    for text in weights:
        kind, _, weight = text.partition("=")
        if kind not in changed:
            raise LabError(f"{text!r} is not KIND=WEIGHT with one of the kinds {', '.join(changed)}")
        try:
            changed[kind] = float(weight)
        except ValueError:
            changed[kind] = math.nan
        if not 0 <= changed[kind] < math.inf:
            raise LabError(f"{text!r}: the weight must be a number of 0 or more, such as {kind}=0.5")
    name = f"{source.name}, {', '.join(weights)}" if weights else source.name
    return replace(source, name=name, options=replace(source.options, weights=changed))


def without_sealed(source: Source, seal: Path | None) -> Source:
    """Return a source without the messages of a sealed test set."""
    if seal is None:
        return source
    sealed = Sealed.open(seal)
    n_left = source.n_messages - len(sealed.examples)
    name = f"{source.name} without {seal}"
    return replace(
        source, name=name, n_messages=n_left, read=lambda jobs: without_sealed_examples(source.read(jobs), sealed)
    )
