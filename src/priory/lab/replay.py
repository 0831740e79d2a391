"""Replay mail as it came: score each message, then learn it, in order; TREC's protocol for spam filters.

Every score is a prediction about mail that was not known yet, so all of it is a test, and nothing is lost to training.
`Feedback` says what becomes known of the labels, and when; with `FewLessons` it ends before the first score. What is
judged is always the truth, never the label that was taught. (Cormack and Lynam, TREC 2005 Spam Track Overview.)
"""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError
from priory.lab.example import Example
from priory.lab.feedback import Feedback
from priory.lab.learner import Learner
from priory.lab.mail import presence
from priory.lab.mail_folds import text_columns
from priory.lab.predictions import Predictions
from priory.lab.run import Mistake, Run, Weight, worst
from priory.lab.splits import near_duplicates
from priory.lab.weights import Sample, weights

CHECKPOINT_EVERY: Final = 2000


@dataclass(slots=True)
class SoFar:
    """What one model has said so far in a replay: enough to go on later without scoring anything again."""

    logs: list[NDArray[np.float64]] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    n_seen: int = 0  #: messages that were seen when this was last written down
    seen: str = ""  #: a digest of these


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a replay that may be interrupted is kept: what there is of it, and how to write down more."""

    load: Callable[[str], SoFar] = lambda _: SoFar()
    save: Callable[[Mapping[str, SoFar]], None] = lambda _: None


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
    >>> from priory.options import Options
    >>> from priory.lab.example import examples
    >>> from priory.lab.learner import FilterLearner
    >>> options = Options()
    >>> mail = (Labelled(drawn.raw, drawn.label, f"inbox:{i}") for i, drawn in enumerate(draw(200, seed=1)))
    >>> [run] = replay(examples(mail, options.spec), {"filter": lambda: FilterLearner(options)}, options.labels)
    >>> run.protocol, len(run.predictions), bool(run.predictions.errors.mean() < 0.3)
    ('replay in order, feedback at once', 200, True)
    """
    with ExitStack() as stack:
        opened = {name: stack.enter_context(make()) for name, make in learners.items()}
        feedback = feedback or Feedback()
        course = _Course(opened, labels, feedback, checkpoint or Checkpoint())
        mail = _known(examples, labels)
        if feedback.few is None:
            for example in mail:
                course.take(example)
        else:
            for example, is_lesson in feedback.few.parts(mail, labels):
                (course.teach if is_lesson else course.judge)(example)
        return course.runs()


def _known(examples: Iterable[Example], labels: tuple[str, ...]) -> Iterator[Example]:
    """Pass messages on that have a label the models know; any other is an error."""
    for example in examples:
        if example.label not in labels:
            raise LabError(
                f"{example.name} has the label {example.label!r}, which is none of {', '.join(labels)}: name all "
                "labels in priory.toml, or leave the message out"
            )
        yield example


class _Course:
    """A replay under way."""

    def __init__(
        self, learners: Mapping[str, Learner], labels: tuple[str, ...], feedback: Feedback, checkpoint: Checkpoint
    ) -> None:
        self._learners = learners
        self._labels = labels
        self._feedback = feedback
        self._tell = feedback.teller(labels)
        self._waiting: deque[tuple[Example, str | None]] = deque()
        self._checkpoint = checkpoint
        self._so_far = {name: checkpoint.load(name) for name in learners}
        self._n_resumed = {name: so_far.n_seen for name, so_far in self._so_far.items()}
        self._seen = hashlib.sha256()
        self._names: list[str] = []
        self._texts: list[NDArray[np.int32]] = []
        self._truth: list[int] = []
        self._sample = Sample(feedback.seed)

    def take(self, example: Example) -> None:
        """Score one message, and learn the one whose label is due."""
        self._score(example)
        self._waiting.append((example, self._tell(example.label)))
        if len(self._waiting) > self._feedback.delay:
            self._learn(*self._waiting.popleft())
        self._save_at_times()

    def teach(self, example: Example) -> None:
        """Learn one message that is not judged."""
        self._seen.update(example.message.digest + example.label.encode())
        self._learn(example, self._tell(example.label))

    def judge(self, example: Example) -> None:
        """Score one message that is not learned."""
        self._score(example)
        self._save_at_times()

    def _score(self, example: Example) -> None:
        for name, learner in self._learners.items():
            if len(self._so_far[name].logs) <= len(self._names):  # else it was scored before an interruption
                self._predict(learner, example, self._so_far[name])
        self._seen.update(example.message.digest + example.label.encode())
        self._texts.append(text_columns(example.message.features))
        self._names.append(example.name)
        self._truth.append(self._labels.index(example.label))
        if example.raw is not None:
            self._sample.offer(example.raw)

    def _save_at_times(self) -> None:
        """Write down what there is; what was written before must be about the same messages."""
        if len(self._names) % CHECKPOINT_EVERY:
            return
        n, seen = len(self._names), self._seen.hexdigest()
        for so_far in self._so_far.values():
            if so_far.n_seen == n and so_far.seen != seen:
                raise LabError(
                    f"the first {n:,} messages are not those of the replay that was interrupted: the mail has changed "
                    "since; replay it from the start with --fresh"
                )
            if so_far.n_seen < n:
                so_far.n_seen, so_far.seen = n, seen
        self._checkpoint.save(self._so_far)

    def _predict(self, learner: Learner, example: Example, so_far: SoFar) -> None:
        start = time.perf_counter()
        logs = learner.log_probabilities(example.message)
        so_far.seconds_predicting += time.perf_counter() - start
        so_far.logs.append(logs)
        if self._labels[int(logs.argmax())] != example.label and example.raw is not None:
            number, said = len(so_far.logs) - 1, learner.reasons(example.raw)
            so_far.mistakes.append(said.mistake(number) if said else Mistake(number, 0.0, ()))

    def _learn(self, example: Example, label: str | None) -> None:
        if label is None:
            return
        for name, learner in self._learners.items():
            so_far, start, n_resumed = self._so_far[name], time.perf_counter(), self._n_resumed[name]
            learner.learn(example.message, label)
            if n_resumed == 0 or len(self._names) > n_resumed:  # else the time was counted before an interruption
                so_far.seconds_learning += time.perf_counter() - start

    def runs(self) -> list[Run]:
        """Return what has come of it."""
        if not self._names:
            raise LabError("there is no mail to replay: the index or the folders are empty")
        copies = near_duplicates(presence(self._texts)[0])
        return [self._run(name, learner, copies) for name, learner in self._learners.items()]

    def _run(self, name: str, learner: Learner, copies: NDArray[np.int64]) -> Run:
        so_far = self._so_far[name]
        logs = np.array(so_far.logs[: len(self._names)])
        truth = np.array(self._truth, np.int64)
        predictions = Predictions(self._labels, truth, logs, tuple(self._names), copies)
        explained = {mistake.number: mistake for mistake in so_far.mistakes}
        return Run(
            model=name,
            predictions=predictions,
            protocol=f"replay in order, {self._feedback}",
            seconds_learning=so_far.seconds_learning,
            seconds_predicting=so_far.seconds_predicting,
            mistakes=tuple(explained.get(i, Mistake(i, 0.0, ())) for i in worst(predictions)),
            weights=self._weights(learner),
        )

    def _weights(self, learner: Learner) -> tuple[Weight, ...]:
        return weights((learner.reasons(raw) for raw in self._sample.raws), self._labels)
