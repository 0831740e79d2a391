"""The filter: where the stages meet. Check, learn, forget, explain."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from priory.ageing import Ageing
from priory.autolearn import certain_label
from priory.bayes import Counts
from priory.features import Spec
from priory.journal import AUTOMATIC, Journal, JournalError, Selection
from priory.judge import Judge
from priory.memory.home import open_journal
from priory.memory.memory import Memory
from priory.message import parse
from priory.options import Options
from priory.reading import Prepared, prepare_many
from priory.verdict import Verdict

if TYPE_CHECKING:
    from priory.explanation import Explanation
    from priory.lessons import Lessons
    from priory.memory.taught import Learned
    from priory.stats import Stats
    from priory.teaching import Teaching
    from priory.users import Users

GROUP: Final = 500  #: messages that bulk learning makes durable together


class Filter:
    """A filter and the journal it has learned from, in a folder; it belongs to the thread that opened it."""

    def __init__(self, home: Path, options: Options) -> None:
        self.home = home
        self.options = options
        bits = options.spec.bits, options.personal_bits
        journal, counts = open_journal(home, bits, options.store)
        self._memory = Memory(journal, counts, options.labels)
        self._spec = replace(options.spec, bits=self._memory.journal.bits)
        self._judge = Judge(self._memory, options)

    @cached_property
    def _teaching(self) -> "Teaching":
        from priory.teaching import Teaching  # noqa: PLC0415 - a quick start where nothing is taught

        return Teaching(self._memory, self._spec, self.options, self.home)

    @cached_property
    def lessons(self) -> "Lessons":
        """What was learned, to look at."""
        from priory.lessons import Lessons  # noqa: PLC0415 - a quick start where no one looks

        return Lessons(self._memory)

    @cached_property
    def users(self) -> "Users":
        """Who has taught under a name."""
        from priory.users import Users  # noqa: PLC0415 - a quick start where nobody asks who

        return Users(self.journal, self._teaching.keeping)

    @cached_property
    def ageing(self) -> Ageing:
        """What forgets the oldest lessons where there are more than there may be."""
        return Ageing(self.journal, self._teaching.forgetting, self.options.limits)

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
            from priory.journal.store import follow_store  # noqa: PLC0415 - a quick start where no journal is shared

            self._memory.view.following.follow(partial(follow_store, self.options.store))

    def refresh(self) -> None:
        """Take in what others have taught, as every check does: for who has a moment."""
        self._memory.view.refresh()

    def deliver(self) -> int:
        """Hand what was kept while the journal could not be reached to it; return how many lessons and wishes."""
        return self._teaching.keeping.deliver()

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
            verdict, _ = self._judge.judged(each, user)
            yield verdict

    def explain(self, raw: bytes, user: str = "") -> "Explanation":
        """Return the verdict, and the message coloured by what each part of it adds to the log-odds."""
        from priory.explanation import Explanation, coloured  # noqa: PLC0415 - a quick start where no one asks why

        read = self.prepare(raw)
        self._memory.view.refresh()
        verdict, scores = self._judge.judged(read, user)
        about = scores[self.options.labels.index(verdict.about)]
        return Explanation(verdict, coloured(read.features, about))

    def learn(self, message: bytes | Prepared, label: str, source: str = "", user: str = "") -> "Learned":
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
    ) -> "Iterator[list[Learned]]":
        """Learn (message, label, source) after (message, label, source); yield what is durable, group by group."""
        yield from self._teaching.learn_many(lessons, user, group, named=self.names_letters)

    def forget(self, message: bytes, user: str = "") -> str | None:
        """Take a lesson back exactly, by the message or by its digest; return its label, None if there was none.

        If the user has not taught it but the filter has learned it by itself, that is taken back. If the journal cannot
        be reached, KEPT is returned: it will be forgotten once it can. By its digest alone it then cannot be.
        """
        if self._is_digest(message):
            return self._teaching.forgetting.forget(message, user)
        return self._teaching.forget(message, user)

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
        return self._teaching.autolearn(message, label)

    def forget_many(self, selection: Selection, group: int = GROUP) -> Iterator[int]:
        """Take back exactly the lessons of a selection; yield how many are durably gone, group by group.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     _ = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "ham")
        ...     sum(filter.forget_many(Selection(sender="mail.example")))
        1
        """
        yield from self._teaching.forgetting.forget_many(self.lessons.resolved(selection), group)

    def relearn(self, digest: bytes, label: str, user: str = "") -> "Learned | None":
        """Turn a lesson of a person round without the message, durably and exactly; None if there is none.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter:
        ...     taught = filter.learn(b"From: ann@mail.example\\n\\nLunch?", "spam")
        ...     filter.relearn(bytes.fromhex(taught.digest), "ham").outcome
        'relearned'
        """
        if user == AUTOMATIC:
            raise ValueError("an automatic lesson is no person's: forget it, and learn the message")
        return self._teaching.relearn(digest, label, user)

    def confirm(self, digest: bytes, label: str, user: str = "", *, right: bool = True) -> bool:
        """Note that the label of a lesson is right however it looks, or take that back; False: no such lesson.

        The note goes with the lesson, and when it is turned round.
        """
        return self._memory.confirm(digest, label, user, right=right)

    def _is_digest(self, message: bytes) -> bool:
        """Tell whether this is not a message, but the digest of one that was learned."""
        return len(message) == 32 and bool(self.journal.users_of(message))

    def merge(self, other: Journal) -> dict[str, int]:
        """Take in the lessons of another journal, none of them twice."""
        return self._memory.merge(other)

    def rebuild(self) -> None:
        """Check the journal from end to end, and build the counts from it anew."""
        self._memory.rebuild()

    def stats(self) -> "Stats":
        """Return what has been learned and how scores are read."""
        from priory.stats import stats_of  # noqa: PLC0415 - a quick start where nobody counts

        return stats_of(self._memory, self._judge.thresholds)
