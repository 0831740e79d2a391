"""Forgetting one lesson, the lessons of a selection, or all lessons of a user; always exactly."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from priory.filter.counts import JournalCounts
from priory.filter.outcome import ForgetResult, LessonOutcome
from priory.filter.silence import Silence
from priory.journal import AUTOMATIC, LessonUser, Selection, SelectionError
from priory.journal.silence import Told


class Forgetter:
    """Takes lessons back."""

    def __init__(self, counts: JournalCounts, silence: Silence) -> None:
        self._counts = counts
        self._journal = counts.journal
        self._silence = silence

    def forget(self, digest: bytes, user: str, identity: bytes = b"", *, late: float | None = None) -> ForgetResult:
        """Forget the user's lesson about a message, or else an automatic one.

        `late` is the time of a request that could not be delivered at once; a lesson taught since then outranks it.
        """
        with self._counts.changing():
            if late is not None and self._was_taught_since(late, digest, user):
                return ForgetResult(LessonOutcome.UNKNOWN, digest.hex())
            self._journal.bury([(digest, user)], self._journal.now() if late is None else late)
            # Neither silence nor a label: what is forgotten says nothing about where the message lay.
            automatic = self._silence.hear([Told(identity, None, user, self._journal.now())]) if identity else None
            change = self._counts.forget(digest, user) or automatic or self._counts.forget(digest, AUTOMATIC)
        if change is None:
            return ForgetResult(LessonOutcome.UNKNOWN, digest.hex())
        return ForgetResult(LessonOutcome.FORGOTTEN, digest.hex(), change.label)

    def _was_taught_since(self, time: float, digest: bytes, user: str) -> bool:
        rank = self._journal.rank_of(digest, user)
        return rank is not None and (rank.time, rank.node) > (time, self._journal.node)

    def forget_many(self, selection: Selection, group: int) -> Iterator[int]:
        """Forget the lessons of a selection; yield how many are durably gone, group by group.

        The lessons are looked up first, while others may write. A message that is taught or relabelled meanwhile stays:
        the lesson that was selected no longer exists.
        """
        if selection.is_everything:
            raise SelectionError("the selection has all lessons in it: say which to forget")
        changes = iter(self._journal.queries.changes_of(selection))
        while page := list(islice(changes, group)):
            if n_gone := self.forget_chosen(partial(self._bury, page)):
                yield n_gone

    def _bury(self, changes: list[int]) -> list[tuple[bytes, LessonUser]]:
        """Return the lessons of these changes that still exist, and note that they must not come back."""
        lessons = self._journal.queries.existing(changes)
        self._journal.bury(lessons, self._journal.now())
        return lessons

    def forget_chosen(self, choose: Callable[[], list[tuple[bytes, LessonUser]]], *, wait: bool = True) -> int:
        """Forget the lessons, by digest and user, that `choose` returns inside the transaction; return how many."""
        with self._counts.changing(wait=wait):
            lessons = choose()
            for digest, user in lessons:
                self._counts.forget(digest, user)
        return len(lessons)

    def delete_user(self, user: str, group: int) -> Iterator[int]:
        """Forget lessons and rules of a user and leave no trace; yield how many lessons are gone, group by group."""
        yield from self.forget_many(Selection(user=user), group)
        self._counts.settle()
        with self._counts.changing():
            self._journal.erase(user)
            self._counts.load_rules()
        self._counts.keep_rules()
        self._journal.wipe()
