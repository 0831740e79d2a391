"""Which labels of a journal look wrong, by what was predicted of each message before it was learned."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from priory.filter import Filter
from priory.journal import Selection
from priory.listed import Listed

SUSPICIOUS: Final = 0.1  #: probability of a slip above which a look is worth it: it costs a tenth of a wrong label


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """How probable it is that labels are wrong, the most suspicious first."""

    changes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    rather: NDArray[np.int64]
    reason: str = ""  #: why nothing could be judged

    @classmethod
    def of(cls, filter_: Filter) -> "Judged":
        """Judge all lessons by what was predicted of each before it was learned."""
        from priory.lab.error import LabError  # noqa: PLC0415 - the daemon is ready before the workbench is loaded
        from priory.lab.prequential import predictions_of  # noqa: PLC0415
        from priory.lab.suspects import suspects  # noqa: PLC0415

        said = filter_.predicted()
        try:
            found = suspects(predictions_of(said, filter_.options.labels))
        except LabError as error:
            nothing = np.empty(0, np.int64)
            return cls(nothing, np.empty(0), nothing, f"{error}.")
        return cls(said.changes[found.order], found.probabilities, found.rather)

    def without(self, changes: set[int]) -> "Judged":
        """Return the same without what some changes have learned."""
        left = ~np.isin(self.changes, [*changes])
        return Judged(self.changes[left], self.probabilities[left], self.rather[left], self.reason)


class Suspect(NamedTuple):
    """A lesson whose label looks wrong."""

    lesson: Listed
    rather: str  #: what it looks like
    probability: float  #: that the label is wrong

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self.lesson.as_dict() | {"rather": self.rather, "probability": self.probability}


class Found(NamedTuple):
    """The most suspicious labels."""

    suspects: list[Suspect]
    total: int  #: how many there are
    expected_wrong: float  #: of all that could be judged
    scored: int  #: how many these are
    reason: str  #: why none could be

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"suspects": [each.as_dict() for each in self.suspects]}


class Suspicions:
    """What looks wrong in a journal; it is looked through again when something was learned or forgotten."""

    def __init__(self) -> None:
        self._judged_at: tuple[str, int] | None = None
        self._judged: Judged

    def judged(self, filter_: Filter) -> Judged:
        """Return all labels but those that were confirmed; for who has the filter's thread."""
        now = filter_.journal.id, filter_.journal.position()[0]
        if now != self._judged_at:
            self._judged, self._judged_at = Judged.of(filter_), now
        return self._judged.without(filter_.journal.confirmed())

    def found(self, filter_: Filter, most: int) -> Found:
        """Return the most suspicious labels, and how many there are."""
        judged, labels = self.judged(filter_), filter_.options.labels
        n = int((judged.probabilities > SUSPICIOUS).sum())
        first = judged.changes[: min(n, most)].tolist()
        lessons = {each.change: each for each in filter_.lessons(Selection(changes=tuple(first)), most).lessons}
        rest = zip(judged.rather.tolist(), judged.probabilities.tolist(), strict=True)
        return Found(
            suspects=[
                Suspect(lessons[change], labels[rather], probability)
                for change, (rather, probability) in zip(first, rest, strict=False)
                if change in lessons  # or it was forgotten just now
            ],
            total=n,
            expected_wrong=float(judged.probabilities.sum()),
            scored=len(judged.changes),
            reason=judged.reason,
        )
