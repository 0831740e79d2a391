"""How people teach in a replay: which labels they give, when, and how often wrongly.

TREC's protocol gives the label of every message at once. People do less. They move spam from the inbox to Junk, rescue
ham from Junk, and say nothing about the rest. Or only some users teach, or no one ever looks into Junk. What is taught
then depends on what the filter decided, so each model in a replay gets the feedback on its own decisions.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from priory.decision import UNSURE
from priory.lab.error import LabError
from priory.lab.evaluation import Teaching, UnsureFolder
from priory.lab.examples import Example


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


class Reader(NamedTuple):
    """What a person would do about a message: the label they would give it, and whether they act on a mistake."""

    label: str | None  #: None if they never give one
    acts: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """The labels that people give: about which messages, how late, and how often wrong.

    >>> print(Feedback())
    feedback at once
    >>> print(Feedback(delay=500, share=0.1, flipped=0.02))
    feedback 500 messages later for 10 % of the messages, 2 % of it wrong
    >>> print(Feedback(flipped=0.02, few=FewLessons(first=10)))
    first 10 of each label learned, next 500 of each judged, 2 % of the lessons wrong
    >>> print(Feedback(teach=Teaching.MOVE, start=200, moved=0.5))
    first 200 learned, then feedback at once by moving 50 % of the misplaced messages
    """

    delay: int = 0  #: number of messages between a message and its label
    share: float = 1.0  #: share of the messages that get a label; with `Teaching.PARTIAL`, of the users who teach
    flipped: float = 0.0  #: share of these labels that are wrong
    seed: int = 0
    few: FewLessons | None = None  #: set if people label the first messages only
    teach: Teaching = Teaching.EVERY
    start: int = 0  #: the first messages, which are all learned and not judged
    moved: float = 1.0  #: how probable it is that a person moves a message that lies in the wrong folder
    unsure: UnsureFolder = UnsureFolder.INBOX
    days: float = 0.0  #: between a message and its label
    ask: int = 0  #: number of messages that a model asks about

    def __post_init__(self) -> None:
        for name, number in (("the delay of feedback", self.delay), ("start", self.start), ("ask", self.ask)):
            if number < 0:
                raise LabError(f"{name} must be 0 or more, not {number}")
        if not 0 <= self.days < math.inf:
            raise LabError(f"days must be a number of 0 or more, not {self.days:g}")
        for name, value in (("share", self.share), ("flipped", self.flipped), ("moved", self.moved)):
            if not 0 <= value <= 1:
                raise LabError(f"{name} is a share from 0 to 1, not {value:g}")
        if self.few and (self.delay or self.share < 1):
            raise LabError(
                "with --first all lessons are learned before any message is judged: leave out --delay and --share"
            )
        if self.few and (self.teach is not Teaching.EVERY or self.start or self.days or self.ask):
            raise LabError("with --first nothing is taught later: leave out --teach, --start, --days and --ask")
        if self.teach is Teaching.ASK and not self.ask:
            raise LabError("--teach ask needs --ask N, the number of messages to ask about")
        if self.teach in {Teaching.EVERY, Teaching.DELAYED} and self.ask:
            raise LabError("there is nothing to ask about where every message is labelled: choose --teach ask or move")
        if self.teach is Teaching.DELAYED and not self.days:
            raise LabError("--teach delayed needs --days, the number of days by which labels are late")

    @property
    def is_usual(self) -> bool:
        """Whether every message is taught at once and rightly."""
        return self == Feedback(seed=self.seed)

    @property
    def leaves_silence(self) -> bool:
        """Whether people say nothing about mail that lies where it belongs, or that they never look at."""
        return self.teach not in {Teaching.EVERY, Teaching.DELAYED}

    def __str__(self) -> str:
        if self.few:
            return f"{self.few}, {100 * self.flipped:g} % of the lessons wrong" if self.flipped else str(self.few)
        start = f"first {self.start:,} learned, then " if self.start else ""
        wrong = f", {100 * self.flipped:g} % of it wrong" if self.flipped else ""
        return f"{start}feedback {self._when()}{self._which()}{self._asked()}{wrong}"

    def _when(self) -> str:
        late = [f"{self.delay:,} messages"] if self.delay else []
        late += [f"{self.days:g} days"] if self.days else []
        return f"{' and '.join(late)} later" if late else "at once"

    def _which(self) -> str:
        percent = f"{100 * self.share:g} %"
        if self.teach is Teaching.PARTIAL:
            return f" by {percent} of the users"
        portion = f" for {percent} of the messages" if self.share < 1 else ""
        if self.teach is Teaching.MOVE:
            own = ", with a folder for unsure mail" if self.unsure is UnsureFolder.OWN else ""
            return f" by moving {100 * self.moved:g} % of the misplaced messages{portion}{own}"
        if self.teach is Teaching.ONE_SIDED:
            return f" about mail in the inbox alone{portion}"
        return portion

    def _asked(self) -> str:
        if not self.ask:
            return ""
        return f" for {self.ask:,} messages asked about" if self.teach is Teaching.ASK else f" and {self.ask:,} asked"

    def readers(self, labels: tuple[str, ...]) -> Callable[[Example], Reader]:
        """Return a function from each message, in order, to what a person would do about it.

        >>> from priory.features import Features
        >>> from priory.filter.prepare import Prepared
        >>> mail = [Example("inbox:1", label, Prepared(b"", "", Features(b"", b""))) for label in ("ham", "spam")]
        >>> [reader.label for reader in map(Feedback(flipped=1.0).readers(("ham", "spam")), mail)]
        ['spam', 'ham']
        """
        random = np.random.default_rng(self.seed)
        movements = np.random.default_rng([self.seed, 1])  # apart: other modes draw the labels that they always drew

        def reader(example: Example) -> Reader:
            is_told, is_flipped, which = random.random(3)
            acts = bool(movements.random() < self.moved)
            told = self._is_teacher(example.recipient) if self.teach is Teaching.PARTIAL else is_told < self.share
            if not told:
                return Reader(None, acts)
            others = [label for label in labels if label != example.label]
            return Reader(others[int(which * len(others))] if is_flipped < self.flipped else example.label, acts)

        return reader

    def _is_teacher(self, user: str) -> bool:
        """Tell whether a user teaches; the same users do for every model and in every run with this seed."""
        digest = hashlib.sha256(f"{self.seed}:{user}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self.share * 2.0**64

    def taught_label(self, reader: Reader, decision: str, inbox: str) -> str | None:
        """Return the label that is taught about a message, given the decision of a model; None if nothing is said.

        `inbox` is the label of mail that stays in the inbox, where people see it.

        >>> moving = Feedback(teach=Teaching.MOVE)
        >>> [moving.taught_label(Reader("spam", acts=True), decision, "ham") for decision in ("ham", "unsure", "spam")]
        ['spam', 'spam', None]
        >>> moving.taught_label(Reader("ham", acts=True), "unsure", "ham") is None     # it lies where it belongs
        True
        """
        in_own_folder = decision == UNSURE and self.unsure is UnsureFolder.OWN
        folder = decision if decision != UNSURE or in_own_folder else inbox
        if self.teach is Teaching.MOVE:
            return reader.label if reader.acts and folder != reader.label else None
        if self.teach is Teaching.ONE_SIDED:
            return reader.label if folder in {inbox, UNSURE} else None
        return None if self.teach is Teaching.ASK else reader.label
