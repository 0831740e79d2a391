"""The filter: check, explain, learn, forget."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from priory.bayes import Counts
from priory.features import Spec
from priory.filter.counts import JournalCounts
from priory.filter.home import open_journal, refuse_other_label_order
from priory.filter.judge import Judge
from priory.filter.options import Options
from priory.filter.prepare import Extras, Prepared, prepare_many, prepare_parsed
from priory.filter.scoring import CalibrationCache
from priory.filter.sync import TOLERATED, Sync
from priory.filter.verdict import Verdict
from priory.journal import AUTOMATIC, Journal, JournalError, LessonUser, Selection
from priory.message import identity, parse

if TYPE_CHECKING:
    from priory.filter.background import Background
    from priory.filter.counterfactual import Counterfactuals
    from priory.filter.explanation import Explanation
    from priory.filter.forget import Forgetter
    from priory.filter.influence import Influence, LessonsBehind
    from priory.filter.learn import Trainer
    from priory.filter.lessons import Lessons
    from priory.filter.offline import OfflineTeaching
    from priory.filter.outcome import ForgetResult, LearnResult
    from priory.filter.promise import LostHam, Outcomes, Promise
    from priory.filter.provenance import Provenance
    from priory.filter.retention import Retention
    from priory.filter.rules import Rules
    from priory.filter.silence import Silence
    from priory.filter.spool import Spool
    from priory.filter.stats import Stats
    from priory.filter.users import Users

GROUP: Final = 500  #: messages that bulk learning makes durable together


class Filter:
    """A filter and the journal it has learned from, in a folder; it belongs to the thread that opened it."""

    def __init__(self, home: Path, options: Options) -> None:
        self.home = home
        self.options = options
        bits = options.spec.bits, options.personal_bits
        self.journal, snapshot = open_journal(home, bits, options.store)  #: what was learned, row by row
        #: Which features are extracted from a message, into as many buckets as the journal has.
        self.spec: Spec = replace(options.spec, bits=self.journal.bits)
        self._counts = JournalCounts(self.journal, options.labels, snapshot)
        self._sync = Sync(self._counts)
        self._promise = self._read_promise()
        self._calibration = CalibrationCache(self._counts, promise=self._promise)
        self._judge = Judge(self._counts, self._sync, self._calibration, options)
        try:
            refuse_other_label_order(self.journal, options.labels)
        except JournalError as error:
            if self.journal.shared is None or not isinstance(error, TOLERATED):
                self.journal.close()
                raise
            self._sync.work_offline(error)

    @classmethod
    def open(cls, home: Path | str, options: Options | None = None) -> Self:
        """Open the filter in a folder; the folder is created if it does not exist.

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

    def close(self) -> None:
        """Close the files; save a snapshot first if this filter has learned something and one is due."""
        self._sync.stop()
        if "silence" in self.__dict__:
            self.silence.close()
        try:
            if self._counts.has_changed:
                self._counts.save_if_due()
        finally:
            self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._sync.stop()
            self.journal.close()

    # The parts that only teaching or looking needs are loaded with their first use: a check of one message starts fast.

    @cached_property
    def silence(self) -> "Silence":
        """Mail that was checked on arrival, and what people say and do not say about it."""
        from priory.filter.silence import Silence  # noqa: PLC0415 - a quick start where mail is only checked

        return Silence(self.home, self._counts, self._calibration, self.options.model, self.options.silence)

    @cached_property
    def _trainer(self) -> "Trainer":
        from priory.filter.learn import Trainer  # noqa: PLC0415 - a quick start where nothing is taught

        return Trainer(self._counts, self.silence, self.options.model)

    @cached_property
    def _forgetter(self) -> "Forgetter":
        from priory.filter.forget import Forgetter  # noqa: PLC0415 - a quick start where nothing is forgotten

        return Forgetter(self._counts, self.silence)

    @cached_property
    def _offline(self) -> "OfflineTeaching | None":
        """Takes the place of trainer and forgetter if the journal is on a server, which may be away."""
        if self.options.store is None:
            return None
        from priory.filter.offline import OfflineTeaching  # noqa: PLC0415 - a quick start without a shared journal

        return OfflineTeaching(self._counts, self._sync, self._trainer, self._forgetter, self.home)

    @cached_property
    def lessons(self) -> "Lessons":
        """Lists and counts the lessons."""
        from priory.filter.lessons import Lessons  # noqa: PLC0415 - a quick start where no lessons are shown

        return Lessons(self._counts, self._sync, self._calibration)

    @cached_property
    def influence(self) -> "Influence":
        """Finds the lessons behind a verdict."""
        from priory.filter.influence import Influence  # noqa: PLC0415 - a quick start where no lessons are shown

        return Influence(self._counts, self._judge, self.options.model)

    @cached_property
    def users(self) -> "Users":
        """The users who have taught this filter."""
        from priory.filter.users import Users  # noqa: PLC0415 - a quick start where no users are shown

        return Users(self.journal, self._forgetter, self._offline)

    @cached_property
    def rules(self) -> "Rules":
        """The rules of people: what counts nothing, and what is allowed or blocked."""
        from priory.filter.rules import Rules  # noqa: PLC0415 - a quick start where no rules are changed

        return Rules(self._counts)

    @cached_property
    def ageing(self) -> "Retention":
        """Forgets the oldest lessons when the journal exceeds its limits."""
        from priory.filter.retention import Retention  # noqa: PLC0415 - a quick start where nothing is forgotten

        return Retention(self.journal, self._forgetter, self.options.limits)

    @cached_property
    def spool(self) -> "Spool":
        """The checked messages about which a person may be asked."""
        from priory.filter.spool import Spool  # noqa: PLC0415 - a quick start without a spool

        return Spool(self.home, self.options.spool)

    @cached_property
    def provenance(self) -> "Provenance":
        """Tells whether the mail of the labels was collected in different places."""
        from priory.filter.provenance import Provenance  # noqa: PLC0415 - a quick start where nothing is compared

        return Provenance(self._counts, self._sync)

    @property
    def counts(self) -> Counts:
        """The counts as of the last lesson or check."""
        if not self._counts.are_sound():
            self._sync.recover()
        return self._counts.counts

    @property
    def change(self) -> int:
        """The number of the last change that was counted; -1 if it is unknown."""
        return self._counts.change

    @property
    def trouble(self) -> Exception | None:
        """The error that keeps the counts from following the journal; None if they do."""
        return self._sync.trouble

    def follow(self) -> None:
        """Follow the shared journal in a background thread, so that no check waits for its server.

        A journal in a file needs no thread; this then does nothing.
        """
        if self.options.store is not None:
            from priory.journal.shared.store import follow_store  # noqa: PLC0415 - a quick start without a shared journal

            self._sync.follow(partial(follow_store, self.options.store))

    def refresh(self) -> None:
        """Take in what other processes have taught. Call when idle; `check` does it anyway."""
        self._sync.refresh()

    def deliver(self) -> int:
        """Deliver the lessons stored while the journal could not be reached; return the number of entries."""
        return self._offline.deliver() if self._offline else 0

    def save_if_due(self) -> None:
        """Save a snapshot of the counts, if many changes came since the last."""
        self._counts.save_if_due()

    @property
    def extras(self) -> Extras:
        """What is needed of a message in addition to its features, if it may be learned."""
        return Extras(identity=self._needs_identity, subject=self.options.keeps_subjects)

    @property
    def _needs_identity(self) -> bool:
        """Whether messages need the identity that their copies share: checked mail is recorded, or in the spool."""
        if self.options.spool is not None:
            return True
        self._sync.refresh()
        return any(self._counts.automatic) or self.silence.is_used

    def prepare(self, raw: bytes, *, located: bool = False) -> Prepared:
        """Parse a message and extract its features once, for both `check` and `learn`.

        With `located`, the reasons of a verdict need no second extraction.
        """
        extras = Extras(identity=True, subject=self.options.keeps_subjects)
        return prepare_parsed(parse(raw), self.spec, extras, located=located)

    def prepare_many(self, messages: Sequence[bytes | Prepared]) -> list[Prepared]:
        """Parse messages and extract their features once, for both `check` and `learn`."""
        return prepare_many(messages, self.spec, self.extras)

    def check(self, message: bytes | Prepared, user: str = "", *, located: bool = False) -> Verdict:
        """Return the verdict about a message, including the user's own evidence.

        With `located`, the features are extracted with their positions, so that reasons are found faster.
        """
        (verdict,) = self.check_many([message], user, located=located)
        return verdict

    def check_many(
        self, messages: Sequence[bytes | Prepared], user: str = "", *, located: bool = False
    ) -> Iterator[Verdict]:
        """Yield the verdict about each message. All are parsed first: pass a large number in parts."""
        prepared = prepare_many(messages, self.spec, located=located)
        self._sync.refresh([message.features for message in prepared], user)
        for message in prepared:
            verdict = self._judge.judge(message, user)
            while not self._counts.are_sound(()):  # the file became unreadable meanwhile
                self._sync.recover()
                verdict = self._judge.judge(message, user)
            yield verdict

    def explain(self, message: bytes | Prepared, user: str = "") -> "Explanation":
        """Return the verdict, and the message coloured by what each part of it adds to the log-odds."""
        from priory.filter.explanation import Explanation  # noqa: PLC0415 - a quick start without an explanation

        (prepared,) = prepare_many([message], self.spec, located=True)
        return Explanation.of(self.check(prepared, user), prepared.message)

    def lessons_behind(
        self,
        message: bytes | Prepared,
        user: str = "",
        most: int = 10,
        progress: Callable[[int], object] = lambda _n: None,
    ) -> "LessonsBehind":
        """Return the lessons without which the verdict on a message would change most, and those most like it.

        The first call reads all lessons; `progress` is called with each number of them.
        """
        (prepared,) = prepare_many([message], self.spec)
        self._sync.refresh()
        return self.influence.behind(prepared, user, most, progress)

    def counterfactuals(self, raw: bytes, user: str = "") -> "Counterfactuals":
        """Return what would have changed the verdict on a message: things in it, one lesson, another cost."""
        from priory.filter.counterfactual import Counterfactual  # noqa: PLC0415 - a quick start without it

        prepared = self.prepare(raw, located=True)
        lessons = self.lessons_behind(prepared, user)
        return Counterfactual(self, self.explain(prepared, user)).find(lessons.influential)

    def background(
        self, raw: bytes, user: str = "", progress: Callable[[int], object] = lambda _n: None
    ) -> "Background":
        """Return an explanation with what takes longer: the lessons behind the verdict, and what would have changed it.

        The first call reads all lessons; `progress` is called with each number of them.
        """
        from priory.filter.background import background  # noqa: PLC0415 - a quick start without it

        return background(self, raw, user, progress)

    def learn(self, message: bytes | Prepared, label: str, source: str = "", user: str = "") -> "LearnResult":
        """Teach the filter the label of a message; durable when this returns.

        Teaching the same label twice changes nothing; teaching another label replaces the lesson.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     [filter.learn(b"Subject: hello", label).outcome for label in ("ham", "ham", "spam")]
        ['learned', 'known', 'relearned']
        """
        ((result,),) = self.learn_many([(message, label, source)], user)
        return result

    def learn_many(
        self, lessons: Iterable[tuple[bytes | Prepared, str, str]], user: str = "", group: int = GROUP
    ) -> "Iterator[list[LearnResult]]":
        """Learn tuples of message, label and source; yield the results of each group once it is durable."""
        from priory.filter.learn import read_lessons  # noqa: PLC0415 - a quick start where nothing is taught

        teaching = self._offline or self._trainer
        new = read_lessons(lessons, self.spec, self.options.labels, self.journal.now, self.extras)
        while ready := list(islice(new, group)):
            results = teaching.learn(ready, user)
            if self.options.spool is not None:
                self.spool.leave_copies(lesson.identity for lesson in ready)
            yield results

    def forget(self, message: bytes, user: str = "") -> "ForgetResult":
        """Take back exactly what a user has taught about a message.

        If the user has taught nothing about it, an automatic lesson about it is taken back. If the journal cannot be
        reached, the outcome is *kept*: the lesson is forgotten once it can.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"Subject: hello", "ham")
        ...     [filter.forget(b"Subject: hello")[::2] for _ in range(2)]
        [('forgotten', 'ham'), ('unknown', None)]
        """
        parsed = parse(message)
        return (self._offline or self._forgetter).forget(parsed.digest, user, identity(parsed))

    def forget_digest(self, digest: bytes, user: str = "") -> "ForgetResult":
        """Take back a lesson by the digest of its message, as `forget` does; fails if the journal cannot be reached."""
        return self._forgetter.forget(digest, user)

    def taught_by(self, message: bytes) -> list[str]:
        """Return the users who have taught a message; the empty name stands for lessons without a user."""
        return self.taught_by_digest(parse(message).digest)

    def taught_by_digest(self, digest: bytes) -> list[str]:
        """Return the users who have taught the message with this digest, as `taught_by` does."""
        return [user for user in self.journal.users_of(digest) if user is not AUTOMATIC]

    def forget_many(self, selection: Selection, group: int = GROUP) -> Iterator[int]:
        """Take back exactly the lessons of a selection; yield how many are durably gone, group by group.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham")
        ...     sum(filter.forget_many(Selection(sender="mail.example")))
        1
        """
        yield from self._forgetter.forget_many(self.lessons.resolved(selection), group)

    def delete_subjects(self) -> int:
        """Delete the subjects of all lessons without a trace, and return their number; the lessons stay.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home, Options(keeps_subjects=True)) as filter:
        ...     _ = filter.learn(b"Subject: Lunch?", "ham")
        ...     filter.delete_subjects(), [lesson.subject for lesson in filter.lessons.page().lessons]
        (1, [''])
        """
        self.deliver()  # the outbox has subjects, too
        with self.journal.writing():
            n = self.journal.subjects.n()
            self.journal.subjects.delete()
        self.journal.wipe()
        return n

    def relearn(self, digest: bytes, label: str, user: LessonUser = "") -> "LearnResult | None":
        """Give a person's lesson another label, durably and exactly, without its message; None: no such lesson.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     taught = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "spam")
        ...     filter.relearn(bytes.fromhex(taught.digest), "ham").outcome
        'relearned'
        """
        if user is AUTOMATIC:
            raise ValueError("an automatic lesson is no person's: forget it, and learn the message")
        return self._trainer.relearn(digest, label, user)

    def confirm(self, digest: bytes, label: str, user: str = "", *, right: bool = True) -> bool:
        """Note that the label of a lesson is right although it looks wrong, or remove the note; False: no such lesson.

        The note disappears with the lesson, and when the lesson gets another label.
        """
        with self.journal.writing():
            return self.journal.confirm(digest, user, label, right=right)

    def merge(self, other: Journal) -> dict[str, int]:
        """Add the lessons of another journal; a lesson that both have counts once."""
        return self._trainer.merge(other)

    def rebuild(self) -> None:
        """Check the whole journal for damage, and build the counts from it."""
        self.journal.check()
        self._counts.rebuild()

    def stats(self) -> "Stats":
        """Return the filter in numbers: its lessons, its counts and its calibration."""
        from priory.filter.stats import stats_of  # noqa: PLC0415 - a quick start where nothing is counted

        self._sync.refresh()
        lines, promise = self._calibration.newest(), self._promise
        stats = stats_of(self._counts, lines, self._judge.thresholds, self.silence.stats())
        return stats._replace(
            lost_ham=self._lost_ham(),
            promise=promise and promise.progress(self._outcomes(), self.options.labels),
            origins=self.provenance.gap(),
        )

    def lost_ham(self) -> "LostHam | None":
        """Return how much ham is called spam; None if several labels decide together without a promise."""
        self._sync.refresh()
        return self._lost_ham()

    def _lost_ham(self) -> "LostHam | None":
        said_from = self._judge.said_from(self._unwanted)
        return self._outcomes().lost_ham(said_from) if said_from else None

    def _read_promise(self) -> "Promise | None":
        if self.options.ham_lost is None:
            return None
        from priory.filter.promise import Promise  # noqa: PLC0415 - a quick start without a promise

        return Promise(self.options.ham_lost, self._unwanted)

    def _outcomes(self) -> "Outcomes":
        from priory.filter.promise import Outcomes  # noqa: PLC0415 - a quick start where nothing is counted

        return Outcomes.of(self._counts.counts, self._calibration.newest(), self._unwanted, self._counts.silence)

    @property
    def _unwanted(self) -> tuple[int, ...]:
        """The unwanted labels."""
        from priory.filter.spamassassin import unwanted_labels  # noqa: PLC0415 - a quick start without a promise

        labels = self.options.labels
        return tuple(map(labels.index, unwanted_labels(labels, self.options.unwanted)))
