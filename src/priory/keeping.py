"""Where a shared journal cannot be reached, what people say is kept, and handed over once it can.

The counts stay those of the journal: what is kept counts when it is handed over. What cannot wait, as it depends on
what the journal has, fails until it can be reached: to forget by digest or a selection, to relearn, to merge.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from priory.journal import JournalAwayError, JournalError
from priory.journal.outbox import Kept, Outbox
from priory.memory.forgetting import Forgetting
from priory.memory.learning import Learning
from priory.memory.memory import Memory
from priory.memory.taught import Learned, Taught, taught_anew

TOGETHER: Final = 500  #: acts that are handed over before they are let go of
KEPT: Final = "\tkept"  #: in place of the label of a lesson: it will be forgotten, once the journal can be reached


class Keeping:
    """Teaches a memory; if its journal cannot be reached, an outbox in the home keeps what was said, if it has one."""

    def __init__(self, memory: Memory, learning: Learning, forgetting: Forgetting, home: Path | None) -> None:
        self._memory = memory
        self._learning = learning
        self._forgetting = forgetting
        self._home = home

    @property
    def _outbox(self) -> Outbox | None:
        """Where to keep what is said; nowhere if the journal was never reached: nothing is known of it then."""
        name = self._memory.journal.id
        return Outbox(self._home, name) if self._home and name else None

    def learn(self, taught: list[Taught], user: str) -> list[Learned]:
        """Learn all of these, durably, or none; or keep them."""
        try:
            self._reach()
            return self._learning.learn(taught, user)
        except JournalAwayError as error:
            self._keep([_kept(each, user) for each in taught], error)
            return [Learned("kept", each.digest.hex()) for each in taught]

    def forget(self, digest: bytes, user: str, letter: bytes) -> str | None:
        """Take a lesson back exactly; return its label, None if there was none, KEPT if the wish is kept."""
        try:
            self._reach()
            return self._forgetting.forget(digest, user, letter)
        except JournalAwayError as error:
            now = self._memory.journal.now()
            self._keep([Kept(letter, digest, None, b"", user, "", "", now)], error)
            return KEPT

    def delete_user(self, user: str, group: int) -> Iterator[int]:
        """Delete all that there is of a user, also of what is kept; yield how many lessons are gone, group by group."""
        if self._outbox:
            self._outbox.drop_user(user)
        yield from self._forgetting.delete_user(user, group)

    def deliver(self) -> int:
        """Hand what was kept to the journal; return how many lessons and wishes that were."""
        outbox, n = self._outbox, 0
        if outbox is None:
            return 0
        while True:
            acts, last = outbox.first(TOGETHER)
            if not acts:
                return n
            self._take_in(acts)
            outbox.drop(last)
            n += len(acts)

    def _take_in(self, acts: list[Kept]) -> None:
        """Have the journal take in acts, each by its time: so those of a user may come together, which is quicker."""

        def kind(act: Kept) -> tuple[str, bool]:
            return act.user, act.label is not None

        for (user, is_lesson), some in groupby(sorted(acts, key=kind), kind):
            if is_lesson:
                self._learning.learn([self._taught(act) for act in some], user, late=True)
            else:
                for act in some:
                    self._forgetting.forget(act.digest, user, act.letter, late=act.time)

    def _reach(self) -> None:
        """Hand over what was kept, before anything is said after it; do not try again what has just failed."""
        following = self._memory.view.following
        if following.is_away and isinstance(following.trouble, JournalAwayError):
            raise following.trouble
        self._memory.journal.get_known()
        self.deliver()

    def _keep(self, acts: list[Kept], error: JournalAwayError) -> None:
        if not self._memory.view.following.is_away:
            self._memory.view.following.work_on(error)
        outbox = self._outbox
        if outbox is None:
            raise error
        outbox.keep(acts)

    def _taught(self, kept: Kept) -> Taught:
        labels, journal = self._memory.labels, self._memory.journal
        if kept.label not in labels:
            raise JournalError(
                f"a lesson labelled {kept.label!r} was kept for {journal.name}, and the configuration does not name "
                f"the label (it has {', '.join(labels)}): add it."
            )
        return taught_anew(kept, journal.bits, kept.label, kept.time, kept.letter)


def _kept(taught: Taught, user: str) -> Kept:
    digest, label, features, _, _, source, sender, when, letter = taught
    return Kept(letter, digest, label, features, user, source, sender, when)
