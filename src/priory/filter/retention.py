"""Retention: forgetting the oldest lessons when a journal exceeds its limits.

A lesson is forgotten if it is older than the limit of age, or if there are more lessons, or more bytes of them, than
the limits allow. But the latest 200 lessons of people of each label stay, whatever their age: a filter that has
forgotten what spam looks like is worse than one that remembers old spam. So these may exceed a limit.

Forgetting is exact, as always. The oldest lessons are looked up while others may write; that they still exist and still
exceed the limits is checked again in the transaction that forgets them.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from priory.filter.forget import Forgetter
    from priory.filter.options import Limits
    from priory.journal import Journal, LessonSummary, LessonUser
    from priory.journal.lesson import Tallies

GROUP: Final = 50  #: lessons that are forgotten together: other writers wait a few milliseconds
_LOOKED_UP: Final = 500


class Bounds(NamedTuple):
    """Limits at a moment: the most lessons, and the time of the oldest that may stay."""

    n_lessons: float
    since: float
    kept: int

    def beyond(self, oldest: "Iterable[LessonSummary]", tallies: "Tallies") -> "Iterator[LessonSummary]":
        """Yield the lessons that must go, from the oldest ones and the number of lessons of each label."""
        by_people = Counter(tallies.every)
        by_people.subtract(tallies.automatic)
        n_left = sum(tallies.every.values())
        for entry in oldest:
            if n_left <= self.n_lessons and entry.time >= self.since:
                return
            if entry.is_automatic or by_people[entry.label] > self.kept:
                by_people[entry.label] -= not entry.is_automatic
                n_left -= 1
                yield entry


class Retention:
    """Forgets the lessons that exceed the limits, a group at a time."""

    def __init__(self, journal: "Journal", forgetter: "Forgetter", limits: "Limits") -> None:
        self._journal = journal
        self._forgetter = forgetter
        self._limits = limits
        self._bounds = Bounds(math.inf, -math.inf, limits.kept)
        self._queue: deque[LessonSummary] = deque()

    def due(self, now: float, most: int = _LOOKED_UP) -> "list[LessonSummary]":
        """Return the lessons that must go, the oldest first, at most `most` of them."""
        if not self._limits:
            return []
        tallies = self._journal.tallies()
        self._bounds = self._bounds_at(now, sum(tallies.every.values()))
        oldest = self._journal.queries.oldest(most + self._limits.kept * len(tallies.every))
        return list(islice(self._bounds.beyond(oldest, tallies), most))

    def _bounds_at(self, now: float, n_lessons: int) -> Bounds:
        """Return the limits now; a limit of bytes becomes one of lessons by their average size."""
        most = math.inf if self._limits.lessons is None else self._limits.lessons
        if self._limits.n_bytes is not None:
            used = max(self._journal.used_bytes(), 1)
            most = min(most, n_lessons * self._limits.n_bytes // used if used > self._limits.n_bytes else math.inf)
        return Bounds(most, -math.inf if self._limits.age_s is None else now - self._limits.age_s, self._limits.kept)

    def forget_some(self, now: float, *, wait: bool = True) -> int | None:
        """Forget a group of lessons durably and exactly; return how many, None if there is nothing to forget."""
        if not self._queue:
            self._queue.extend(self.due(now))
        group = list(islice(self._queue, GROUP))
        if not group:
            return None
        n_gone = self._forgetter.forget_chosen(lambda: self._still_beyond(group), wait=wait)
        for _ in group:
            self._queue.popleft()
        return n_gone

    def _still_beyond(self, group: "list[LessonSummary]") -> "list[tuple[bytes, LessonUser]]":
        left = set(self._journal.queries.existing([entry.change for entry in group]))
        existing = (entry for entry in group if (entry.digest, entry.user) in left)
        return [(entry.digest, entry.user) for entry in self._bounds.beyond(existing, self._journal.tallies())]
