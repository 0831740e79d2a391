"""Replay mail in order of arrival: judge each message, then learn it. This is TREC's protocol for spam filters.

Every prediction is about unknown mail, so all messages are test messages. `Feedback` says which labels become known,
and when; with `FewLessons` all are learned before the first prediction. Predictions are always compared with the true
label, not with the label that was taught. (Cormack and Lynam, TREC 2005 Spam Track Overview.)
"""

import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.decision import UNSURE
from priory.lab.error import LabError
from priory.lab.evaluation.feedback import Feedback
from priory.lab.examples import Example
from priory.lab.mail import presence, text_columns
from priory.lab.models.learner import Learner, Prediction
from priory.lab.predictions import Predictions
from priory.lab.run import Mistake, Run, Sample, Weight, weights, worst
from priory.lab.splits import near_duplicates

CHECKPOINT_EVERY: Final = 2000
DAY_S: Final = 86_400


@dataclass(slots=True)
class PartialRun:
    """The judgements of one model in an unfinished replay, from which it can resume without judging again."""

    logs: list[NDArray[np.float64]] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)  #: indices into the labels, followed by *unsure*
    doubtful: list[bool] = field(default_factory=list)  #: whether a label may teach much
    mistakes: list[Mistake] = field(default_factory=list)
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    n_seen: int = 0  #: messages replayed when this was stored
    seen: str = ""  #: a digest of these messages


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How to load and store an unfinished replay."""

    load: Callable[[str], PartialRun] = lambda _: PartialRun()
    save: Callable[[Mapping[str, PartialRun]], None] = lambda _: None


def replay(
    examples: Iterable[Example],
    learners: Mapping[str, Callable[[], Learner]],
    labels: tuple[str, ...],
    feedback: Feedback | None = None,
    checkpoint: Checkpoint | None = None,
) -> list[Run]:
    """Return one run per learner, all from one pass over the mail.

    >>> from priory.demo import draw
    >>> from priory.corpus import Labelled
    >>> from priory.filter.options import Options
    >>> from priory.lab.examples import examples
    >>> from priory.lab.models.learner import FilterLearner
    >>> options = Options()
    >>> mail = (Labelled(drawn.raw, drawn.label, f"inbox:{i}") for i, drawn in enumerate(draw(200, seed=1)))
    >>> [run] = replay(examples(mail, options.spec), {"filter": lambda: FilterLearner(options)}, options.labels)
    >>> run.protocol, len(run.predictions), bool(run.predictions.errors.mean() < 0.3)
    ('replay in order, feedback at once', 200, True)
    """
    with ExitStack() as stack:
        opened = {name: stack.enter_context(make()) for name, make in learners.items()}
        feedback = feedback or Feedback()
        state = _Replay(opened, labels, feedback, checkpoint or Checkpoint())
        mail = _check_labels(examples, labels)
        if feedback.few is None:
            for example in islice(mail, feedback.start):
                state.teach(example)
            for example in mail:
                state.take(example)
        else:
            for example, is_lesson in feedback.few.parts(mail, labels):
                (state.teach if is_lesson else state.judge)(example)
        return state.runs()


def _check_labels(examples: Iterable[Example], labels: tuple[str, ...]) -> Iterator[Example]:
    """Yield the messages; raise `LabError` for a label that the models do not know."""
    for example in examples:
        if example.label not in labels:
            raise LabError(
                f"{example.name} has the label {example.label!r}, which is none of {', '.join(labels)}: name all "
                "labels in priory.toml, or leave the message out"
            )
        yield example


class _Heard(NamedTuple):
    """A message, the label that was given to it, if any, and the label that would be given on request."""

    example: Example
    label: str | None
    answer: str | None
    time: float
    is_doubtful: bool


class _Teacher:
    """The people who teach one learner: holds back labels that are late, and answers questions.

    A learner asks by the rule of `priory ask`: about messages whose labels may teach much, as they arrive, while it has
    questions left.
    """

    def __init__(self, feedback: Feedback) -> None:
        self._feedback = feedback
        self._n_left = feedback.ask
        self._late: deque[_Heard] = deque()
        self._concluded: list[Example] = []

    def lessons(self, heard: _Heard) -> Iterator[tuple[Example, str | None]]:
        """Take in the next message, and yield the lessons that are due."""
        self._late.append(heard)
        while len(self._late) > self._feedback.delay and self._is_due(self._late[0], heard.time):
            due = self._late.popleft()
            yield due.example, due.label
            self._concluded.append(due.example)
        if self._n_left and heard.is_doubtful and heard.label is None:
            self._n_left -= 1
            yield heard.example, heard.answer

    def concluded(self) -> list[Example]:
        """Return the messages about which people have had time to speak since the last call."""
        concluded, self._concluded = self._concluded, []
        return concluded

    def _is_due(self, waiting: _Heard, now: float) -> bool:
        return not self._feedback.days or now - waiting.time >= self._feedback.days * DAY_S


class _Replay:
    """The state of a replay."""

    def __init__(
        self,
        learners: Mapping[str, Learner],
        labels: tuple[str, ...],
        feedback: Feedback,
        checkpoint: Checkpoint,
    ) -> None:
        self._learners = learners
        self._labels = labels
        self._answers = (*labels, UNSURE)
        self._feedback = feedback
        self._reader = feedback.readers(labels)
        self._teachers = {name: _Teacher(feedback) for name in learners}
        self._now = -math.inf
        self._checkpoint = checkpoint
        self._partial = {name: checkpoint.load(name) for name in learners}
        self._n_resumed = {name: partial.n_seen for name, partial in self._partial.items()}
        self._seen = hashlib.sha256()
        self._names: list[str] = []
        self._texts: list[NDArray[np.uint32]] = []
        self._truth: list[int] = []
        self._sample = Sample(feedback.seed)

    def take(self, example: Example) -> None:
        """Judge one message, and learn the messages whose labels are due."""
        self._judge_by_all(example)
        reader = self._reader(example)
        self._now = max(self._now, example.time if math.isfinite(example.time) else -math.inf)
        for name, learner in self._learners.items():
            partial, number = self._partial[name], len(self._names) - 1
            decision = self._answers[partial.decisions[number]]
            label = self._feedback.taught_label(reader, decision, inbox=self._labels[0])
            heard = _Heard(example, label, reader.label, self._now, bool(partial.doubtful[number]))
            for earlier, taught in self._teachers[name].lessons(heard):
                self._learn(name, learner, earlier, taught)
            for past in self._teachers[name].concluded() if self._feedback.leaves_silence else ():
                learner.conclude(past)
        self._save_regularly()

    def teach(self, example: Example) -> None:
        """Learn one message that is not judged."""
        self._seen.update(example.message.digest + example.label.encode())
        label = self._reader(example).label
        for name, learner in self._learners.items():
            self._learn(name, learner, example, label)

    def judge(self, example: Example) -> None:
        """Judge one message that is not learned."""
        self._judge_by_all(example)
        self._save_regularly()

    def _judge_by_all(self, example: Example) -> None:
        """Have every learner judge a message."""
        for name, learner in self._learners.items():
            if len(self._partial[name].logs) <= len(self._names):  # otherwise it was judged before an interruption
                self._judge(learner, example, self._partial[name])
            elif self._feedback.leaves_silence:
                learner.judge(example)  # what was said about it has to be concluded again
        self._seen.update(example.message.digest + example.label.encode())
        self._texts.append(text_columns(example.message.features))
        self._names.append(example.name)
        self._truth.append(self._labels.index(example.label))
        if example.raw is not None:
            self._sample.offer(example.raw)

    def _save_regularly(self) -> None:
        """Store the state every `CHECKPOINT_EVERY` messages; raise `LabError` if a stored one has other messages."""
        if len(self._names) % CHECKPOINT_EVERY:
            return
        n, seen = len(self._names), self._seen.hexdigest()
        for partial in self._partial.values():
            if partial.n_seen == n and partial.seen != seen:
                raise LabError(
                    f"the first {n:,} messages differ from the interrupted replay: the mail has changed since; "
                    "replay it from the start with --fresh"
                )
            if partial.n_seen < n:
                partial.n_seen, partial.seen = n, seen
        self._checkpoint.save(self._partial)

    def _judge(self, learner: Learner, example: Example, partial: PartialRun) -> None:
        start = time.perf_counter()
        prediction: Prediction = learner.judge(example)
        partial.seconds_predicting += time.perf_counter() - start
        logs = prediction.log_probabilities
        partial.logs.append(logs)
        partial.decisions.append(self._answers.index(prediction.decision))
        partial.doubtful.append(prediction.is_doubtful)
        if self._labels[int(logs.argmax())] != example.label and example.raw is not None:
            number, terms = len(partial.logs) - 1, learner.reasons(example.raw)
            partial.mistakes.append(terms.mistake(number) if terms else Mistake(number, 0.0, ()))

    def _learn(self, name: str, learner: Learner, example: Example, label: str | None) -> None:
        if label is None:
            return
        partial, start, n_resumed = self._partial[name], time.perf_counter(), self._n_resumed[name]
        learner.learn(example, label)
        if n_resumed == 0 or len(self._names) > n_resumed:  # otherwise the time was counted before an interruption
            partial.seconds_learning += time.perf_counter() - start

    def runs(self) -> list[Run]:
        """Return the finished runs."""
        if not self._names:
            if self._feedback.start:
                raise LabError(
                    f"there is no mail to judge after the first {self._feedback.start:,} messages: lower --start"
                )
            raise LabError("there is no mail to replay: the index or the folders are empty")
        copies = near_duplicates(presence(self._texts)[0])
        return [self._run(name, learner, copies) for name, learner in self._learners.items()]

    def _run(self, name: str, learner: Learner, copies: NDArray[np.int64]) -> Run:
        partial = self._partial[name]
        logs = np.array(partial.logs[: len(self._names)])
        truth = np.array(self._truth, np.int64)
        decisions = np.array(partial.decisions[: len(self._names)], np.int64) if learner.decides_itself else None
        predictions = Predictions(self._labels, truth, logs, tuple(self._names), copies, decisions)
        explained = {mistake.number: mistake for mistake in partial.mistakes}
        return Run(
            model=name,
            predictions=predictions,
            protocol=f"replay in order, {self._feedback}",
            seconds_learning=partial.seconds_learning,
            seconds_predicting=partial.seconds_predicting,
            in_order=True,
            mistakes=tuple(explained.get(i, Mistake(i, 0.0, ())) for i in worst(predictions)),
            weights=self._weights(learner),
        )

    def _weights(self, learner: Learner) -> tuple[Weight, ...]:
        return weights((learner.reasons(raw) for raw in self._sample.raws), self._labels)
