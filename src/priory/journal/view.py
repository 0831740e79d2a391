"""The counts of a journal, kept in step with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Counts
from priory.journal.lesson import Change, JournalError
from priory.journal.snapshot import Snapshot, load_snapshot, save_snapshot
from priory.journal.sqlite import Journal
from priory.kernels import Buckets, unpack

MOST_KINDS: Final = 64
#: A fresh process replays what came after the snapshot, at some 30,000 lessons a second: a few milliseconds at most.
SNAPSHOT_EVERY: Final = 200
SNAPSHOT_EVERY_IN_BULK: Final = 20_000


class View:
    """Counts that follow a journal: mapped from the snapshot, then brought up to date change by change."""

    def __init__(self, journal: Journal, labels: Sequence[str], snapshot_path: Path) -> None:
        self._journal = journal
        self._labels = list(labels)
        self._path = snapshot_path
        self._seen_version = -1
        self._saved_change = 0
        self.change = 0
        self.counts = Counts.empty(0, len(labels))
        self.generation = 0  #: differs whenever the counts do
        self.invalidate()

    def invalidate(self) -> None:
        """Doubt everything: the next `refresh` starts from the snapshot."""
        self._seen_version = -1
        self.change = -1

    def refresh(self) -> None:
        """Take in what other processes have learned since the last look; costs next to nothing if nothing was."""
        version = self._journal.version()
        if version != self._seen_version:
            with self._journal.reading():
                self.catch_up()
            self._seen_version = version

    def catch_up(self) -> None:
        """Bring the counts to the journal's last change; call inside `reading` or `writing`."""
        now, settled = self._journal.position()
        if self.change < settled or self.change > now:
            self._start_from_snapshot(now, settled)
        if self.change < now:
            self._replay(now)
        if self._tallies_differ():
            self._start_empty()
            self._replay(now)
            if self._tallies_differ():
                raise JournalError(f"{self._journal.path} does not add up: its tally and its lessons differ.")

    def _start_from_snapshot(self, now: int, settled: int) -> None:
        snapshot = load_snapshot(self._path, self._journal.id, self._labels, self._journal.bits)
        if snapshot and settled <= snapshot.change <= now:
            self.counts, self.change = snapshot.counts, snapshot.change
            self._saved_change = snapshot.change
        else:
            self._start_empty()

    def _start_empty(self) -> None:
        """Nothing before change 0 was ever learned, so from here all lessons that are left are added."""
        self.counts, self.change = Counts.empty(self._journal.bits, len(self._labels)), 0
        self._saved_change = 0

    def _replay(self, now: int) -> None:
        for change in self._journal.changes_since(self.change):
            self.apply(change)
        self.change = now
        self.generation += 1

    def apply(self, change: Change) -> None:
        """Let one lesson come or go."""
        buckets, _ = unpack(change.features, MOST_KINDS, self._journal.bits)
        scores = None if change.held_out is None else np.frombuffer(change.held_out, np.float32)
        (self.counts.add if change.sign > 0 else self.counts.subtract)(buckets, self._label(change.label), scores)
        self.generation += 1

    def add(self, buckets: Buckets, label: str, scores: NDArray[np.float32] | None) -> None:
        """Let one lesson come whose features are at hand."""
        self.counts.add(buckets, self._label(label), scores)
        self.generation += 1

    def _label(self, label: str) -> int:
        if label not in self._labels:
            raise JournalError(
                f"{self._journal.path} holds lessons labelled {label!r}, which the configuration does not name "
                f"(it has {', '.join(self._labels)}): add the label to it."
            )
        return self._labels.index(label)

    def _tallies_differ(self) -> bool:
        """A journal restored from a backup, say, does not fit a snapshot that was made after it."""
        tally = self._journal.tally()
        return [tally.get(label, 0) for label in self._labels] != self.counts.totals.tolist()

    def save_if_due(self, every: int = SNAPSHOT_EVERY) -> None:
        """Write a snapshot if that many changes came since the last; call outside of transactions."""
        if self.change - self._saved_change >= every:
            self.save()

    def save(self) -> None:
        """Write a snapshot of the counts as they are, and let the journal drop what it kept only for that."""
        save_snapshot(self._path, Snapshot(self.counts, self.change), self._journal.id, self._labels)
        self._saved_change = self.change
        with self._journal.writing():
            self._journal.settle(self.change)

    def rebuild(self) -> None:
        """Build the counts from every lesson and write the snapshot."""
        with self._journal.writing():
            self._start_empty()
            self._replay(self._journal.position()[0])
        self.save()
