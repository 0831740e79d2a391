"""Replay mail in order of arrival: score each message, then learn it. This is TREC's protocol for spam filters.

Every score is a prediction about unknown mail, so all messages are test messages. `Feedback` says which labels become
known, and when; with `FewLessons` all are learned before the first score. Scores are always compared with the true
label, not with the label that was taught. (Cormack and Lynam, TREC 2005 Spam Track Overview.)
"""

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from priory.lab.error import LabError
from priory.lab.examples import Example
from priory.lab.mail import presence, text_columns
from priory.lab.models.learner import Learner
from priory.lab.predictions import Predictions
from priory.lab.run import Mistake, Run, Sample, Weight, weights, worst
from priory.lab.splits import near_duplicates

CHECKPOINT_EVERY: Final = 2000


@dataclass(frozen=True, slots=True)
class FewLessons:
    """The first messages of each label are learned, the following ones are judged, and nothing more is learned.

    >>> print(FewLessons(first=10))
    first 10 of each label learned, next 500 of each judged
    """

    first: int  #: messages of each label that are learned
    then: int = 500  #: messages of each label that are judged

    def __post_init__(self) -> None:
        for what, n in (("learned", self.first), ("judged", self.then)):
            if n < 1:
                raise LabError(f"{n} messages of each label cannot be {what}: give at least 1")

    def __str__(self) -> str:
        return f"first {self.first:,} of each label learned, next {self.then:,} of each judged"

    def parts(self, mail: Iterable[Example], labels: tuple[str, ...]) -> Iterator[tuple[Example, bool]]:
        """Yield the lessons, then the messages to judge, in the order of the mail, each with whether it is a lesson.

        Messages to judge are held back until the last lesson. Mail is read until there is enough of every label.
        """
        n_seen: Counter[str] = Counter()
        held_back: list[Example] = []
        for example in mail:
            n_seen[example.label] += 1
            if n_seen[example.label] <= self.first:
                yield example, True
            elif n_seen[example.label] <= self.first + self.then:
                held_back.append(example)
            fewest = min(n_seen[label] for label in labels)
            if fewest >= self.first:
                yield from ((example_to_judge, False) for example_to_judge in held_back)
                held_back.clear()
            if fewest >= self.first + self.then:
                return
        raise LabError(self._too_few(n_seen, labels))

    def _too_few(self, n_seen: Counter[str], labels: tuple[str, ...]) -> str:
        needed = f"{self.first + self.then:,} are needed, {self.first:,} to learn and {self.then:,} to judge"
        label = next(label for label in labels if n_seen[label] < self.first + self.then)
        shortage = f"of {label} there are {n_seen[label]:,} messages, but {needed}"
        return f"{shortage}: name more mail, or give smaller --first and --then"


@dataclass(frozen=True, slots=True)
class Feedback:
    """The labels that people give: how late, for how many messages, and how often wrong.

    >>> print(Feedback())
    feedback at once
    >>> print(Feedback(delay=500, share=0.1, flipped=0.02))
    feedback 500 messages later for 10 % of the messages, 2 % of it wrong
    >>> print(Feedback(flipped=0.02, few=FewLessons(first=10)))
    first 10 of each label learned, next 500 of each judged, 2 % of the lessons wrong
    """

    delay: int = 0  #: number of messages between a message and its label
    share: float = 1.0  #: share of the messages that get a label
    flipped: float = 0.0  #: share of these labels that are wrong
    seed: int = 0
    few: FewLessons | None = None  #: set if people label the first messages only

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise LabError(f"the delay of feedback must be 0 or more, not {self.delay}")
        for name, value in (("share", self.share), ("flipped", self.flipped)):
            if not 0 <= value <= 1:
                raise LabError(f"{name} is a share from 0 to 1, not {value:g}")
        if self.few and (self.delay or self.share < 1):
            raise LabError(
                "with --first all lessons are learned before any message is judged: leave out --delay and --share"
            )

    def __str__(self) -> str:
        if self.few:
            return f"{self.few}, {100 * self.flipped:g} % of the lessons wrong" if self.flipped else str(self.few)
        when = f"{self.delay:,} messages later" if self.delay else "at once"
        portion = f" for {100 * self.share:g} % of the messages" if self.share < 1 else ""
        wrong = f", {100 * self.flipped:g} % of it wrong" if self.flipped else ""
        return f"feedback {when}{portion}{wrong}"

    def labeller(self, labels: tuple[str, ...]) -> Callable[[str], str | None]:
        """Return a function from the true label of each message to the label that is taught, or None.

        >>> taught_label = Feedback(flipped=1.0).labeller(("ham", "spam"))
        >>> taught_label("ham"), taught_label("spam")
        ('spam', 'ham')
        """
        random = np.random.default_rng(self.seed)

        def taught_label(true: str) -> str | None:
            is_told, is_flipped, which = random.random(3)
            if is_told >= self.share:
                return None
            others = [label for label in labels if label != true]
            return others[int(which * len(others))] if is_flipped < self.flipped else true

        return taught_label


