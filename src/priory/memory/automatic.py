"""What a filter learns by itself, and how it makes way for what people say.

It is not scored, so neither calibration nor corrections feed on it: it would confirm itself.
"""

from priory.autolearn import DAY_S, Autolearn, has_room, is_ready
from priory.journal import AUTOMATIC, Change, JournalBusyError
from priory.memory.memory import Memory
from priory.memory.taught import Taught


class Automatic:
    """The automatic lessons of a memory; without rules there will be no more of them."""

    def __init__(self, memory: Memory, rules: Autolearn | None) -> None:
        self._memory = memory
        self._journal = memory.journal
        self._view = memory.view
        self._labels = memory.labels
        self._rules = rules

    def learn(self, taught: Taught) -> str:
        """Learn what no person has taught; return *learned*, or why not: *known*, *early*, *full* or *busy*.

        Who finds another process writing does not wait.
        """
        try:
            with self._memory.changing(wait=False):
                outcome = self._allowed(taught)
                if outcome == "learned":
                    lesson = taught.lesson(None, AUTOMATIC, self._journal.node)
                    self._journal.name_labels(self._labels)
                    self._journal.learn(lesson._replace(digest=taught.letter))
                    self._view.automatic[self._labels.index(taught.label)] += 1
                    self._view.add(taught.buckets, taught.label, None)
        except JournalBusyError:
            return "busy"
        return outcome

    def _allowed(self, taught: Taught) -> str:
        if self._rules is None or not is_ready(self._rules, self._view.counts.n_scored()):
            return "early"
        if self._is_known(taught):
            return "known"
        which = self._labels.index(taught.label)
        by_people, automatic = self._view.by_people[which], self._view.automatic[which]
        today = self._journal.automatic.n_since(taught.label, taught.time - DAY_S) if automatic else 0
        return "learned" if has_room(self._rules, by_people, automatic, today) else "full"

    def _is_known(self, taught: Taught) -> bool:
        """Tell whether there is a lesson about a message, or about the letter that it is a copy of, or was one."""
        self._journal.automatic.begin()
        if self._journal.automatic.is_peoples(taught.letter):
            return True
        return bool(self._journal.users_of(taught.digest) or self._journal.users_of(taught.letter))

    def leave_to_people(self, letters: list[bytes]) -> Change | None:
        """Take back what was learned automatically of these letters, and note that people had a hand in them.

        Returns the last of what was taken back.
        """
        if self._rules is not None:
            self._journal.automatic.begin()
            self._journal.automatic.leave_to_people(letters)
        change = None
        if any(self._view.automatic):
            for letter in self._journal.labels_of(letters, AUTOMATIC):
                change = self._memory.take_back(letter, AUTOMATIC)
        return change
