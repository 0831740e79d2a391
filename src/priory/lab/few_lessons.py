"""How good a filter is after few lessons: the first messages of each label are learned, the next ones are judged."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from priory.lab.error import LabError
from priory.lab.example import Example


@dataclass(frozen=True, slots=True)
class FewLessons:
    """So many messages of each label are learned, so many that follow are judged, and nothing more is learned.

    >>> print(FewLessons(first=10))
    first 10 of each label learned, next 500 of each judged
    """

    first: int  #: messages of each label that are learned
    then: int = 500  #: messages of each label that are judged

    def __post_init__(self) -> None:
        for what, n in (("learned", self.first), ("judged", self.then)):
            if n < 1:
                raise LabError(f"{n} messages of each label cannot be {what}: it takes one at least")

    def __str__(self) -> str:
        return f"first {self.first:,} of each label learned, next {self.then:,} of each judged"

    def parts(self, mail: Iterable[Example], labels: tuple[str, ...]) -> Iterator[tuple[Example, bool]]:
        """Yield all lessons, then all that is judged, each in the order of the mail, with whether it is a lesson.

        What is judged is held back until the last lesson came. Mail is read until there is enough of every label.
        """
        n_seen: Counter[str] = Counter()
        held_back: list[Example] = []
        for each in mail:
            n_seen[each.label] += 1
            if n_seen[each.label] <= self.first:
                yield each, True
            elif n_seen[each.label] <= self.first + self.then:
                held_back.append(each)
            fewest = min(n_seen[label] for label in labels)
            if fewest >= self.first:
                yield from ((judged, False) for judged in held_back)
                held_back.clear()
            if fewest >= self.first + self.then:
                return
        raise LabError(self._too_few(n_seen, labels))

    def _too_few(self, n_seen: Counter[str], labels: tuple[str, ...]) -> str:
        needed = f"{self.first + self.then:,} are needed, {self.first:,} to learn and {self.then:,} to judge"
        label = next(label for label in labels if n_seen[label] < self.first + self.then)
        said = f"of {label} there are {n_seen[label]:,} messages, but {needed}"
        return f"{said}: name more mail, or give smaller --first and --then"