@dataclass(slots=True)
class PartialRun:
    """The predictions of one model in an unfinished replay, from which it can resume without scoring again."""

    logs: list[NDArray[np.float64]] = field(default_factory=list)
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


class _Replay:
    """The state of a replay."""

    def __init__(
        self, learners: Mapping[str, Learner], labels: tuple[str, ...], feedback: Feedback, checkpoint: Checkpoint
    ) -> None:
        self._learners = learners
        self._labels = labels
        self._feedback = feedback
        self._taught_label = feedback.labeller(labels)
        self._waiting: deque[tuple[Example, str | None]] = deque()
        self._checkpoint = checkpoint
        self._partial = {name: checkpoint.load(name) for name in learners}
        self._n_resumed = {name: partial.n_seen for name, partial in self._partial.items()}
        self._seen = hashlib.sha256()
        self._names: list[str] = []
        self._texts: list[NDArray[np.int32]] = []
        self._truth: list[int] = []
        self._sample = Sample(feedback.seed)

    def take(self, example: Example) -> None:
        """Score one message, and learn the message whose label is due."""
        self._score(example)
        self._waiting.append((example, self._taught_label(example.label)))
        if len(self._waiting) > self._feedback.delay:
            self._learn(*self._waiting.popleft())
        self._save_regularly()

    def teach(self, example: Example) -> None:
        """Learn one message that is not judged."""
        self._seen.update(example.message.digest + example.label.encode())
        self._learn(example, self._taught_label(example.label))

    def judge(self, example: Example) -> None:
        """Score one message that is not learned."""
        self._score(example)
        self._save_regularly()

    def _score(self, example: Example) -> None:
        for name, learner in self._learners.items():
            if len(self._partial[name].logs) <= len(self._names):  # otherwise it was scored before an interruption
                self._predict(learner, example, self._partial[name])
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

    def _predict(self, learner: Learner, example: Example, partial: PartialRun) -> None:
        start = time.perf_counter()
        logs = learner.log_probabilities(example.message)
        partial.seconds_predicting += time.perf_counter() - start
        partial.logs.append(logs)
        if self._labels[int(logs.argmax())] != example.label and example.raw is not None:
            number, terms = len(partial.logs) - 1, learner.reasons(example.raw)
            partial.mistakes.append(terms.mistake(number) if terms else Mistake(number, 0.0, ()))

    def _learn(self, example: Example, label: str | None) -> None:
        if label is None:
            return
        for name, learner in self._learners.items():
            partial, start, n_resumed = self._partial[name], time.perf_counter(), self._n_resumed[name]
            learner.learn(example.message, label)
            if n_resumed == 0 or len(self._names) > n_resumed:  # otherwise the time was counted before an interruption
                partial.seconds_learning += time.perf_counter() - start

    def runs(self) -> list[Run]:
        """Return the finished runs."""
        if not self._names:
            raise LabError("there is no mail to replay: the index or the folders are empty")
        copies = near_duplicates(presence(self._texts)[0])
        return [self._run(name, learner, copies) for name, learner in self._learners.items()]

    def _run(self, name: str, learner: Learner, copies: NDArray[np.int64]) -> Run:
        partial = self._partial[name]
        logs = np.array(partial.logs[: len(self._names)])
        truth = np.array(self._truth, np.int64)
        predictions = Predictions(self._labels, truth, logs, tuple(self._names), copies)
        explained = {mistake.number: mistake for mistake in partial.mistakes}
        return Run(
            model=name,
            predictions=predictions,
            protocol=f"replay in order, {self._feedback}",
            seconds_learning=partial.seconds_learning,
            seconds_predicting=partial.seconds_predicting,
            mistakes=tuple(explained.get(i, Mistake(i, 0.0, ())) for i in worst(predictions)),
            weights=self._weights(learner),
        )

    def _weights(self, learner: Learner) -> tuple[Weight, ...]:
        return weights((learner.reasons(raw) for raw in self._sample.raws), self._labels)
