"""What is known of the lessons of a filter: how each was predicted before it was learned, and what costs make of that.

To load what this needs takes a second: it is done when somebody asks for the first time.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np

from priory.decision import Costs
from priory.filter import Filter
from priory.journal import Selection
from priory.lab.error import LabError
from priory.lab.operating import Ground, Operating, changed
from priory.lab.prequential import predictions_of
from priory.listed import Listed
from priory.predicted import Predicted


@dataclass(frozen=True, slots=True)
class Judged:
    """What the costs in force say of lessons, and what others would."""

    ground: Ground
    now: Operating
    then: Operating


@dataclass(frozen=True, slots=True)
class Turned:
    """A lesson of which something else would be said."""

    lesson: Listed
    was: str
    becomes: str
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True)
class TurnedPage:
    """Some lessons of which something else would be said, the latest first, and how many there are in all."""

    total: int
    kinds: dict[tuple[str, str, str], int]  #: label, what is said of it, what would be: how many
    lessons: list[Turned]
    after: int | None  #: where the next page begins; None if there is none


@dataclass(frozen=True, slots=True)
class Known:
    """The lessons of which something was predicted, and what the costs in force say of them."""

    lessons: Predicted
    n_unscored: int  #: lessons of which nothing was predicted
    ground: Ground | None
    now: Operating | None
    reason: str  #: why nothing can be said, if so

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Look through the lessons of a filter."""
        lessons, labels = filter_.predicted(), filter_.options.labels
        n_unscored = sum(filter_.journal.tally().values()) - len(lessons.labels)
        try:
            ground = Ground.of(predictions_of(lessons, labels))
        except LabError:
            return cls(lessons, n_unscored, None, None, _lacking(lessons, labels))
        return cls(lessons, n_unscored, ground, ground.at(filter_.options.costs), "")

    def judged(self, costs: Costs) -> Judged | None:
        """Return what other costs would have done; None if nothing can be said."""
        if self.ground is None or self.now is None:
            return None
        return Judged(self.ground, self.now, self.now if costs == self.now.costs else self.ground.at(costs))

    def turned(self, filter_: Filter, judged: Judged, most: int, after: int | None = None) -> TurnedPage:
        """Return lessons of which something else would be said, those learned before the change `after`."""
        found = changed(judged.now, judged.then)
        said = judged.now.confusion.said
        kinds = Counter(
            zip(
                self.lessons.labels[found].tolist(),
                judged.now.said[found].tolist(),
                judged.then.said[found].tolist(),
                strict=True,
            )
        )
        changes = self.lessons.changes[found]
        end = len(found) if after is None else int(np.searchsorted(changes, after))
        shown = found[max(0, end - most) : end][::-1]
        listed = _listed(filter_, self.lessons.changes[shown].tolist())
        probabilities = np.exp(self.lessons.log_probabilities[shown])
        page = [
            Turned(
                listed[change],
                said[judged.now.said[i]],
                said[judged.then.said[i]],
                dict(zip(filter_.options.labels, row.tolist(), strict=True)),
            )
            for i, change, row in zip(shown, self.lessons.changes[shown].tolist(), probabilities, strict=True)
            if change in listed  # else it was forgotten just now
        ]
        return TurnedPage(
            len(found),
            {(said[label], said[was], said[becomes]): n for (label, was, becomes), n in kinds.most_common()},
            page,
            int(self.lessons.changes[shown[-1]]) if 0 < most < end else None,
        )


def _listed(filter_: Filter, changes: list[int]) -> dict[int, Listed]:
    page = filter_.lessons(Selection(changes=tuple(changes)), len(changes))
    return {int(each.place.partition(":")[2]): each for each in page.lessons}


def _lacking(lessons: Predicted, labels: tuple[str, ...]) -> str:
    there = set(lessons.labels.tolist())
    lacking = " and no ".join(label for i, label in enumerate(labels) if i not in there)
    return f"no {lacking} was predicted before it was learned, so there is nothing to judge costs by: teach more of it"
