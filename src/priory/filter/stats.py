"""A filter in numbers: its lessons, its counts and its calibration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from priory.bayes import Calibration, Counts
from priory.bayes.calibration_line import n_outcomes
from priory.bayes.counts import contrasts
from priory.filter.counts import JournalCounts
from priory.filter.promise import LostHam, PromiseProgress
from priory.filter.provenance import OriginGap
from priory.native.table import n_used

if TYPE_CHECKING:
    from priory.filter.silence import SilenceStats

_NOTABLE_SHARE: Final = 0.02  # of labels that look wrong
_NOTABLE_LABELS: Final = 5


class Stats(NamedTuple):
    """A filter in numbers."""

    lessons: Mapping[str, int]
    automatic: Mapping[str, int]  #: lessons that the filter learned without a person
    changes: int
    names: int  #: how many distinct features with names of their own the lessons have
    nameless: int  #: lessons of an older version, whose features have no names
    buckets_used: int  #: by n-grams, and by the features of nameless lessons
    buckets: int
    scored: Mapping[str, int]  #: lessons that were scored before they were learned, on which calibration rests
    calibration: Mapping[str, Calibration]  #: of each label that is scored against the rest
    wrong_labels: float  #: the share of the scored lessons whose labels look wrong; 0 if it is not above 1 %
    thresholds: Mapping[str, float]
    journal_bytes: int
    silence: "SilenceStats | None" = None  #: None if no checked mail was concluded yet
    lost_ham: LostHam | None = None  #: how much ham is called spam, by the outcomes of earlier predictions
    promise: PromiseProgress | None = None  #: how far the promise about lost ham is, if there is one
    origins: OriginGap | None = None  #: if the mail of the labels was collected in different places

    @property
    def doubt(self) -> str:
        """How many labels look wrong, in words; empty if they are few.

        >>> stats = Stats({}, {}, 0, 0, 0, 0, 1, {"ham": 1000, "spam": 500}, {}, 0.032, {}, 0)
        >>> stats.doubt
        'about 1 in 31 labels looks wrong'
        """
        share = self.wrong_labels
        n_scored = sum(self.scored.values())
        if share < _NOTABLE_SHARE or share * n_scored < _NOTABLE_LABELS:
            return ""
        return f"about 1 in {1 / share:.0f} labels looks wrong"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return self._asdict() | {
            "calibration": {label: line._asdict() for label, line in self.calibration.items()},
            "silence": self.silence and self.silence._asdict(),
            "lost_ham": self.lost_ham and self.lost_ham.as_dict(),
            "promise": self.promise and self.promise._asdict(),
            "origins": self.origins and self.origins.as_dict(),
        }


def stats_of(
    counts: JournalCounts, lines: list[Calibration], thresholds: Mapping[str, float], silence: "SilenceStats | None"
) -> Stats:
    """Return the numbers of a filter, given its calibrations, its thresholds and what silence says."""
    journal, labels, table = counts.journal, counts.labels, counts.counts
    tally, about = journal.tally(), [labels[i] for i in contrasts(len(labels))]
    return Stats(
        lessons={label: tally.get(label, 0) for label in labels},
        automatic=dict(zip(labels, counts.automatic, strict=True)),
        changes=journal.position().change,
        names=table.names.n,
        nameless=table.names.nameless,
        buckets_used=n_used(table.rows, len(labels)),
        buckets=len(table.rows),
        scored=dict(zip(labels, table.n_scored(), strict=True)),
        calibration=dict(zip(about, lines, strict=True)),
        wrong_labels=_wrong_labels(table, lines),
        thresholds=thresholds,
        journal_bytes=journal.size_bytes(),
        silence=silence,
    )


def _wrong_labels(counts: Counts, lines: list[Calibration]) -> float:
    """Return the share of labels that look wrong. With three labels or more, each is wrong in two contrasts."""
    taught = [n_outcomes(counts.outcomes(i)) for i in range(len(lines))]
    wrong = sum(line.n_wrong(*numbers) for line, numbers in zip(lines, taught, strict=True))
    return wrong / min(len(lines), 2) / max(*map(sum, taught), 1)
