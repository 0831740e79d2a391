"""Where a shared journal cannot be reached, what people say is kept, and handed over once it can.

The counts stay those of the journal: what is kept counts when it is handed over. What cannot wait, as it depends on
what the journal has, fails until it can be reached: to forget by digest or a selection, to relearn, to merge.
"""

from itertools import groupby
from typing import Final

from priory.features import unpacked
from priory.journal import JournalAwayError, JournalError, Kept, Outbox
from priory.memory import Learned, Memory, Taught

TOGETHER: Final = 500  #: acts that are handed over before they are let go of
KEPT: Final = "\tkept"  #: in place of the label of a lesson: it will be forgotten, once the journal can be reached


class Keeping:
    """Teaches a memory; if its journal cannot be reached, an outbox keeps what was said, where there is one."""

    def __init__(self, memory: Memory, outbox: Outbox | None) -> None:
        self._memory = memory
        self._outbox = outbox

    def learn(self, taught: list[Taught], user: str) -> list[Learned]:
        """Learn all of these, durably, or none; or keep them."""
        try:
            self._reach()
            return self._memory.learn(taught, user)
        except JournalAwayError as error:
            self._keep([_kept(each, user) for each in taught], error)
            return [Learned("kept", each.digest.hex()) for each in taught]

    def forget(self, digest: bytes, user: str, letter: bytes) -> str | None:
        """Take a lesson back exactly; return its label, None if there was none, KEPT if the wish is kept."""
        try:
            self._reach()
            return self._memory.forget(digest, user, letter)
        except JournalAwayError as error:
            now = self._memory.journal.now()
            self._keep([Kept(letter, digest, None, b"", user, "", "", now)], error)
            return KEPT

    def deliver(self) -> int:
        """Hand what was kept to the journal, in order; return how many lessons and wishes that were."""
        n = 0
        while self._outbox is not None:
            acts, last = self._outbox.first(TOGETHER)
            if not acts:
                break
            self._take_in(acts)
            self._outbox.drop(last)
            n += len(acts)
        return n

    def _take_in(self, acts: list[Kept]) -> None:
        for (user, is_lesson), some in groupby(acts, lambda act: (act.user, act.label is not None)):
            if is_lesson:
                self._memory.learn([self._taught(act) for act in some], user, late=True)
            else:
                for act in some:
                    self._memory.forget(act.digest, user, act.letter, late=act.time)

    def _reach(self) -> None:
        """Hand over what was kept, before anything is said after it; do not try again what has just failed."""
        view = self._memory.view
        if view.is_away and isinstance(view.trouble, JournalAwayError):
            raise view.trouble
        self.deliver()

    def _keep(self, acts: list[Kept], error: JournalAwayError) -> None:
        if not self._memory.view.is_away:
            self._memory.view.work_on(error)
        if self._outbox is None or not self._memory.journal.id:  # of a journal that was never reached nothing is known
            raise error
        self._outbox.keep(acts)

    def _taught(self, kept: Kept) -> Taught:
        labels = self._memory.labels
        if kept.label not in labels:
            raise JournalError(
                f"a lesson labelled {kept.label!r} was kept for {self._memory.journal.name}, and the configuration "
                f"does not name the label (it has {', '.join(labels)}): add it."
            )
        features = unpacked(kept.features, self._memory.journal.bits)
        return Taught(
            digest=kept.digest,
            label=kept.label,
            features=kept.features,
            buckets=features.buckets,
            offsets=features.offsets,
            source=kept.source,
            sender=kept.sender,
            time=kept.time,
            letter=kept.letter,
        )


def _kept(taught: Taught, user: str) -> Kept:
    digest, label, features, _, _, source, sender, when, letter = taught
    return Kept(letter, digest, label, features, user, source, sender, when)
