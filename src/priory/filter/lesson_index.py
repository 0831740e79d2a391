"""The features of all lessons in memory, to find the lessons that share features with a message.

It is read from the journal when it is first needed, a second for each 60,000 lessons, and follows the journal from then
on. Where all features would take more than 64 MB, it holds one in two, four and so on.
"""

import math
from array import array
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.bayes.counts import unpack_predictions
from priory.features import unpack_features
from priory.filter.counts import JournalCounts
from priory.native.overlap import FeatureIndex

if TYPE_CHECKING:
    from priory.features import Features
    from priory.journal import Lesson

MOST_FEATURES: Final = 1 << 24  #: of all lessons together, four bytes each
_MOST_GONE: Final = 0.1  # the share of forgotten lessons from which on the index is read again
_MOST_GROUPS: Final = 255


class Overlap(NamedTuple):
    """What the indexed lessons share with a message."""

    weights: "array[float]"  #: of the features that each lesson shares
    likeness: "array[float]"  #: the share of the features of both that they have in common


class Weights(NamedTuple):
    """How much each feature of a message weighs in a lesson that has it."""

    by_label: "memoryview[float]"  #: [label, feature]
    by_correction: "array[float]"  #: [feature]: for each unit of the correction that a lesson left


class LessonIndex:
    """The numbers, labels, corrections and features of the lessons that count for everyone."""

    def __init__(self, counts: JournalCounts, contrast: int) -> None:
        self._counts = counts
        self._contrast = contrast
        self._change = -1
        self._start_empty()

    def _start_empty(self) -> None:
        self._features = FeatureIndex(self._counts.journal.bits)
        self.numbers = array("q")  #: of the changes that learned the lessons; some may be forgotten since
        self._labels = array("B")
        self._corrections = array("b")
        self._times = array("d")  # infinite for lessons that are forgotten or do not count for everyone

    def update(self, progress: Callable[[int], object] = lambda _n: None) -> None:
        """Take in the lessons learned since the last call; read all again if many were forgotten.

        `progress` is called with each number of lessons that were read.
        """
        journal = self._counts.journal
        change = journal.position().change
        if change == self._change:
            return
        numbers = journal.queries.numbers()
        n_old = sum(1 for number in numbers if number <= self._last)
        if n_old < (1 - _MOST_GONE) * len(self.numbers):
            self._start_empty()
        if n_old < len(self.numbers):
            self._note_forgotten(numbers)
        for number, lesson in journal.queries.lessons_after(self._last):
            self._append(number, lesson)
            progress(1)
        self._change = change

    def _note_forgotten(self, numbers: Collection[int]) -> None:
        existing = set(numbers)
        for i, number in enumerate(self.numbers):
            if number not in existing:
                self._times[i] = math.inf

    @property
    def _last(self) -> int:
        return self.numbers[-1] if self.numbers else -1

    def _append(self, number: int, lesson: "Lesson") -> None:
        if lesson.label not in self._counts.labels:
            return
        features = unpack_features(lesson.features, self._counts.journal.bits)
        self._features.append(features.buckets, features.offsets, features.named)
        while self._features.n_features > MOST_FEATURES:
            self._features.thin()
        predicted = unpack_predictions(lesson.held_out or b"")
        self.numbers.append(number)
        self._labels.append(self._counts.labels.index(lesson.label))
        self._times.append(lesson.time if lesson.shared else math.inf)
        self._corrections.append(predicted[self._contrast][1] if len(predicted) > self._contrast else 0)

    def overlap(self, features: "Features", weights: Weights) -> Overlap:
        """Return for each lesson what it shares with a message, estimated if not all features are held."""
        return Overlap(
            *self._features.overlap(
                features.buckets,
                features.offsets,
                features.named,
                self._counts.counts.names.nameless > 0,
                weights.by_label,
                self._labels,
                weights.by_correction,
                self._corrections,
            )
        )

    def since(self, features: "Features") -> list[float | None]:
        """Return for each feature when the first of the lessons that have it was learned.

        It is None if no lesson has it, or if not all features are held and this one is not.
        """
        is_with_nameless = self._counts.counts.names.nameless > 0
        return self._features.earliest(
            features.buckets, features.offsets, features.named, is_with_nameless, self._times
        )
