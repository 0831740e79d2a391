"""Other costs, tried on the lessons of a filter: what they would have said of each as it was predicted before."""

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs
from priory.filter import Filter
from priory.lab.error import LabError
from priory.lab.operating import Ground, Operating, changed
from priory.lab.prequential import predictions_of
from priory.listed import Listed
from priory.predicted import Predicted


@dataclass(frozen=True, slots=True)
class Tried:
    """What the costs in force say of lessons, and what others would."""

    ground: Ground
    now: Operating
    then: Operating


@dataclass(frozen=True, slots=True)
class Changed:
    """A lesson of which something else would be said."""

    lesson: Listed
    was: str
    becomes: str
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """Some lessons of which something else would be said, the latest first, and how many there are in all."""

    total: int
    kinds: dict[tuple[str, str, str], int]  #: label, what is said of it, what would be: how many
    lessons: list[Changed]
    after: int | None  #: where the next page begins; None if there is none


@dataclass(frozen=True, slots=True)
class CostTrial:
    """The lessons of which something was predicted, and what the costs in force say of them."""

    lessons: Predicted
    n_unscored: int  #: lessons of which nothing was predicted
    ground: Ground | None
    now: Operating | None
    reason: str  #: why nothing can be said, if so

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Look through the lessons of a filter."""
        lessons, labels = filter_.lessons.predicted(), filter_.options.labels
        n_unscored = sum(filter_.journal.tally().values()) - len(lessons.labels)
        try:
            ground = Ground.of(predictions_of(lessons, labels))
        except LabError:
            return cls(lessons, n_unscored, None, None, _lacking(lessons, labels))
        return cls(lessons, n_unscored, ground, ground.at(filter_.options.costs), "")

    def tried(self, costs: Costs) -> Tried | None:
        """Return what other costs would have done; None if nothing can be said."""
        if self.ground is None or self.now is None:
            return None
        return Tried(self.ground, self.now, self.now if costs == self.now.costs else self.ground.at(costs))

    def changed(self, filter_: Filter, tried: Tried, most: int, after: int | None = None) -> ChangedPage:
        """Return lessons of which something else would be said, those learned before the change `after`."""
        found = changed(tried.now, tried.then)
        end = len(found) if after is None else int(np.searchsorted(self.lessons.changes[found], after))
        shown = found[max(0, end - most) : end][::-1]
        return ChangedPage(
            len(found),
            self._kinds(tried, found),
            self._lessons(filter_, tried, shown),
            int(self.lessons.changes[shown[-1]]) if 0 < most < end else None,
        )

    def _kinds(self, tried: Tried, found: NDArray[np.intp]) -> dict[tuple[str, str, str], int]:
        said = tried.now.confusion.said
        columns = (self.lessons.labels, tried.now.said, tried.then.said)
        kinds = Counter(zip(*(column[found].tolist() for column in columns), strict=True))
        return {(said[label], said[was], said[becomes]): n for (label, was, becomes), n in kinds.most_common()}

    def _lessons(self, filter_: Filter, tried: Tried, shown: NDArray[np.intp]) -> list[Changed]:
        said, labels = tried.now.confusion.said, filter_.options.labels
        changes = self.lessons.changes[shown].tolist()
        listed = filter_.lessons.learned_by(changes)
        probabilities = np.exp(self.lessons.log_probabilities[shown]).tolist()
        return [
            Changed(
                listed[change],
                said[tried.now.said[i]],
                said[tried.then.said[i]],
                dict(zip(labels, row, strict=True)),
            )
            for i, change, row in zip(shown, changes, probabilities, strict=True)
            if change in listed  # else it was forgotten just now
        ]


def _lacking(lessons: Predicted, labels: tuple[str, ...]) -> str:
    there = set(lessons.labels.tolist())
    lacking = " and no ".join(label for i, label in enumerate(labels) if i not in there)
    return f"no {lacking} was predicted before it was learned, so there is nothing to judge costs by: teach more of it"
