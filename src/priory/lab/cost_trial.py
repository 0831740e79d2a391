"""Trials of other costs on the lessons of a filter, by the predictions made before each was learned."""

from collections import Counter
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import Costs
from priory.filter.filter import Filter
from priory.filter.lessons import ListedLesson
from priory.filter.predictions import LessonPredictions
from priory.lab.error import LabError
from priory.lab.measures.operating_point import OperatingCurves, OperatingPoint, changed_examples
from priory.lab.track_record import predictions_of


@dataclass(frozen=True, slots=True)
class CostTrialResult:
    """The operating points of the present costs and of others, on the lessons of a filter."""

    ground: OperatingCurves
    now: OperatingPoint
    then: OperatingPoint


@dataclass(frozen=True, slots=True)
class ChangedLesson:
    """A lesson about which the decision would change."""

    lesson: ListedLesson
    was: str
    becomes: str
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True)
class ChangedLessons:
    """A page of lessons about which the decision would change, the latest first, and their total."""

    total: int
    kinds: dict[tuple[str, str, str], int]  #: number by label, present decision and new decision
    lessons: list[ChangedLesson]
    after: int | None  #: the change after which the next page begins; None on the last page


@dataclass(frozen=True, slots=True)
class CostTrial:
    """The lessons with predictions, and the operating point of the present costs on them."""

    lessons: LessonPredictions
    n_unscored: int  #: number of lessons without a prediction
    ground: OperatingCurves | None
    now: OperatingPoint | None
    reason: str  #: why there is no operating point; empty if there is one

    @classmethod
    def of(cls, filter_: Filter) -> Self:
        """Prepare trials on the lessons of a filter."""
        lessons, labels = filter_.lessons.predicted(), filter_.options.labels
        n_unscored = sum(filter_.journal.tally().values()) - len(lessons.labels)
        try:
            ground = OperatingCurves.of(predictions_of(lessons, labels))
        except LabError:
            return cls(lessons, n_unscored, None, None, _missing_predictions(lessons, labels))
        return cls(lessons, n_unscored, ground, ground.at(filter_.options.costs), "")

    def result_of(self, costs: Costs) -> CostTrialResult | None:
        """Return the result of other costs; None if there is no operating point."""
        if self.ground is None or self.now is None:
            return None
        return CostTrialResult(self.ground, self.now, self.now if costs == self.now.costs else self.ground.at(costs))

    def changed_lessons(
        self, filter_: Filter, result: CostTrialResult, most: int, after: int | None = None
    ) -> ChangedLessons:
        """Return lessons about which the decision would change, of those learned before the change `after`."""
        changed = changed_examples(result.now, result.then)
        end = len(changed) if after is None else int(np.searchsorted(self.lessons.changes[changed], after))
        page = changed[max(0, end - most) : end][::-1]
        return ChangedLessons(
            len(changed),
            self._kinds(result, changed),
            self._lessons(filter_, result, page),
            int(self.lessons.changes[page[-1]]) if 0 < most < end else None,
        )

    def _kinds(self, result: CostTrialResult, changed_lessons: NDArray[np.intp]) -> dict[tuple[str, str, str], int]:
        decisions = result.now.confusion.said
        columns = (self.lessons.labels, result.now.said, result.then.said)
        kinds = Counter(zip(*(column[changed_lessons].tolist() for column in columns), strict=True))
        return {
            (decisions[label], decisions[was], decisions[becomes]): n
            for (label, was, becomes), n in kinds.most_common()
        }

    def _lessons(self, filter_: Filter, result: CostTrialResult, page: NDArray[np.intp]) -> list[ChangedLesson]:
        decisions, labels = result.now.confusion.said, filter_.options.labels
        changes = self.lessons.changes[page].tolist()
        listed = filter_.lessons.learned_by(changes)
        probabilities = np.exp(self.lessons.log_probabilities[page]).tolist()
        return [
            ChangedLesson(
                listed[change],
                decisions[result.now.said[i]],
                decisions[result.then.said[i]],
                dict(zip(labels, row, strict=True)),
            )
            for i, change, row in zip(page, changes, probabilities, strict=True)
            if change in listed  # otherwise it was forgotten in the meantime
        ]


def _missing_predictions(lessons: LessonPredictions, labels: tuple[str, ...]) -> str:
    there = set(lessons.labels.tolist())
    lacking = " and no ".join(label for i, label in enumerate(labels) if i not in there)
    return f"no {lacking} was predicted before it was learned, so costs cannot be tried: teach more of it"
