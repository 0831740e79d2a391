"""Teaching while the server of a shared journal is away.

Lessons are kept in an outbox in the home and delivered when the server is back. The counts do not change before: a
lesson counts when it is delivered. Some acts depend on the content of the journal and fail at once: forgetting by
digest or by selection, relearning, merging.
"""

from itertools import groupby
from pathlib import Path
from typing import Final

from priory.filter.counts import JournalCounts
from priory.filter.forget import Forgetter
from priory.filter.learn import NewLesson, Trainer, restored_lesson
from priory.filter.outcome import ForgetResult, LearnResult, LessonOutcome
from priory.filter.sync import Sync
from priory.journal import JournalAwayError, JournalError
from priory.journal.shared.outbox import Outbox, OutboxEntry

TOGETHER: Final = 500  #: entries that are delivered before they are removed from the outbox


class OfflineTeaching:
    """Teaches a shared journal, or its outbox while the server is away."""

    def __init__(self, counts: JournalCounts, sync: Sync, trainer: Trainer, forgetter: Forgetter, home: Path) -> None:
        self._counts = counts
        self._journal = counts.journal
        self._sync = sync
        self._trainer = trainer
        self._forgetter = forgetter
        self._home = home

    @property
    def _outbox(self) -> Outbox | None:
        """The outbox; None if the journal was never reached, so that its lessons have no journal to belong to."""
        return Outbox(self._home, self._journal.id) if self._journal.id else None

    def learn(self, lessons: list[NewLesson], user: str) -> list[LearnResult]:
        """Learn all lessons durably, or none; or keep all of them in the outbox."""
        try:
            self._reach()
            return self._trainer.learn(lessons, user)
        except JournalAwayError as error:
            self._keep([_entry(lesson, user) for lesson in lessons], error)
            return [LearnResult(LessonOutcome.KEPT, lesson.digest.hex()) for lesson in lessons]

    def forget(self, digest: bytes, user: str, identity: bytes) -> ForgetResult:
        """Forget a lesson exactly, or keep the request in the outbox."""
        try:
            self._reach()
            return self._forgetter.forget(digest, user, identity)
        except JournalAwayError as error:
            self._keep([OutboxEntry(identity, digest, None, b"", user, "", "", self._journal.now())], error)
            return ForgetResult(LessonOutcome.KEPT, digest.hex())

    def drop_user(self, user: str) -> None:
        """Remove what the outbox keeps of a user."""
        if (outbox := self._outbox) is not None:
            outbox.drop_user(user)

    def deliver(self) -> int:
        """Deliver what the outbox keeps; return the number of entries: lessons, and requests to forget."""
        outbox, n = self._outbox, 0
        if outbox is None:
            return 0
        while True:
            entries, last = outbox.first(TOGETHER)
            if not entries:
                return n
            self._take_in(entries)
            outbox.drop(last)
            n += len(entries)

    def _take_in(self, entries: list[OutboxEntry]) -> None:
        """Teach the entries to the journal, grouped by user: not their order counts, but their times."""

        def kind(entry: OutboxEntry) -> tuple[str, bool]:
            return entry.user, entry.label is not None

        for (user, is_lesson), group in groupby(sorted(entries, key=kind), kind):
            if is_lesson:
                self._trainer.learn([self._lesson(entry) for entry in group], user, late=True)
            else:
                for entry in group:
                    self._forgetter.forget(entry.digest, user, entry.identity, late=entry.time)

    def _reach(self) -> None:
        """Deliver the outbox before the next lesson; if that failed a moment ago, raise the same error at once."""
        if self._sync.is_away and isinstance(self._sync.trouble, JournalAwayError):
            raise self._sync.trouble
        self._journal.read_identity()
        self.deliver()

    def _keep(self, entries: list[OutboxEntry], error: JournalAwayError) -> None:
        if not self._sync.is_away:
            self._sync.work_offline(error)
        outbox = self._outbox
        if outbox is None:
            raise error
        outbox.keep(entries)

    def _lesson(self, entry: OutboxEntry) -> NewLesson:
        labels, journal = self._counts.labels, self._journal
        if entry.label not in labels:
            raise JournalError(
                f"a lesson labelled {entry.label!r} was kept for {journal.name}, and the configuration does not name "
                f"the label (it has {', '.join(labels)}): add it."
            )
        return restored_lesson(entry, journal.bits, entry.label, entry.time, entry.identity)


def _entry(lesson: NewLesson, user: str) -> OutboxEntry:
    digest, label, packed, _, source, sender, when, identity, subject = lesson
    return OutboxEntry(identity, digest, label, packed, user, source, sender, when, subject)
