"""Lessons as people and programs look through them: who taught what and when, and how probable it was before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from priory.bayes import Calibration
from priory.journal import AUTOMATIC, Entry
from priory.scoring import certainty


class Listed(NamedTuple):
    """One lesson."""

    time: float  #: when it was learned
    label: str
    user: str  #: the empty name is nobody in particular
    automatic: bool  #: whether the filter has learned it by itself
    source: str
    sender: str  #: the domain
    digest: str
    certainty: float | None  #: the probability that its label had before, as its score is read today; None: not scored
    place: str  #: where it stands: a page can go on after it

    @property
    def change(self) -> int:
        """The number of the change that learned it."""
        return int(self.place.rpartition(":")[2])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the time as ISO 8601 has it, of Greenwich."""
        time = datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds")
        return self._asdict() | {"time": time}


class Page(NamedTuple):
    """Some lessons, the latest first."""

    lessons: list[Listed]
    after: str | None  #: the place after which the next page begins; None if there is none


def page_of(entries: Sequence[Entry], most: int, labels: Sequence[str], lines: Sequence[Calibration]) -> Page:
    """Return the page that the first `most` entries make; one more says that there is another."""
    lessons = [listed(entry, labels, lines) for entry in entries[:most]]
    return Page(lessons, lessons[-1].place if len(entries) > most else None)


def listed(entry: Entry, labels: Sequence[str], lines: Sequence[Calibration]) -> Listed:
    """Return a lesson as it is shown; the lines are those of the calibration of today."""
    is_automatic = entry.user == AUTOMATIC
    return Listed(
        time=entry.time,
        label=entry.label,
        user="" if is_automatic else entry.user,
        automatic=is_automatic,
        source=entry.source,
        sender=entry.sender,
        digest=entry.digest.hex(),
        certainty=_certainty(entry, labels, lines),
        place=entry.place,
    )


def _certainty(entry: Entry, labels: Sequence[str], lines: Sequence[Calibration]) -> float | None:
    if entry.held_out is None or entry.label not in labels:
        return None
    return certainty(entry.held_out, labels.index(entry.label), len(labels), lines)
