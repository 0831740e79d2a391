"""The counts of a journal, kept in step with it."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from priory.bayes import Counts
from priory.bayes.counts import PREDICTION_BYTES, HeldOut
from priory.journal.automatic import Tallies
from priory.journal.database import SharedSnapshots
from priory.journal.following import Following
from priory.journal.journal import Journal
from priory.journal.lesson import (
    Change,
    JournalAwayError,
    JournalBusyError,
    JournalError,
    Position,
    UnknownLabelError,
)
from priory.journal.news import Mark, News
from priory.journal.ownership import one_at_a_time
from priory.journal.snapshot import Snapshot, load_snapshot, save_snapshot
from priory.packing import unpack

if TYPE_CHECKING:
    from array import array

    from typing_extensions import Buffer

MOST_KINDS: Final = 64
#: A fresh process replays what came after the snapshot, at some 30,000 lessons a second: a few milliseconds at most.
SNAPSHOT_EVERY: Final = 200
SNAPSHOT_EVERY_IN_BULK: Final = 20_000
#: Where others teach all the time: at most so many bytes are written for each change that a start is spared.
SNAPSHOT_BYTES: Final = 64 * 1024
#: Which rows of so many bits a lesson has for the one who taught it, by user, predictions, buckets and offsets, if any.
RowsOf: TypeAlias = "Callable[[str, HeldOut | None, Buffer, Buffer, int], array[int] | None]"
PAGE: Final = 5_000  #: changes that are fetched before they are taken in: some 15 MB
_MOST_TRIES: Final = 100  # to settle, while somebody else is about it
_PAUSE_S: Final = 0.2
AFRESH: Final = 1 << 32  #: more changes than counts take in one after the other


class View:
    """Counts that follow a journal: mapped from the snapshot, then brought up to date change by change."""

    def __init__(self, journal: Journal, labels: Sequence[str], snapshot_path: Path, rows_of: RowsOf) -> None:
        self._journal = journal
        self._rows_of = rows_of
        self._labels = list(labels)
        self._path = snapshot_path
        self._seen_version = -1
        self._saved_change = 0
        self._stamp = ""
        self.following = Following(
            self, shared=journal.shared is not None
        )  #: the journal, as well as it can be reached
        self.change = 0
        self.counts = Counts.empty(0, len(labels))
        self.automatic = [0] * len(labels)  #: how many of the messages of each label the filter has learned by itself
        self.generation = 0  #: one more with each change that the counts take in, and far more when they start anew
        self.invalidate()

    def invalidate(self) -> None:
        """Doubt everything: the next `refresh` starts from the snapshot."""
        self._seen_version = -1
        self.change = -1

    def refresh(self) -> None:
        """Take in what was learned by other connections since the last look; costs next to nothing if nothing was.

        Where the journal cannot be reached, the counts stay as they are.
        """
        self.following.refresh()

    def look(self, *, surely: bool = False) -> None:
        """Ask the journal whether it has changed, and take that in; or surely, as numbers of changes may come twice."""
        self._journal.get_known()
        version = self._journal.version()
        if surely or version != self._seen_version:
            with self._journal.reading():
                self.catch_up()
            self._seen_version = version

    @property
    def mark(self) -> Mark:
        """Where the counts stand."""
        return Mark(self.change, self._stamp)

    def take(self, news: News) -> None:
        """Take in what has come; counts that could not, or do not add up then, start anew at the next look."""
        self._refuse_unknown(news.changes)
        try:
            for change in news.changes:
                self._apply(change)
            self.change, self._stamp = news.end
            is_right = news.tallies is None or self._adds_up(news.tallies)
        except ValueError:
            is_right = False
        except BaseException:
            self.invalidate()
            raise
        if not is_right:
            self.invalidate()

    def start_as_written_down(self) -> None:
        """Start from the snapshot in the home, whatever the journal says; if there is none, from nothing."""
        snapshot = load_snapshot(self._path, self._journal.id, self._labels, *self._bits)
        if snapshot:
            self._start_at(snapshot.counts, snapshot.change, snapshot.stamp)
        elif len(self.counts.rows) != 1 << self._journal.bits:
            self._start_empty()
            self.change = -1

    def catch_up(self) -> None:
        """Bring the counts to the journal's last change; call inside `reading` or `writing`."""
        now, before = self._journal.position(), self.counts
        try:
            if not self._is_on_the_way_to(now):
                self._start_from_snapshot(now)
            if not self._follow(now):
                self._build(now)
        except JournalAwayError:
            raise  # what came is taken in as a whole, nothing else is
        except UnknownLabelError:
            if self.counts is not before:
                self.invalidate()  # they were begun anew: what was written down here is newer
            raise
        except BaseException:
            self.invalidate()
            raise

    def _is_on_the_way_to(self, now: Position) -> bool:
        """Tell whether the counts are those of the journal at an earlier change of which it still knows what followed.

        A server that takes the place of another may lack its last changes, and gives their numbers again.
        """
        if not now.settled <= self.change <= now.change:
            return False
        return self._stamp == (now.stamp if self.change == now.change else self._journal.stamp_of(self.change))

    def _start_from_snapshot(self, now: Position) -> None:
        """Start from the snapshot in the home; or else from the one that all share, if there is one."""
        snapshot = load_snapshot(self._path, self._journal.id, self._labels, *self._bits)
        if snapshot and self._fits(snapshot, now):
            self._start_at(snapshot.counts, snapshot.change, snapshot.stamp)
            return
        shared = self._journal.shared
        self._start_empty()
        if shared and now.settled and shared.load(now.settled, self._labels, self.counts.room):
            self._start_at(self.counts, now.settled, self._journal.stamp_of(now.settled))
        else:
            self._start_empty()

    def _fits(self, snapshot: Snapshot, now: Position) -> bool:
        if self._journal.shared:
            stamp = self._journal.stamp_of(snapshot.change)
            return now.settled <= snapshot.change <= now.change and snapshot.stamp == stamp
        return (snapshot.change, snapshot.digest) == (now.settled, self._journal.snapshot())

    def _start_empty(self) -> None:
        """Start from change 0: nothing was learned before it, so all lessons that are left will be added."""
        bits, personal_bits = self._bits
        self._start_at(Counts.empty(bits, len(self._labels), personal_bits), 0, "")

    @property
    def _bits(self) -> tuple[int, int]:
        return self._journal.bits, self._journal.personal_bits

    def _start_at(self, counts: Counts, change: int, stamp: str) -> None:
        self.counts, self.change, self._stamp = counts, change, stamp
        self._saved_change = change
        self.generation += AFRESH

    def _build(self, now: Position) -> None:
        self._start_empty()
        if not self._follow(now):
            raise JournalError(
                f"{self._journal.name} is damaged: its tally and its lessons differ. Restore it from a backup."
            )

    def _follow(self, now: Position) -> bool:
        """Take in the changes up to `now`; tell whether the counts could, and add up with the journal's tally."""
        while self.change < now.change:
            end = min(self.change + PAGE, now.change)
            page = list(self._journal.changes_between(self.change, end))
            self._refuse_unknown(page)
            stamp = now.stamp if end == now.change else self._journal.stamp_of(end)
            try:
                for change in page:
                    self._apply(change)
            except ValueError:
                return False
            self.change, self._stamp = end, stamp
        return self._adds_up(self._journal.tallies())

    def _adds_up(self, tallies: Tallies) -> bool:
        every, automatic, unshared = tallies
        self.automatic = [automatic.get(label, 0) for label in self._labels]
        totals: list[int] = self.counts.totals.tolist()
        return totals == [every.get(label, 0) - unshared.get(label, 0) for label in self._labels]

    def keep_up(self) -> None:
        """Say that the counts were changed along with the journal; call at the end of `writing`."""
        if self.change != self._journal.last_change:
            self.change, self._stamp = self._journal.last_change, self._journal.stamp

    def apply(self, change: Change) -> None:
        """Let one lesson come or go."""
        try:
            self._apply(change)
        except ValueError as error:
            raise JournalError(f"{self._path} does not fit its journal ({error}): rebuild it.") from None

    def _apply(self, change: Change) -> None:
        counts, label = self.counts, self._label(change.label)
        buckets, offsets, held_out = self._read(change)
        if change.shared:
            (counts.add if change.sign > 0 else counts.subtract)(buckets, label, held_out)
        own = self._rows_of(change.user, change.held_out, buckets, offsets, self._journal.personal_bits)
        if own is not None:
            (counts.add_personal if change.sign > 0 else counts.subtract_personal)(own, label)
        self.generation += 1

    def _read(self, change: Change) -> "tuple[array[int], array[int], HeldOut | None]":
        try:
            buckets, offsets = unpack(change.features, MOST_KINDS, self._journal.bits)
            n_predictions, rest = divmod(len(change.held_out or b""), PREDICTION_BYTES)
            if rest:
                raise ValueError("predictions are damaged")
        except ValueError:
            raise JournalError(
                f"{self._journal.name} is damaged: a lesson cannot be read. Restore it from a backup."
            ) from None
        # Predictions from when there were fewer or more labels are answers to another question.
        return buckets, offsets, change.held_out if n_predictions == len(self.counts.held_out) else None

    def add(self, buckets: "Buffer", label: str, held_out: HeldOut | None) -> None:
        """Let one lesson come whose features are at hand."""
        self.counts.add(buckets, self._label(label), held_out)
        self.generation += 1

    def add_personal(
        self, user: str, label: str, held_out: HeldOut | None, buckets: "Buffer", offsets: "Buffer"
    ) -> None:
        """Let one lesson count for the one who taught it, if it does."""
        own = self._rows_of(user, held_out, buckets, offsets, self._journal.personal_bits)
        if own is not None:
            self.counts.add_personal(own, self._label(label))
            self.generation += 1

    def _label(self, label: str) -> int:
        if label not in self._labels:
            raise UnknownLabelError(
                f"{self._journal.name} holds lessons labelled {label!r}, which the configuration does not name "
                f"(it has {', '.join(self._labels)}): add the label to it."
            )
        return self._labels.index(label)

    def _refuse_unknown(self, changes: Iterable[Change]) -> None:
        """Refuse changes as a whole of which some have a label that is not known here: counts stay what they are."""
        for label in {change.label for change in changes}:
            self._label(label)

    @property
    def by_people(self) -> list[int]:
        """How many messages of each label people have taught."""
        totals: list[int] = self.counts.totals.tolist()
        return [n - automatic for n, automatic in zip(totals, self.automatic, strict=True)]

    def save_if_due(self, every: int = SNAPSHOT_EVERY) -> None:
        """Write a snapshot if that many changes came since the last, and it can be; call outside of transactions.

        A snapshot only makes the next start quicker: no one waits for it, and no one fails for want of it.
        """
        if self._journal.shared:
            every = max(every, sum(map(len, self.counts.room)) // SNAPSHOT_BYTES)
        if self.change - self._saved_change >= every and not self._is_saved_by_another(every):
            with suppress(JournalError):
                self.save(wait=False)

    def _is_saved_by_another(self, every: int) -> bool:
        """Tell whether another process of this machine, which follows a shared journal as well, has just done it."""
        if not self._journal.shared:
            return False
        there = load_snapshot(self._path, self._journal.id, self._labels, *self._bits)
        if there and self._saved_change < there.change <= self.change:
            self._saved_change = there.change
        return self.change - self._saved_change < every

    def save(self, *, wait: bool = True) -> None:
        """Write a snapshot of the counts, and let the journal drop what it kept only for that."""
        if self._journal.shared:
            self._save_of_shared(self._journal.shared)
            return
        with self._journal.writing(wait=wait):
            self.catch_up()
            self._journal.settle(self._save())
        self._saved_change = self.change

    def settle(self) -> None:
        """Write a snapshot, and have the journal drop what was forgotten up to it, also where it is shared."""
        self.save()
        shared, wanted = self._journal.shared, self.change
        for _ in range(_MOST_TRIES if shared else 0):
            with self._journal.reading():
                self.catch_up()
                settled = self._journal.position().settled
            if settled >= wanted or (shared and shared.save(self.change, self._stamp, self._labels, self.counts.room)):
                return
            time.sleep(_PAUSE_S)
        if shared:
            raise JournalBusyError(f"{self._journal.name} is in use: what was forgotten is still kept; try again.")

    def _save_of_shared(self, shared: SharedSnapshots) -> None:
        """Write the snapshot of this machine; and the one of all, if that is due and nobody else is about it."""
        with self._journal.reading():
            self.catch_up()
            settled = self._journal.position().settled
        with self._errors_named(), one_at_a_time(self._path) as is_ours:
            if is_ours:
                self._save()
        self._saved_change = self.change
        if self.change - settled >= SNAPSHOT_EVERY_IN_BULK:
            shared.save(self.change, self._stamp, self._labels, self.counts.room)

    def _save(self) -> str:
        with self._errors_named():
            return save_snapshot(self._path, self.counts, (self.change, self._stamp), self._journal.id, self._labels)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise JournalError(
                f"{self._path} cannot be written: {reason}. Check that the folder is writable and the disk is not full."
            ) from None

    def rebuild(self) -> None:
        """Build the counts from every lesson and write the snapshot."""
        self.build()
        self.save()

    def build(self) -> None:
        """Build the counts from every lesson."""
        self.invalidate()
        with self._journal.reading():
            self._build(self._journal.position())
