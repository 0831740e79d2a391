"""What a filter has learned, and how it reads scores, in numbers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from priory.bayes import Calibration
from priory.bayes.counts import contrasts
from priory.memory.memory import Memory


class Stats(NamedTuple):
    """What a filter has learned, and how it reads scores."""

    lessons: Mapping[str, int]
    automatic: Mapping[str, int]  #: those of them that the filter has learned by itself
    changes: int
    buckets_used: int
    buckets: int
    scored: Mapping[str, int]  #: lessons that were scored before they were learned, which calibration is drawn from
    calibration: Mapping[str, Calibration]  #: for each label that is scored against the rest
    thresholds: Mapping[str, float]
    journal_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {"calibration": {label: line._asdict() for label, line in self.calibration.items()}}


def stats_of(memory: Memory, thresholds: Mapping[str, float]) -> Stats:
    """Return what has been learned, and how scores are read."""
    memory.view.refresh()
    journal, labels, counts = memory.journal, memory.labels, memory.counts
    tally, about = journal.tally(), [labels[i] for i in contrasts(len(labels))]
    return Stats(
        lessons={label: tally.get(label, 0) for label in labels},
        automatic=dict(zip(labels, memory.view.automatic, strict=True)),
        changes=journal.position().change,
        buckets_used=int(counts.table.any(axis=1).sum()),
        buckets=len(counts.rows),
        scored=dict(zip(labels, counts.n_scored(), strict=True)),
        calibration=dict(zip(about, memory.calibrations, strict=True)),
        thresholds=thresholds,
        journal_bytes=journal.size_bytes(),
    )
