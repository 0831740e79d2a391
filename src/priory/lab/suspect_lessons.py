"""Which lessons of a filter have labels that look wrong, by what was predicted of each before it was learned."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from priory.filter import Filter
from priory.lab.error import LabError
from priory.lab.prequential import predictions_of
from priory.lab.suspects import suspects
from priory.listed import Listed

SUSPICIOUS: Final = 0.1  #: probability of a slip above which a look is worth it: it costs a tenth of a wrong label


class SuspectLesson(NamedTuple):
    """A lesson whose label looks wrong."""

    lesson: Listed
    rather: str  #: what it looks like
    probability: float  #: that the label is wrong

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self.lesson.as_dict() | {"rather": self.rather, "probability": self.probability}


class SuspectLessons(NamedTuple):
    """The lessons with the most suspicious labels."""

    suspects: list[SuspectLesson]
    total: int  #: how many there are
    expected_wrong: float  #: of all that could be judged
    scored: int  #: how many these are
    reason: str  #: why none could be

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"suspects": [each.as_dict() for each in self.suspects]}


@dataclass(frozen=True, slots=True, eq=False)
class Suspicions:
    """How probable it is that the labels of lessons are wrong, the most suspicious first."""

    changes: NDArray[np.int64]  #: that learned them
    probabilities: NDArray[np.float64]
    rather: NDArray[np.int64]
    reason: str = ""  #: why nothing could be judged

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Judge all lessons by what was predicted of each before it was learned."""
        said = filter_.lessons.predicted()
        try:
            found = suspects(predictions_of(said, filter_.options.labels))
        except LabError as error:
            nothing = np.empty(0, np.int64)
            return cls(nothing, np.empty(0), nothing, f"{error}.")
        return cls(said.changes[found.order], found.probabilities, found.rather)

    def of_unconfirmed(self, filter_: Filter, most: int) -> SuspectLessons:
        """Return the most suspicious labels that nobody has confirmed, and how many there are."""
        left = ~np.isin(self.changes, [*filter_.journal.confirmed()])
        changes, probabilities = self.changes[left], self.probabilities[left]
        n = int((probabilities > SUSPICIOUS).sum())
        first = changes[: min(n, most)].tolist()
        lessons, labels = filter_.lessons.learned_by(first), filter_.options.labels
        rest = zip(self.rather[left].tolist(), probabilities.tolist(), strict=True)
        return SuspectLessons(
            suspects=[
                SuspectLesson(lessons[change], labels[rather], probability)
                for change, (rather, probability) in zip(first, rest, strict=False)
                if change in lessons  # or it was forgotten just now
            ],
            total=n,
            expected_wrong=float(probabilities.sum()),
            scored=len(changes),
            reason=self.reason,
        )
