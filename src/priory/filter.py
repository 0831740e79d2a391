"""The filter: where the stages meet. Check, learn, forget, explain."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from priory.ageing import Ageing, Limits
from priory.autolearn import Autolearn, certain_label
from priory.bayes import Calibration, Counts, PresenceBayes
from priory.bayes.counts import contrasts
from priory.decision import UNSURE, Costs, cheapest, thresholds
from priory.features import KINDS, Features, Spec, extract, packed
from priory.journal import (
    AUTOMATIC,
    EVERYTHING,
    PERSONAL_BITS,
    Journal,
    JournalError,
    Selection,
    Store,
    follow_store,
    is_person,
)
from priory.keeping import Keeping
from priory.memory import Learned, Memory, Taught, open_journal
from priory.message import Message, letter, parse
from priory.scoring import Score, no_evidence, scores
from priory.verdict import AWAY, Claim, Evidence, Kind, Verdict

if TYPE_CHECKING:
    from priory.explanation import Explanation
    from priory.journal.persons import User
    from priory.listed import Listed, Page
    from priory.predicted import Predicted

Thing = TypeVar("Thing")
GROUP: Final = 500  #: messages that bulk learning makes durable together
READ_TOGETHER: Final = 16
MOST_BYTES_TOGETHER: Final = 512 * 1024
#: How much each kind of feature counts; measured in docs/decisions/accuracy.md.
WEIGHTS: Final[Mapping[str, float]] = {
    "word": 0.4,
    "pair": 0.1,
    "triple": 0.1,
    "header": 0.2,
    "sender": 0.5,
    "fact": 0.4,
    "link": 0.5,
    "markup": 0.1,
    "attachment": 1.0,
    "source-gram": 0.5,
    "header-gram": 1.1,
    "pattern": 1.0,
}
DAMPING: Final = 60.0
DAMPING_OF_PATTERNS: Final = 3.0  #: a person chose them, so a single one counts


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that can be set about a filter."""

    costs: Costs = field(default_factory=Costs)
    spec: Spec = field(default_factory=Spec)
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    smoothing: float = 0.03
    autolearn: Autolearn | None = None  #: None if nothing is learned without a person
    personal_bits: int = PERSONAL_BITS  #: of the table of personal evidence, where a journal is made
    limits: Limits = field(default_factory=Limits)
    unwanted: tuple[str, ...] = ()  #: labels of mail that nobody wants; none named: `priory.points` knows the usual one
    store: Store | None = None  #: where the journal is that several machines share; None if it is in the home

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels, in the order of the cost matrix; with two of them, verdicts are about the second."""
        return self.costs.labels

    @property
    def model(self) -> PresenceBayes:
        """How the counts are read."""
        damping = tuple(DAMPING_OF_PATTERNS if kind == "pattern" else DAMPING for kind in KINDS)
        return PresenceBayes(tuple(self.weights[kind] for kind in KINDS), self.smoothing, damping)


class Stats(NamedTuple):
    """What a filter has learned, and how it reads scores."""

    lessons: Mapping[str, int]
    automatic: Mapping[str, int]  #: those of them that the filter has learned by itself
    changes: int
    buckets_used: int
    buckets: int
    scored: Mapping[str, int]  #: lessons that were scored before they were learned, which calibration is drawn from
    calibration: Mapping[str, Calibration]  #: for each label that is scored against the rest
    thresholds: Mapping[str, float]
    journal_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"calibration": {label: line._asdict() for label, line in self.calibration.items()}}


class Prepared(NamedTuple):
    """A message as checking and learning need it, so that who does both reads it once."""

    digest: bytes
    sender: str
    features: Features
    packed: bytes = b""  #: the features as the journal stores them, if somebody has packed them already
    letter: bytes = b""  #: what the message is called whoever's copy it is, where that matters


def prepare(raw: bytes, spec: Spec) -> Prepared:
    """Read a message: the first two lines of everything a filter does.

    >>> prepare(b"From: ann@mail.example\\n\\nLunch on Friday?", Spec()).sender
    'mail.example'
    """
    return prepared(parse(raw), spec)


def prepared(message: Message, spec: Spec, *, named: bool = False) -> Prepared:
    """Return what checking and learning need of a message that was parsed; if `named`, the name of the letter, too."""
    features = extract(message, spec)
    return Prepared(message.digest, message.sender_domain, features, letter=letter(message) if named else b"")


def prepare_many(messages: Sequence[bytes | Prepared], spec: Spec, *, named: bool = False) -> list[Prepared]:
    """Read messages, but for those that are read already: some are parsed, then the features of these are drawn.

    To do one after the other takes a tenth longer, as each of the two drives the other from the processor's caches.
    """
    read: list[Prepared] = []
    for i in range(0, len(messages), READ_TOGETHER):
        some = [each if isinstance(each, Prepared) else parse(each) for each in messages[i : i + READ_TOGETHER]]
        read += [each if isinstance(each, Prepared) else prepared(each, spec, named=named) for each in some]
    return read


def _raw_bytes(lesson: tuple[bytes | Prepared, str, str]) -> int:
    return 0 if isinstance(lesson[0], Prepared) else len(lesson[0])


def together(
    things: Iterable[Thing], size: Callable[[Thing], int], most: int, most_bytes: int = MOST_BYTES_TOGETHER
) -> Iterator[list[Thing]]:
    """Yield things in groups of `most`, or fewer if they are large; those before one that cannot be had come first.

    The last group may be empty.

    >>> list(together(["a", "b", "c"], len, 2))
    [['a', 'b'], ['c']]
    """
    some: list[Thing] = []
    n_bytes = 0
    try:
        for thing in things:
            some.append(thing)
            n_bytes += size(thing)
            if len(some) == most or n_bytes >= most_bytes:
                yield some
                some, n_bytes = [], 0
    except Exception:
        yield some
        raise
    yield some


def evidence(features: Features, score: Score, most_readable: int | None = None) -> tuple[Evidence, ...]:
    """Return every feature with its name, term and places, the weightiest first; or only so many readable ones."""
    from priory.evidence import evidence, readable  # noqa: PLC0415 - a quick start where no one asks why

    return evidence(features, score) if most_readable is None else readable(features, score, most_readable)


def weighed(features: Features, score: Score, most: int) -> tuple[tuple[Evidence, ...], tuple[Kind, ...]]:
    """Return the weightiest features, and what all of each kind add."""
    from priory.evidence import weighed  # noqa: PLC0415 - a quick start where no one asks why

    return weighed(features, score, most)


class Filter:
    """A filter and the journal it has learned from, in a folder; it belongs to the thread that opened it."""

    def __init__(self, home: Path, options: Options) -> None:
        self.home = home
        self.options = options
        self._model = options.model
        bits = options.spec.bits, options.personal_bits
        journal, counts = open_journal(home, bits, options.store)
        self._memory = Memory(journal, counts, options.labels, self._model, options.autolearn)
        self._keeping = Keeping(self._memory, options.labels, home if options.store else None)
        self._spec = replace(options.spec, bits=self._memory.journal.bits)
        self._thresholds = thresholds(options.costs)
        self._ageing: Ageing | None = None
        self._predicted: tuple[int, Predicted] | None = None  # and the generation of the counts that it is of

    @property
    def spec(self) -> Spec:
        """Which features are drawn from a message, into how many buckets: as many as the journal has."""
        return self._spec

    @property
    def journal(self) -> Journal:
        """What was learned, row by row."""
        return self._memory.journal

    @property
    def counts(self) -> Counts:
        """What was learned, counted: as it was when the filter last learned or checked something."""
        return self._memory.counts

    @classmethod
    def open(cls, home: Path | str, options: Options | None = None) -> Self:
        """Open the filter in a folder; a folder that is not there is made.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     filter.check(b"Subject: hello\\n\\nHow are you?").label
        'unsure'
        """
        home = Path(home)
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"{home} cannot be made: {error.strerror}. Name another home.") from None
        return cls(home, options or Options())

    @property
    def change(self) -> int:
        """The number of the last change that was counted; -1 if none is known."""
        return self._memory.view.change

    @property
    def trouble(self) -> Exception | None:
        """Why the counts may be older than the journal: it cannot be reached; None if it can."""
        return self._memory.view.following.trouble

    def follow(self) -> None:
        """Have what other machines teach come by itself from now on: then no check waits for the server of a journal.

        Where the journal is a file, there is no need to.
        """
        if self.options.store is not None:
            self._memory.view.following.follow(partial(follow_store, self.options.store))

    def refresh(self) -> None:
        """Take in what others have taught, as every check does: for who has a moment."""
        self._memory.view.refresh()

    def deliver(self) -> int:
        """Hand what was kept while the journal could not be reached to it; return how many lessons and wishes."""
        return self._keeping.deliver()

    def save_if_due(self) -> None:
        """Leave a snapshot of the counts, if many changes came since the last."""
        self._memory.view.save_if_due()

    def close(self) -> None:
        """Let go of the files."""
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._memory.abandon()

    @property
    def names_letters(self) -> bool:
        """Whether it matters which letter a message is a copy of: where something may be, or was, learned by itself."""
        if self.options.autolearn is not None:
            return True
        self._memory.view.refresh()
        return any(self._memory.view.automatic)

    def prepare(self, raw: bytes) -> Prepared:
        """Read a message once, for `check` and `learn` to use."""
        (read,) = self.prepare_many([raw])
        return read

    def prepare_many(self, messages: Sequence[bytes | Prepared]) -> list[Prepared]:
        """Read messages once, for `check` and `learn` to use."""
        return prepare_many(messages, self._spec, named=self.names_letters)

    def check(self, message: bytes | Prepared, user: str = "") -> Verdict:
        """Return what is to be said about a message; to a user, as far as that one sees it differently."""
        (verdict,) = self.check_many([message], user)
        return verdict

    def check_many(self, messages: Sequence[bytes | Prepared], user: str = "") -> Iterator[Verdict]:
        """Yield what is to be said about each message: all are read, then judged; who has many gives some at a time."""
        read = prepare_many(messages, self._spec)
        self._memory.view.refresh()
        for each in read:
            missing = self._missing()
            yield self._verdict(each, self._scores(each.features, missing, user), missing, user)

    def explain(self, raw: bytes, user: str = "") -> "Explanation":
        """Return the verdict, and the message coloured by what each part of it adds to the log-odds."""
        from priory.explanation import Explanation, coloured  # noqa: PLC0415 - a quick start where no one asks why

        read = self.prepare(raw)
        self._memory.view.refresh()
        missing = self._missing()
        scores = self._scores(read.features, missing, user)
        verdict = self._verdict(read, scores, missing, user)
        about = scores[self.options.labels.index(verdict.about)]
        return Explanation(verdict, coloured(read.features, about))

    def learn(self, message: bytes | Prepared, label: str, source: str = "", user: str = "") -> Learned:
        """Teach the filter what a message is; durable when this returns.

        Teaching the same twice changes nothing; teaching another label turns the lesson round.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     [filter.learn(b"Subject: hello", label).outcome for label in ("ham", "ham", "spam")]
        ['learned', 'known', 'relearned']
        """
        ((learned,),) = self.learn_many([(message, label, source)], user)
        return learned

    def learn_many(
        self, lessons: Iterable[tuple[bytes | Prepared, str, str]], user: str = "", group: int = GROUP
    ) -> Iterator[list[Learned]]:
        """Learn (message, label, source) after (message, label, source); yield what is durable, group by group."""
        taught = self._taught(lessons, named=self.names_letters)
        while ready := list(islice(taught, group)):
            yield self._keeping.learn(ready, user)

    def forget(self, message: bytes, user: str = "") -> str | None:
        """Take a lesson back exactly, by the message or by its digest; return its label, None if there was none.

        If the user has not taught it but the filter has learned it by itself, that is taken back. If the journal cannot
        be reached, KEPT is returned: it will be forgotten once it can. By its digest alone it then cannot be.
        """
        if self._is_digest(message):
            return self._memory.forget(message, user)
        read = parse(message)
        return self._keeping.forget(read.digest, user, letter(read))

    def taught_by(self, message: bytes) -> list[str]:
        """Return who has taught a message, given itself or by its digest; the empty name is nobody in particular."""
        digest = message if self._is_digest(message) else parse(message).digest
        return [user for user in self.journal.users_of(digest) if user != AUTOMATIC]

    def would_learn(self, verdict: Verdict) -> bool:
        """Tell whether a message is one to learn automatically, as far as its verdict goes.

        What is learned so counts for everyone: what a user sees differently is no reason.
        """
        rules = self.options.autolearn
        return rules is not None and not verdict.you and certain_label(verdict, rules) is not None

    def autolearn(self, message: bytes | Prepared, label: str) -> str:
        """Learn a message that the filter `would_learn`, of the label that was said, if all else allows it, too.

        Returns *learned*; or *known*, *early*, *full* or *busy*. What a person teaches, before or later, outranks it.
        """
        if self.options.autolearn is None:
            raise ValueError("autolearning is switched off: give the options that switch it on")
        (taught,) = self._taught([(message, label, "auto")], named=True)
        return self._memory.learn_automatically(taught)

    def forget_many(self, selection: Selection, group: int = GROUP) -> Iterator[int]:
        """Take back exactly the lessons of a selection; yield how many are durably gone, group by group.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham")
        ...     sum(filter.forget_many(Selection(sender="mail.example")))
        1
        """
        yield from self._memory.forget_many(self.resolved(selection), group)

    @property
    def ageing(self) -> Ageing:
        """What forgets the oldest lessons where there are more than there may be."""
        if self._ageing is None:
            self._ageing = Ageing(self._memory, self.options.limits)
        return self._ageing

    def users(self) -> "list[User]":
        """Return all who have taught under a name, with how many lessons each has."""
        return self.journal.persons.every()

    def exported(self, user: str) -> Iterator[dict[str, Any]]:
        """Yield all that the journal has of each lesson of a user, as plain values for JSON."""
        import base64  # noqa: PLC0415 - a quick start where nobody exports

        for lesson in self.journal.lessons_of(user):
            held_out = lesson.held_out
            yield lesson._asdict() | {
                "digest": lesson.digest.hex(),
                "features": base64.b64encode(lesson.features).decode(),
                "held_out": None if held_out is None else base64.b64encode(held_out).decode(),
            }

    def delete_user(self, user: str, group: int = GROUP) -> Iterator[int]:
        """Delete all that there is of a user, exactly; yield how many lessons are durably gone, group by group.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham", user="ann")
        ...     sum(filter.delete_user("ann")), filter.users()
        (1, [])
        """
        if not is_person(user):
            raise ValueError("a user has a name: lessons under none are forgotten by selection")
        yield from self._keeping.delete_user(user, group)

    def relearn(self, digest: bytes, label: str, user: str = "") -> Learned | None:
        """Turn a lesson of a person round without the message, durably and exactly; None if there is none.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     taught = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "spam")
        ...     filter.relearn(bytes.fromhex(taught.digest), "ham").outcome
        'relearned'
        """
        if user == AUTOMATIC:
            raise ValueError("an automatic lesson is no person's: forget it, and learn the message")
        self._refuse_label(label)
        return self._memory.relearn(digest, label, user, self.journal.now())

    def confirm(self, digest: bytes, label: str, user: str = "", *, right: bool = True) -> bool:
        """Note that the label of a lesson is right however it looks, or take that back; False: no such lesson.

        The note goes with the lesson, and when it is turned round.
        """
        return self._memory.confirm(digest, label, user, right=right)

    def predicted(self) -> "Predicted":
        """Return what was predicted of each lesson just before it was learned, as scores are read today."""
        from priory.predicted import predicted  # noqa: PLC0415 - a quick start where no one looks

        self._memory.view.refresh()
        if self._predicted is None or self._predicted[0] != self._memory.view.generation:
            found = predicted(self.journal, self.options.labels, self._memory.calibrations)
            self._predicted = self._memory.view.generation, found
        return self._predicted[1]

    def lessons(self, selection: Selection = EVERYTHING, most: int = 100, after: str | None = None) -> "Page":
        """Return a page of the lessons of a selection, the latest first; `after` is the page's before.

        Nothing is held open between two pages: others may learn and forget.
        """
        from priory.listed import page_of  # noqa: PLC0415 - a quick start where no one looks

        self._memory.view.refresh()
        found = self.journal.listing.page(self.resolved(selection), most + 1, after)
        return page_of(found, most, self.options.labels, self._memory.calibrations)

    def learned_by(self, changes: Sequence[int]) -> "dict[int, Listed]":
        """Return the lessons that some changes have learned, by the numbers of these, but for those that are gone."""
        page = self.lessons(Selection(changes=tuple(changes)), len(changes))
        return {each.change: each for each in page.lessons}

    def n_lessons(self, selection: Selection = EVERYTHING) -> int:
        """Return how many lessons a selection has."""
        return self.journal.listing.n_of(self.resolved(selection))

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        return self.journal.listing.changes_of(self.resolved(selection))

    def resolved(self, selection: Selection) -> Selection:
        """Return a selection that the journal understands, which knows no certainties: those of now are looked up."""
        if not selection.is_by_certainty:
            return selection
        changes = self.predicted().changes_of(selection)
        if selection.changes is not None:
            changes = tuple(sorted({*changes} & {*selection.changes}))
        return replace(selection, certainty_below=None, certainty_above=None, changes=changes)

    def _is_digest(self, message: bytes) -> bool:
        """Tell whether this is not a message, but the digest of one that was learned."""
        return len(message) == 32 and bool(self.journal.users_of(message))

    def merge(self, other: Journal) -> dict[str, int]:
        """Take in the lessons of another journal, none of them twice."""
        return self._memory.merge(other)

    def rebuild(self) -> None:
        """Check the journal from end to end, and build the counts from it anew."""
        self._memory.rebuild()

    def stats(self) -> Stats:
        """Return what has been learned and how scores are read."""
        self._memory.view.refresh()
        labels, counts, tally = self.options.labels, self._memory.counts, self.journal.tally()
        about = [labels[i] for i in contrasts(len(labels))]
        return Stats(
            lessons={label: tally.get(label, 0) for label in labels},
            automatic=dict(zip(labels, self._memory.view.automatic, strict=True)),
            changes=self.journal.position().change,
            buckets_used=int(counts.table.any(axis=1).sum()),
            buckets=len(counts.rows),
            scored=dict(zip(labels, counts.n_scored(), strict=True)),
            calibration=dict(zip(about, self._memory.calibrations, strict=True)),
            thresholds=self._thresholds,
            journal_bytes=self.journal.size_bytes(),
        )

    def _taught(self, lessons: Iterable[tuple[bytes | Prepared, str, str]], *, named: bool) -> Iterator[Taught]:
        """Yield what can be known of lessons before it is their turn to be learned."""
        for some in together(lessons, _raw_bytes, READ_TOGETHER):
            read = prepare_many([message for message, _, _ in some], self._spec, named=named)
            for (digest, sender, features, blob, name), (_, label, source) in zip(read, some, strict=True):
                self._refuse_label(label)
                stored = blob or packed(features, self._spec.bits)
                now = self.journal.now()
                yield Taught(
                    digest, label, stored, features.buckets, features.offsets, source, sender, now, name or digest
                )

    def _refuse_label(self, label: str) -> None:
        if label not in self.options.labels:
            raise ValueError(f"unknown label {label!r}: this filter knows {', '.join(self.options.labels)}")

    def _scores(self, features: Features, missing: list[str], user: str) -> list[Score]:
        if missing:
            n = len(self.options.labels)
            return [no_evidence(features, math.log(1 / (n - 1)))] * n
        return scores(features, self._memory.counts, self._model, self._memory.calibrations, user)

    def _verdict(self, read: Prepared, scores: list[Score], missing: list[str], user: str) -> Verdict:
        labels, costs = self.options.labels, self.options.costs
        claims = {
            label: Claim(
                label,
                score.log_odds,
                score.prior,
                partial(evidence, read.features, score),
                partial(weighed, read.features, score),
                score.you,
            )
            for label, score in zip(labels, scores, strict=True)
        }
        probabilities = [claim.probability for claim in claims.values()]
        expected = costs.expected(probabilities)
        reason = self._reason(missing)
        return Verdict(
            label=UNSURE if reason else cheapest(expected),
            about=labels[1] if len(labels) == 2 else labels[probabilities.index(max(probabilities))],
            claims=claims,
            thresholds=self._thresholds,
            expected_costs=expected,
            digest=read.digest.hex(),
            reason=reason,
            user=user,
            unwanted=self.options.unwanted,
        )

    def _reason(self, missing: list[str]) -> str:
        """Why nothing can be said about a message."""
        if not missing:
            return ""
        if self.trouble is not None:
            return AWAY
        return f"no {' and no '.join(missing)} has been learned yet"

    def _missing(self) -> list[str]:
        """The labels that were never learned, if for want of them nothing can be said about any message."""
        totals: list[int] = self._memory.counts.totals.tolist()
        if len(totals) - totals.count(0) >= 2:
            return []
        return [label for label, n in zip(self.options.labels, totals, strict=True) if n == 0]
