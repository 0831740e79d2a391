"""Learning a message that no person has labelled.

The filter can only learn what it already believes. There is little to gain and, where it is wrong, something to lose:
docs/decisions/autolearn.md has the measurements. Hence the rules of `Autolearn`. The filter must be all but certain, by
a calibration that rests on enough lessons of people. At least half of the lessons of each label come from people. A
flood of similar mail adds only a limited number of lessons a day.

Automatic lessons are not scored: calibration and corrections must not feed on them, or the filter would confirm itself.
What a person teaches or forgets, before or later, outranks an automatic lesson.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from priory.filter.outcome import LessonOutcome
from priory.journal import AUTOMATIC, Change, JournalBusyError

if TYPE_CHECKING:
    from priory.filter.counts import JournalCounts
    from priory.filter.learn import NewLesson
    from priory.filter.options import Autolearn
    from priory.filter.verdict import Verdict

DAY_S: Final = 86_400.0


def certain_label(verdict: "Verdict", rules: "Autolearn") -> str | None:
    """Return the label of a message that may be learned automatically; None if the filter is not certain enough."""
    if verdict.reason or verdict.label not in verdict.claims:
        return None
    return verdict.label if verdict.claims[verdict.label].probability >= rules.certainty else None


def is_ready(rules: "Autolearn", scored: Sequence[int]) -> bool:
    """Tell whether calibration has seen enough lessons of each label.

    >>> from priory.filter.options import Autolearn
    >>> is_ready(Autolearn(after=200), scored=[200, 5000]), is_ready(Autolearn(after=200), scored=[199, 5000])
    (True, False)
    """
    return min(scored) >= rules.after


def has_room(rules: "Autolearn", by_people: int, automatic: int, today: int) -> bool:
    """Tell whether one more automatic lesson of a label is allowed, given the numbers of its lessons.

    >>> from priory.filter.options import Autolearn
    >>> has_room(Autolearn(), by_people=300, automatic=299, today=0)
    True
    >>> has_room(Autolearn(), by_people=300, automatic=300, today=0), has_room(Autolearn(), 300, 200, today=100)
    (False, False)
    """
    return automatic < rules.most * by_people and today < rules.per_day


class Autolearner:
    """Learns automatic lessons and removes them again; without rules, it only removes them."""

    def __init__(self, counts: "JournalCounts", rules: "Autolearn | None") -> None:
        self._counts = counts
        self._journal = counts.journal
        self._labels = counts.labels
        self._rules = rules

    def learn(self, lesson: "NewLesson") -> LessonOutcome:
        """Learn a message; return *learned*, or the reason why not: *known*, *early*, *full* or *busy*.

        This does not wait for another process that is writing.
        """
        try:
            with self._counts.changing(wait=False):
                outcome = self._check_rules(lesson)
                if outcome is LessonOutcome.LEARNED:
                    row = lesson.row(None, AUTOMATIC, self._journal.node)
                    self._journal.name_labels(self._labels)
                    self._journal.learn(row._replace(digest=lesson.identity))
                    self._counts.automatic[self._labels.index(lesson.label)] += 1
                    self._counts.add(lesson.buckets, lesson.label, None)
        except JournalBusyError:
            return LessonOutcome.BUSY
        return outcome

    def _check_rules(self, lesson: "NewLesson") -> LessonOutcome:
        if self._rules is None or not is_ready(self._rules, self._counts.counts.n_scored()):
            return LessonOutcome.EARLY
        if self._is_known(lesson):
            return LessonOutcome.KNOWN
        label = self._labels.index(lesson.label)
        by_people, automatic = self._counts.by_people[label], self._counts.automatic[label]
        today = self._journal.automatic.n_since(lesson.label, lesson.time - DAY_S) if automatic else 0
        return LessonOutcome.LEARNED if has_room(self._rules, by_people, automatic, today) else LessonOutcome.FULL

    def _is_known(self, lesson: "NewLesson") -> bool:
        """Tell whether a lesson exists, or existed, about this message or another copy of it."""
        self._journal.automatic.create_table()
        if self._journal.automatic.is_reserved(lesson.identity):
            return True
        return bool(self._journal.users_of(lesson.digest) or self._journal.users_of(lesson.identity))

    def leave_to_people(self, identities: list[bytes]) -> Change | None:
        """Forget the automatic lessons about the messages of these identities, and note that people decide about them.

        Returns the last change that was made, if any.
        """
        if self._rules is not None:
            self._journal.automatic.create_table()
            self._journal.automatic.reserve(identities)
        change = None
        if any(self._counts.automatic):
            for identity in self._journal.labels_of(identities, AUTOMATIC):
                change = self._counts.forget(identity, AUTOMATIC)
        return change
