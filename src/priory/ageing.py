"""How much may be learned at most, and for how long: what is beyond that is forgotten, the oldest lessons first.

A lesson goes if it is older than the limit of age, or if there are more lessons, or more bytes of them, than there may
be. But the last 200 lessons that people have taught of each label stay, however old they are: a filter that has
forgotten what spam looks like is worse than one that remembers old spam. So a limit may be exceeded by these.

Forgetting is exact, as always. Which lessons are the oldest is looked up while others may write, some at a time; that
they are still there and still beyond the limits is seen again when they are forgotten.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from priory.journal import Entry, Journal
    from priory.journal.automatic import Tallies
    from priory.memory.forgetting import Forgetting

KEPT: Final = 200  #: as many as calibration should see
GROUP: Final = 50  #: lessons that are forgotten together: who learns meanwhile waits some milliseconds
SECONDS: Final = {"day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400, "year": 365 * 86_400}
BYTES: Final = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_LOOKED_UP: Final = 500


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be learned at most; None where there is no limit."""

    age_s: float | None = None
    lessons: int | None = None
    n_bytes: int | None = None
    kept: int = KEPT  #: lessons of people of each label that stay, whatever the limits

    def __bool__(self) -> bool:
        """Whether there are any."""
        return not self.age_s is self.lessons is self.n_bytes is None

    @property
    def words(self) -> dict[str, str]:
        """Those that there are, as a person would say them.

        >>> Limits(age_s=63072000, lessons=100_000).words
        {'age': '2 years', 'lessons': '100,000 lessons'}
        """
        said = {
            "age": _in_units(self.age_s, SECONDS, plural=True),
            "lessons": f"{self.lessons:,} lessons" if self.lessons is not None else "",
            "bytes": _in_units(self.n_bytes, BYTES, plural=False),
        }
        return {name: words for name, words in said.items() if words}


def _in_units(amount: float | None, units: Mapping[str, int], *, plural: bool) -> str:
    """In the largest unit of which it is a whole number."""
    if amount is None:
        return ""
    name, unit = next((name, unit) for name, unit in reversed(list(units.items())) if amount % unit == 0)
    n = int(amount // unit)
    return f"{n:,} {name}{'s' if plural and n != 1 else ''}"


class Bounds(NamedTuple):
    """Limits at a moment: how many lessons there may be, and when the oldest may have been learned."""

    n_lessons: float
    since: float
    kept: int

    def beyond(self, oldest: "Iterable[Entry]", tallies: "Tallies") -> "Iterator[Entry]":
        """Yield those of the oldest lessons that must go, given how many there are of each label."""
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


class Ageing:
    """Forgets what is beyond the limits, some lessons at a time."""

    def __init__(self, journal: "Journal", forgetting: "Forgetting", limits: Limits) -> None:
        self._journal = journal
        self._forgetting = forgetting
        self._limits = limits
        self._bounds = Bounds(math.inf, -math.inf, limits.kept)
        self._meant: deque[Entry] = deque()

    def due(self, now: float, most: int = _LOOKED_UP) -> "list[Entry]":
        """Return lessons that must go, the oldest first, up to `most` of them."""
        if not self._limits:
            return []
        tallies = self._journal.tallies()
        self._bounds = self._bounds_at(now, sum(tallies.every.values()))
        oldest = self._journal.listing.oldest(most + self._limits.kept * len(tallies.every))
        return list(islice(self._bounds.beyond(oldest, tallies), most))

    def _bounds_at(self, now: float, n_lessons: int) -> Bounds:
        """The limits now; as lessons are of one size on average, a limit of bytes is one of lessons."""
        most = math.inf if self._limits.lessons is None else self._limits.lessons
        if self._limits.n_bytes is not None:
            used = max(self._journal.used_bytes(), 1)
            most = min(most, n_lessons * self._limits.n_bytes // used if used > self._limits.n_bytes else math.inf)
        return Bounds(most, -math.inf if self._limits.age_s is None else now - self._limits.age_s, self._limits.kept)

    def forget_some(self, now: float, *, wait: bool = True) -> int | None:
        """Forget a group of lessons, durably and exactly; return how many, None if there is nothing more to forget."""
        if not self._meant:
            self._meant.extend(self.due(now))
        some = list(islice(self._meant, GROUP))
        if not some:
            return None
        n_gone = self._forgetting.forget_chosen(lambda: self._still_beyond(some), wait=wait)
        for _ in some:
            self._meant.popleft()
        return n_gone

    def _still_beyond(self, some: "list[Entry]") -> list[tuple[bytes, str]]:
        left = set(self._journal.listing.still([entry.change for entry in some]))
        there = (entry for entry in some if (entry.digest, entry.user) in left)
        return [(entry.digest, entry.user) for entry in self._bounds.beyond(there, self._journal.tallies())]
