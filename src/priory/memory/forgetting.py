"""How lessons go: one by one, by selection, and all of a user; always exactly."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from priory.journal import AUTOMATIC, Selection, SelectionError
from priory.memory.automatic import Automatic
from priory.memory.memory import Memory


class Forgetting:
    """Takes back lessons of a memory."""

    def __init__(self, memory: Memory, automatic: Automatic) -> None:
        self._memory = memory
        self._journal = memory.journal
        self._automatic = automatic

    def forget(self, digest: bytes, user: str, letter: bytes = b"", *, late: float | None = None) -> str | None:
        """Take a lesson back exactly, the user's or else an automatic one; return its label, None if there was none.

        A wish that comes late, with the time at which somebody had it, is outdone by what was taught since.
        """
        with self._memory.changing():
            if late is not None and self._was_taught_since(late, digest, user):
                return None
            self._journal.bury([(digest, user)], self._journal.now() if late is None else late)
            automatic = self._automatic.leave_to_people([letter]) if letter else None
            change = self._memory.take_back(digest, user) or automatic or self._memory.take_back(digest, AUTOMATIC)
        return change.label if change else None

    def _was_taught_since(self, time: float, digest: bytes, user: str) -> bool:
        rank = self._journal.rank_of(digest, user)
        return rank is not None and (rank.time, rank.node) > (time, self._journal.node)

    def forget_many(self, selection: Selection, group: int) -> Iterator[int]:
        """Take back the lessons of a selection; yield how many are durably gone, group by group.

        Which those are is looked up first, while others may write. What is taught or turned round meanwhile stays: the
        lesson that was meant is gone.
        """
        if selection.is_everything:
            raise SelectionError("the selection has all lessons in it: say which to forget")
        meant = iter(self._journal.listing.changes_of(selection))
        while some := list(islice(meant, group)):
            if n_gone := self.forget_chosen(partial(self._buried, some)):
                yield n_gone

    def _buried(self, changes: list[int]) -> list[tuple[bytes, str]]:
        """The lessons that these changes have learned and that are still there, which shall not come back."""
        there = self._journal.listing.still(changes)
        self._journal.bury(there, self._journal.now())
        return there

    def forget_chosen(self, chosen: Callable[[], list[tuple[bytes, str]]], *, wait: bool = True) -> int:
        """Take back lessons, by digest and user, that are chosen when nobody else writes; return how many."""
        with self._memory.changing(wait=wait):
            there = chosen()
            for digest, user in there:
                self._memory.take_back(digest, user)
        return len(there)

    def delete_user(self, user: str, group: int) -> Iterator[int]:
        """Take back all lessons of a user and leave no trace of them; yield how many are gone, group by group."""
        yield from self.forget_many(Selection(user=user), group)
        self._memory.view.settle()
        with self._journal.writing():
            self._journal.erase(user)
        self._journal.wipe()
