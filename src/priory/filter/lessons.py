"""Lists of the lessons of a filter: by selection, page by page, with the certainty that the filter had of each."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from priory.bayes import Calibration
from priory.filter.counts import JournalCounts
from priory.filter.scoring import CalibrationCache, certainty
from priory.filter.sync import Sync
from priory.journal import AUTOMATIC, EVERYTHING, LessonSummary, Selection

if TYPE_CHECKING:
    from priory.filter.predictions import LessonPredictions


class ListedLesson(NamedTuple):
    """One lesson as it is shown."""

    time: float  #: when it was learned
    label: str
    user: str  #: empty for a lesson without a user
    automatic: bool  #: whether the filter learned it without a person
    source: str
    sender: str  #: the domain
    subject: str  #: empty if the journal does not have it
    digest: str
    certainty: float | None  #: the label's probability before it was learned, by today's calibration; None: not scored
    place: str  #: its position in the list, after which the next page can begin

    @property
    def change(self) -> int:
        """The number of the change that learned it."""
        return int(self.place.rpartition(":")[2])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the time in ISO 8601, UTC."""
        return self._asdict() | {"time": iso_time(self.time)}


def iso_time(time: float) -> str:
    """Return a time in UTC to the millisecond, as ISO 8601."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


class LessonPage(NamedTuple):
    """A page of lessons, the latest first."""

    lessons: list[ListedLesson]
    after: str | None  #: the place after which the next page begins; None on the last page


class Lessons:
    """The lessons of a filter."""

    def __init__(self, counts: JournalCounts, sync: Sync, calibration: CalibrationCache) -> None:
        self._counts = counts
        self._sync = sync
        self._calibration = calibration
        self._queries = counts.journal.queries
        self._predictions: tuple[int, LessonPredictions] | None = None  # with the generation of the counts

    def predicted(self) -> "LessonPredictions":
        """Return the prediction for each lesson before it was learned, by today's calibration."""
        from priory.filter.predictions import lesson_predictions  # noqa: PLC0415 - NumPy, for a few commands only

        counts = self._counts
        self._sync.refresh()
        if self._predictions is None or self._predictions[0] != counts.generation:
            predictions = lesson_predictions(counts.journal, counts.labels, self._calibration.newest())
            self._predictions = counts.generation, predictions
        return self._predictions[1]

    def page(self, selection: Selection = EVERYTHING, most: int = 100, after: str | None = None) -> LessonPage:
        """Return a page of the lessons of a selection, the latest first; `after` comes from the page before.

        Nothing is held open between two pages: others may learn and forget.
        """
        self._sync.refresh()
        # One more entry than fits tells whether there is another page.
        entries = self._queries.page(self.resolved(selection), most + 1, after)
        lines = self._calibration.newest()
        lessons = [listed_lesson(entry, self._counts.labels, lines) for entry in entries[:most]]
        return LessonPage(lessons, lessons[-1].place if len(entries) > most else None)

    def learned_by(self, changes: Sequence[int]) -> dict[int, ListedLesson]:
        """Return the lessons that these changes learned and that still exist, by change number."""
        page = self.page(Selection(changes=tuple(changes)), len(changes))
        return {lesson.change: lesson for lesson in page.lessons}

    def n_of(self, selection: Selection = EVERYTHING) -> int:
        """Return the number of lessons of a selection."""
        return self._queries.n_of(self.resolved(selection))

    def changes_of(self, selection: Selection) -> list[int]:
        """Return the numbers of the changes that learned the lessons of a selection, in order."""
        return self._queries.changes_of(self.resolved(selection))

    def resolved(self, selection: Selection) -> Selection:
        """Replace limits of certainty, which the journal does not know, by the changes that they select."""
        if not selection.is_by_certainty:
            return selection
        changes = self.predicted().changes_of(selection)
        if selection.changes is not None:
            changes = tuple(sorted({*changes} & {*selection.changes}))
        return replace(selection, certainty_below=None, certainty_above=None, changes=changes)


def listed_lesson(entry: LessonSummary, labels: Sequence[str], lines: Sequence[Calibration]) -> ListedLesson:
    """Return a lesson as it is shown, with the certainty that these calibrations give it."""
    return ListedLesson(
        time=entry.time,
        label=entry.label,
        user="" if entry.user is AUTOMATIC else entry.user,
        automatic=entry.is_automatic,
        source=entry.source,
        sender=entry.sender,
        subject=entry.subject,
        digest=entry.digest.hex(),
        certainty=_certainty(entry, labels, lines),
        place=entry.place,
    )


def _certainty(entry: LessonSummary, labels: Sequence[str], lines: Sequence[Calibration]) -> float | None:
    if entry.held_out is None or entry.label not in labels:
        return None
    return certainty(entry.held_out, labels.index(entry.label), len(labels), lines)
