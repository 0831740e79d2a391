"""A filter in numbers: its lessons, its counts and its calibration."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from priory.bayes import Calibration
from priory.bayes.counts import contrasts
from priory.filter.counts import JournalCounts


class Stats(NamedTuple):
    """A filter in numbers."""

    lessons: Mapping[str, int]
    automatic: Mapping[str, int]  #: lessons that the filter learned without a person
    changes: int
    buckets_used: int
    buckets: int
    scored: Mapping[str, int]  #: lessons that were scored before they were learned, on which calibration rests
    calibration: Mapping[str, Calibration]  #: of each label that is scored against the rest
    thresholds: Mapping[str, float]
    journal_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"calibration": {label: line._asdict() for label, line in self.calibration.items()}}


def stats_of(counts: JournalCounts, lines: list[Calibration], thresholds: Mapping[str, float]) -> Stats:
    """Return the numbers of a filter, given its calibrations and thresholds."""
    journal, labels, table = counts.journal, counts.labels, counts.counts
    tally, about = journal.tally(), [labels[i] for i in contrasts(len(labels))]
    return Stats(
        lessons={label: tally.get(label, 0) for label in labels},
        automatic=dict(zip(labels, counts.automatic, strict=True)),
        changes=journal.position().change,
        buckets_used=int(table.table.any(axis=1).sum()),
        buckets=len(table.rows),
        scored=dict(zip(labels, table.n_scored(), strict=True)),
        calibration=dict(zip(about, lines, strict=True)),
        thresholds=thresholds,
        journal_bytes=journal.size_bytes(),
    )
