"""Lessons of a filter whose labels look wrong, by the prediction made before each was learned."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from priory.filter.filter import Filter
from priory.filter.lessons import ListedLesson
from priory.lab.error import LabError
from priory.lab.label_errors.wrong_labels import suspects
from priory.lab.track_record import predictions_of

SUSPICIOUS: Final = 0.1  #: probability above which a look is worth it, if it costs a tenth of a wrong label


class SuspectLesson(NamedTuple):
    """A lesson whose label looks wrong."""

    lesson: ListedLesson
    rather: str  #: the more probable label
    probability: float  #: that the label is wrong

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self.lesson.as_dict() | {"rather": self.rather, "probability": self.probability}


class SuspectLessons(NamedTuple):
    """The lessons with the most suspicious labels."""

    suspects: list[SuspectLesson]
    total: int  #: the number of suspicious labels
    expected_wrong: float  #: expected number of wrong labels among all that were judged
    scored: int  #: the number of lessons judged
    reason: str  #: why no lesson could be judged; empty otherwise

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"suspects": [suspect.as_dict() for suspect in self.suspects]}


@dataclass(frozen=True, slots=True, eq=False)
class Suspicions:
    """The probabilities that the labels of lessons are wrong, the most suspicious first."""

    changes: NDArray[np.int64]  #: the journal's changes that learned them
    probabilities: NDArray[np.float64]
    rather: NDArray[np.int64]
    reason: str = ""  #: why no lesson could be judged

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Judge all lessons by the predictions made before they were learned."""
        lessons = filter_.lessons.predicted()
        try:
            ranked = suspects(predictions_of(lessons, filter_.options.labels))
        except LabError as error:
            nothing = np.empty(0, np.int64)
            return cls(nothing, np.empty(0), nothing, f"{error}.")
        return cls(lessons.changes[ranked.order], ranked.probabilities, ranked.rather)

    def of_unconfirmed(self, filter_: Filter, most: int) -> SuspectLessons:
        """Return the most suspicious labels that are not confirmed, and their number."""
        unconfirmed = ~np.isin(self.changes, [*filter_.journal.confirmed_changes()])
        changes, probabilities = self.changes[unconfirmed], self.probabilities[unconfirmed]
        n = int((probabilities > SUSPICIOUS).sum())
        first = changes[: min(n, most)].tolist()
        lessons, labels = filter_.lessons.learned_by(first), filter_.options.labels
        rest = zip(self.rather[unconfirmed].tolist(), probabilities.tolist(), strict=True)
        return SuspectLessons(
            suspects=[
                SuspectLesson(lessons[change], labels[rather], probability)
                for change, (rather, probability) in zip(first, rest, strict=False)
                if change in lessons  # otherwise it was forgotten in the meantime
            ],
            total=n,
            expected_wrong=float(probabilities.sum()),
            scored=len(changes),
            reason=self.reason,
        )
