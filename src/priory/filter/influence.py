"""The lessons behind a verdict: those without which it would change most, and those that are most like the message.

What a lesson adds is exact: the message is scored by counts that have forgotten the lesson, calibration included, and
the lesson is counted again. Of all lessons, those are tried that promise most by a first-order estimate: the sum, over
the features that lesson and message share, of what the term would lose if one lesson less had the feature.
docs/decisions/explanations.md has the measurements.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from priory.bayes import Calibration, PresenceBayes
from priory.bayes.counts import NO_SCORE, Counts, contrasts, pack_predictions
from priory.features import KINDS, Features, unpack_features
from priory.filter.counts import JournalCounts
from priory.filter.judge import Judge
from priory.filter.lesson_index import LessonIndex, Weights
from priory.filter.prepare import Prepared
from priory.filter.reasons import CountedFeature
from priory.filter.scoring import calibration
from priory.filter.verdict import Verdict
from priory.journal import Lesson
from priory.native.overlap import largest, n_in_common

TRIED: Final = 32  #: lessons that are really forgotten for one message


class LessonInfluence(NamedTuple):
    """What one lesson adds to a verdict."""

    change: int  #: the number of the change that learned it
    lesson: Lesson
    label: str  #: the verdict without this lesson
    log_odds: float  #: of the label that the verdict is about, without this lesson
    adds: float  #: the log-odds with the lesson minus those without it


class SimilarLesson(NamedTuple):
    """A lesson about a message like this one."""

    change: int
    lesson: Lesson
    likeness: float  #: the share of the features of both that they have in common, from 0 to 1


class LessonsBehind(NamedTuple):
    """The lessons behind a verdict."""

    influential: list[LessonInfluence]  #: those that add most, for or against, the weightiest first
    similar: list[SimilarLesson]  #: those most like the message


class Influence:
    """Finds the lessons behind verdicts."""

    def __init__(self, counts: JournalCounts, judge: Judge, model: PresenceBayes) -> None:
        self._counts = counts
        self._judge = judge
        self._model = model
        self._index: dict[int, LessonIndex] = {}  # by contrast

    def behind(
        self,
        message: Prepared,
        user: str = "",
        most: int = 10,
        progress: Callable[[int], object] = lambda _n: None,
    ) -> LessonsBehind:
        """Return the lessons behind the verdict on a message, by the present counts.

        `progress` is called with each number of lessons that had to be read.
        """
        now, features = self._judge.judge(message, user), message.features
        if now.is_untaught or not len(features):
            return LessonsBehind([], [])
        contrast = self._contrast_of(now.about)
        index = self._index_of(contrast)
        index.update(progress)
        weights = self._weights(features, contrast)
        overlap = index.overlap(features, weights)
        promising = [index.numbers[i] for i in largest(overlap.weights, TRIED)]
        like = [index.numbers[i] for i in largest(overlap.likeness, 2 * most)]
        lessons = self._counts.journal.queries.lessons_of(sorted({*promising, *like}))
        tried = [
            LessonInfluence(change, lessons[change], then.label, log_odds, now.log_odds - log_odds)
            for change in promising
            if change in lessons
            for then in [self.verdict_without(lessons[change], message, user)]
            for log_odds in [then.claims[now.about].log_odds]
        ]
        similar = [
            SimilarLesson(change, lessons[change], self._likeness(features, lessons[change]))
            for change in like
            if change in lessons
        ]
        return LessonsBehind(
            sorted(tried, key=lambda lesson: (-abs(lesson.adds), lesson.change))[:most],
            sorted(similar, key=lambda lesson: (-lesson.likeness, -lesson.change))[:most],
        )

    def since(self, about: str, features: Iterable[CountedFeature]) -> dict[CountedFeature, float]:
        """Return when the first of the lessons that have each feature was learned, as far as it is known.

        Any label may be `about`; that of the last verdict has its lessons in memory.
        """
        index = self._index_of(self._contrast_of(about))
        index.update()
        ordered = sorted(set(features))
        offsets = array("q", [bisect_left(ordered, (kind,)) for kind in range(len(KINDS) + 1)])
        times = index.since(Features(array("I", [feature.number for feature in ordered]), offsets))
        return {feature: time for feature, time in zip(ordered, times, strict=True) if time is not None}

    def _contrast_of(self, label: str) -> int:
        number = self._counts.labels.index(label)
        return self._contrasts.index(number) if number in self._contrasts else 0

    def _index_of(self, contrast: int) -> LessonIndex:
        return self._index.setdefault(contrast, LessonIndex(self._counts, contrast))

    @property
    def _contrasts(self) -> tuple[int, ...]:
        return contrasts(len(self._counts.labels))

    def verdict_without(self, lesson: Lesson, message: Prepared, user: str = "") -> Verdict:
        """Return the verdict on a message as if a lesson had been forgotten, bit for bit."""
        with self._counts.without(lesson):
            return self._judge.judge(message, user)

    def _weights(self, features: Features, contrast: int) -> Weights:
        """Return what the terms of a message would lose if one lesson of each label less had all of its features."""
        counts, n_labels = self._counts.counts, len(self._counts.labels)
        line = calibration(counts, contrast, self._counts.by_people)
        own = self._terms(features, counts, contrast, line)
        by_label = array("d")
        for label in range(n_labels):
            known = _counted(features, counts, label)
            counts.subtract(known, label)
            by_label.extend(
                now - then for now, then in zip(own, self._terms(features, counts, contrast, line), strict=True)
            )
            counts.add(known, label)
        unit = pack_predictions([(NO_SCORE, int(i == contrast)) for i in range(len(self._contrasts))])
        counts.add(features, 0, unit)
        counts.subtract(features, 0)
        corrected = self._terms(features, counts, contrast, line)
        counts.add(features, 0)
        counts.subtract(features, 0, unit)
        by_correction = array("d", (then - now for now, then in zip(own, corrected, strict=True)))
        return Weights(memoryview(by_label).cast("B").cast("d", (n_labels, len(features))), by_correction)

    def _terms(self, features: Features, counts: Counts, contrast: int, line: Calibration) -> "array[float]":
        return self._model.terms(features, counts, self._contrasts[contrast], line.slope)

    def _likeness(self, features: Features, lesson: Lesson) -> float:
        """Return the Jaccard index of the features of a message and a lesson."""
        other = unpack_features(lesson.features, self._counts.journal.bits)
        n = n_in_common(features.buckets, features.offsets, other.buckets, other.offsets)
        return n / (len(features) + len(other) - n)


def _counted(features: Features, counts: Counts, label: int) -> Features:
    """Return the features that at least one message of a label had.

    Two features without names can share a bucket. Both are returned only if it was counted twice.
    """
    buckets, offsets = array("I"), array("q", [0])
    taken: Counter[int] = Counter()
    for kind, (start, end) in enumerate(zip(features.offsets, features.offsets[1:], strict=False)):
        is_named = features.named >> kind & 1
        for number in features.buckets[start:end]:
            if counts.messages_with(number, kind, features.named)[label] > taken[number] * (not is_named):
                buckets.append(number)
                taken[number] += not is_named
        offsets.append(len(buckets))
    return Features(buckets, offsets, named=features.named)
