"""The counts of a filter, synchronised with its journal.

The journal is the truth; the counts are a view of it at one change. They are mapped from a snapshot file and brought up
to date change by change. A process that changes the journal changes its counts in the same transaction.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from priory.bayes import Counts
from priory.bayes.counts import PREDICTION_BYTES, HeldOut, contrasts
from priory.bayes.silence import SilenceEstimate, unpack_estimates
from priory.features import Features, unpack_features
from priory.filter.personal import personal_rows
from priory.journal import AUTOMATIC, Change, Journal, JournalAwayError, JournalBusyError, JournalError, Lesson
from priory.journal.database import REPAIR
from priory.journal.files import one_at_a_time
from priory.journal.lesson import (
    ChangeBatch,
    DamagedJournalError,
    LessonUser,
    Position,
    SyncPoint,
    Tallies,
    UnknownLabelError,
)
from priory.journal.rules import NO_RULES
from priory.journal.snapshot import (
    DamagedSnapshotError,
    Snapshot,
    SnapshotPoint,
    digest_of,
    load_snapshot,
    save_snapshot,
)
from priory.native.blocks import DamagedBlockError, MappedBlocks
from priory.processes.log import log

if TYPE_CHECKING:
    from priory.journal.postgres.snapshots import SharedSnapshots

#: A new process replays the changes after the snapshot, about 30,000 a second: this costs it a few milliseconds.
SNAPSHOT_EVERY: Final = 200
SNAPSHOT_EVERY_IN_BULK: Final = 20_000
#: For a shared journal, the most bytes of a snapshot that are written per change since the last snapshot.
SNAPSHOT_BYTES: Final = 64 * 1024
PAGE: Final = 5_000  #: changes that are read from the journal at once, about 15 MB
FRESH_START: Final = 1 << 32  #: added to the generation on a fresh start: more than any number of single changes
_MOST_TRIES: Final = 100  # to settle, if another process is settling
_PAUSE_S: Final = 0.2


class DamagedLessonError(JournalError):
    """A lesson cannot be counted or taken back, because its row is damaged."""


class JournalCounts:
    """Counts that follow a journal."""

    def __init__(self, journal: Journal, labels: Sequence[str], snapshot_path: Path) -> None:
        self.journal = journal
        self.labels = tuple(labels)
        self._path = snapshot_path
        self._seen_version = -1
        self._saved_change = 0
        self._stamp = ""
        self._blocks: MappedBlocks | None = None
        self._left_out = [0] * len(labels)  # of each label: lessons that are damaged and not counted
        self._digest = ""  # of the snapshot that the counts started from
        self._damaged_digest = ""  # of a snapshot that is not used again
        self._is_save_due = False  # whether a damaged snapshot is to be replaced
        self.change = 0  #: the number of the change that the counts stand at; -1 if it is unknown
        self.counts = Counts.empty(0, len(labels))
        self.automatic = [0] * len(labels)  #: the number of automatic lessons of each label
        self.silence: list[SilenceEstimate] = []  #: of each contrast: what silence says; empty if that is unknown
        self._packed_silence = b""
        self.rules = self._kept_rules = NO_RULES  #: the rules of people
        self.knows_notes = False  #: whether silence and rules are as of the present change
        self.generation = 0  #: grows by one with each change, and by `FRESH_START` when the counts start again
        self._n_without = 0  # how often counts without a lesson were looked at
        self.has_changed = False  #: whether this process has changed the journal
        self.invalidate()

    @property
    def sync_point(self) -> SyncPoint:
        """The change that the counts stand at, and its stamp."""
        return SyncPoint(self.change, self._stamp)

    @property
    def by_people(self) -> list[int]:
        """The number of messages of each label that people have taught."""
        totals: list[int] = self.counts.totals.tolist()
        return [max(n - automatic, 0) for n, automatic in zip(totals, self.automatic, strict=True)]

    # Following the journal

    def invalidate(self) -> None:
        """Mark the counts as unusable: the next update starts from the snapshot."""
        self._seen_version = -1
        self.change = -1

    def update(self, *, force: bool = False) -> None:
        """Take in the changes of other processes, if the journal's version has changed.

        `force` skips that test, and verifies the whole snapshot.
        """
        self.journal.read_identity()
        version = self.journal.version()
        if force or version != self._seen_version:
            with self.journal.reading():
                self.catch_up(whole=force)
            self._seen_version = version
        if self._is_save_due:
            self.save_if_due()

    def take(self, batch: ChangeBatch) -> None:
        """Take in changes that a follower has fetched; invalidate the counts if they then differ from the totals."""
        try:
            for change in self._readable(batch.changes):
                self._apply_unless_damaged(change)
            self.change, self._stamp = batch.end
            is_right = batch.tallies is None or self._adds_up(batch.tallies)
            if batch.tallies is not None:
                self.set_silence(batch.silence)
            if batch.rules is not None:
                self.rules = batch.rules
        except ValueError:
            is_right = False
        except BaseException:
            self.invalidate()
            raise
        if not is_right:
            self.invalidate()

    def catch_up(self, *, whole: bool = True) -> None:
        """Bring the counts to the journal's last change; call inside `reading` or `writing`.

        Without `whole`, only those parts of the snapshot are verified that changes since then have needed.
        """
        now, before = self.journal.position(), self.counts
        try:
            if self.change != now.change:
                self.knows_notes = False
            if not self._is_on_the_way_to(now):
                self._start_from_snapshot(now)
            if not self._follow(now) or (whole and not self.are_sound()):
                self._build(now)
            if not self.knows_notes:
                self._load_notes()
        except JournalAwayError:
            raise  # each page of changes was applied as a whole, so the counts are still right
        except UnknownLabelError:
            if self.counts is not before:
                self.invalidate()  # the fresh start is older than the snapshot in the home
            raise
        except BaseException:
            self.invalidate()
            raise

    def _is_on_the_way_to(self, now: Position) -> bool:
        """Tell whether the counts stand at an earlier change of the journal, which still has all later changes.

        The stamp is compared, too: a server that replaces a failed one may lack its last changes and reuse their
        numbers.
        """
        if not now.settled <= self.change <= now.change:
            return False
        return self._stamp == (now.stamp if self.change == now.change else self.journal.stamp_of(self.change))

    def _follow(self, now: Position) -> bool:
        """Take in the changes up to `now`; tell whether the counts then agree with the journal's tally."""
        while self.change < now.change:
            end = min(self.change + PAGE, now.change)
            page = self._readable(self.journal.changes_between(self.change, end))
            if not page:  # numbers without lessons, of which damage may make very many
                end = self.journal.next_number(end, now.change) - 1
            stamp = now.stamp if end == now.change else self.journal.stamp_of(end)
            try:
                for change in page:
                    self._apply_unless_damaged(change)
            except DamagedBlockError as error:
                self._drop(str(error))
                return False
            except ValueError:
                return False
            self.change, self._stamp = end, stamp
        return self._adds_up(self.journal.tallies())

    def _apply_unless_damaged(self, change: Change) -> None:
        try:
            self._apply(change)
        except DamagedLessonError:
            self.journal.leave_out(change.number, "its features or predictions are damaged")

    def _adds_up(self, tallies: Tallies) -> bool:
        every, automatic, unshared = tallies
        self.automatic = [automatic.get(label, 0) for label in self.labels]
        expected = [every.get(label, 0) - unshared.get(label, 0) for label in self.labels]
        missing = [n - counted for n, counted in zip(expected, self.counts.totals.tolist(), strict=True)]
        if missing == self._left_out:
            return True
        most = sum(self._left_out) + self.journal.n_unreadable
        if not (min(missing) >= 0 and 0 < sum(missing) <= most):
            return False
        self._left_out = missing
        return True

    def _load_notes(self) -> None:
        stored = self.journal.silence.load()
        self.set_silence(stored.estimate if stored else b"")
        self.load_rules()

    def load_rules(self) -> None:
        """Read the rules of people again, if they have changed."""
        self.rules = self.journal.rules.load(self.rules)

    def keep_rules(self) -> None:
        """Copy the rules of a shared journal into the home, if they have changed."""
        if self.journal.shared and self._kept_rules is not self.rules:
            from priory.journal.shared.rules_copy import keep_rules  # noqa: PLC0415 - a quick start without rules

            keep_rules(self._path.parent, self.journal.id, self.rules)
            self._kept_rules = self.rules

    def set_silence(self, packed: bytes) -> None:
        """Take over the packed estimates of what silence says; estimates for other labels are ignored."""
        self.knows_notes = True
        if packed == self._packed_silence:
            return
        try:
            estimates = unpack_estimates(packed) if packed else []
        except ValueError as error:
            log(f"{self.journal.name}: {error}; verdicts go without them until checked mail is counted again")
            estimates = []
        self._packed_silence = packed
        self.silence = estimates if len(estimates) == len(contrasts(len(self.labels))) else []
        self.generation += 1

    # Damage

    def are_sound(self, messages: Sequence[Features] | None = None, user: str = "") -> bool:
        """Tell whether the counts are as they were saved: those that messages of a user need, or else all of them.

        If they are not, they are dropped, and the next update starts without the snapshot.
        """
        blocks = self._blocks
        if blocks is None or blocks.are_verified:
            return True
        try:
            if messages is None:
                blocks.require_all()
            else:
                self._require(messages, user)
                blocks.require_some()
        except DamagedBlockError as error:
            self._drop(str(error))
            return False
        if blocks.is_lost:
            self._drop("it was truncated while it was in use, or the disk has an error")
        return not blocks.is_lost

    def _require(self, messages: Sequence[Features], user: str) -> None:
        for features in messages:
            self.counts.require(features)
            own = personal_rows(user, None, features, *self._bits)
            if own is not None:
                self.counts.require_personal(own)

    def _drop(self, why: str) -> None:
        self._say_damaged(why)
        self._damaged_digest = self._digest
        self._start_empty()
        self.invalidate()

    def _say_damaged(self, why: str) -> None:
        log(f"{self._path} is damaged ({why}): it is not used, and the counts are built from the journal")
        self._is_save_due = True

    def _load(self) -> Snapshot | None:
        """Return the snapshot in the home, unless it is missing, does not fit or is damaged."""
        try:
            snapshot = load_snapshot(self._path, self.journal.id, self.labels, *self._bits)
        except DamagedSnapshotError as error:
            self._say_damaged(str(error))
            return None
        return snapshot if snapshot and snapshot.digest != self._damaged_digest else None

    # Starting

    def start_offline(self) -> None:
        """Start from what is in the home without asking the journal; without a snapshot, start empty."""
        from priory.journal.shared.rules_copy import recall_rules  # noqa: PLC0415 - a quick start with a server

        self.rules = self._kept_rules = recall_rules(self._path.parent, self.journal.id)
        snapshot = self._load()
        if snapshot:
            self._start_at(*snapshot)
        elif len(self.counts.rows) != 1 << self.journal.bits:
            self._start_empty()
            self.change = -1

    def _start_from_snapshot(self, now: Position) -> None:
        """Start from the snapshot in the home, else from the shared snapshot, else empty."""
        snapshot = self._load()
        if snapshot and self._fits(snapshot, now):
            self._start_at(*snapshot)
            return
        shared = self.journal.shared
        self._start_empty()
        counts = shared.load(now.settled, self.labels, self.counts.shape) if shared and now.settled else None
        if counts:
            self._start_at(counts, now.settled, self.journal.stamp_of(now.settled))

    def _fits(self, snapshot: Snapshot, now: Position) -> bool:
        if self.journal.shared:
            stamp = self.journal.stamp_of(snapshot.change)
            return now.settled <= snapshot.change <= now.change and snapshot.stamp == stamp
        return (snapshot.change, snapshot.digest) == (now.settled, self.journal.snapshot())

    def _start_empty(self) -> None:
        """Start at change 0: nothing was learned before it, so every lesson will be added."""
        bits, personal_bits = self._bits
        self._start_at(Counts.empty(bits, len(self.labels), personal_bits), 0, "")

    @property
    def _bits(self) -> tuple[int, int]:
        return self.journal.bits, self.journal.personal_bits

    def _start_at(
        self, counts: Counts, change: int, stamp: str, digest: str = "", left_out: Sequence[int] = ()
    ) -> None:
        self._digest, self._left_out = digest, list(left_out) or [0] * len(self.labels)
        self._blocks = counts.names.blocks
        self.counts, self.change, self._stamp = counts, change, stamp
        self._saved_change = change
        self.generation += FRESH_START

    def rebuild(self) -> None:
        """Build the counts from every lesson, and write the snapshot."""
        self.build()
        self.save()

    def build(self) -> None:
        """Build the counts from every lesson."""
        self.invalidate()
        with self.journal.reading():
            self._build(self.journal.position())
            self._load_notes()

    def _build(self, now: Position) -> None:
        self._start_empty()
        if not self._follow(now):
            raise DamagedJournalError(
                f"{self.journal.name} is damaged: its tally and its lessons differ. Restore it from a backup."
            )

    # Changing the journal and the counts together

    @contextmanager
    def changing(self, *, wait: bool = True) -> Iterator[None]:
        """Change journal and counts together; if the transaction fails, the counts are invalidated."""
        has_begun = False
        try:
            with self.journal.writing(wait=wait):
                self.catch_up()
                has_begun = True
                yield
                if not self.are_sound():
                    raise JournalError(f"{self._path} became unreadable while it was in use: try again.")
                if self.change != self.journal.last_change:
                    self.change, self._stamp = self.journal.last_change, self.journal.stamp
            self.has_changed = True
        except BaseException:
            if has_begun:
                self.invalidate()
            raise
        self.save_if_due(SNAPSHOT_EVERY_IN_BULK)

    def forget(self, digest: bytes, user: LessonUser) -> Change | None:
        """Remove one lesson from journal and counts, if it exists; call inside `changing`."""
        change = self.journal.forget(digest, user)
        if change:
            if user is AUTOMATIC:
                self.automatic[self.labels.index(change.label)] -= 1
            try:
                self._apply(change)
            except ValueError as error:
                raise JournalError(f"{self._path} does not fit its journal ({error}): rebuild it.") from None
        return change

    def add(self, features: Features, label: str, held_out: HeldOut | None) -> None:
        """Count a lesson for everyone."""
        self.counts.add(features, self._label(label), held_out)
        self.generation += 1

    def add_personal(self, user: LessonUser, label: str, held_out: HeldOut | None, features: Features) -> None:
        """Count a lesson for the user who taught it, if it counts for single users."""
        own = personal_rows(user, held_out, features, *self._bits)
        if own is not None:
            self.counts.add_personal(own, self._label(label))
            self.generation += 1

    def _apply(self, change: Change) -> None:
        counts, label = self.counts, self._label(change.label)
        features, held_out = self._read(change)
        if change.shared:
            (counts.add if change.sign > 0 else counts.subtract)(features, label, held_out)
        own = personal_rows(change.user, change.held_out, features, *self._bits)
        if own is not None:
            (counts.add_personal if change.sign > 0 else counts.subtract_personal)(own, label)
        self.generation += 1

    @contextmanager
    def without(self, lesson: Lesson) -> Iterator[None]:
        """Count as if a lesson had never been learned; at the end the counts are exactly those of before."""
        generation, label = self.generation, self._label(lesson.label)
        change = Change(-1, lesson.label, lesson.features, lesson.held_out, lesson.user, lesson.shared)
        self._apply(change)
        self.automatic[label] -= lesson.is_automatic
        self._n_without += 1
        self.generation = -self._n_without  # no other counts have it, so every calibration is computed again
        try:
            yield
        finally:
            self.automatic[label] += lesson.is_automatic
            self._apply(change._replace(sign=1))
            self.generation = generation

    def _read(self, change: Change) -> tuple[Features, HeldOut | None]:
        try:
            features = unpack_features(change.features, self.journal.bits)
            n_predictions, rest = divmod(len(change.held_out or b""), PREDICTION_BYTES)
            if rest:
                raise ValueError("predictions are damaged")
        except ValueError as error:
            raise DamagedLessonError(
                f"lesson {change.number} of {self.journal.name} is damaged ({error}): {REPAIR}."
            ) from None
        # Predictions from a time with fewer or more labels answer another question.
        return features, change.held_out if n_predictions == len(self.counts.held_out) else None

    def _label(self, label: str) -> int:
        if label not in self.labels:
            raise UnknownLabelError(
                f"{self.journal.name} holds lessons labelled {label!r}, which the configuration does not name "
                f"(it has {', '.join(self.labels)}): add the label to it."
            )
        return self.labels.index(label)

    def _readable(self, changes: Iterable[Change]) -> list[Change]:
        """Return changes without those of damaged lessons, which are left out.

        Refuse all if one has an unknown label, so that the counts stay as they are. A label is damaged if the tally
        does not have it either.
        """
        readable = []
        for change in changes:
            if change.label not in self.labels and change.label in self.journal.tally():
                self._label(change.label)
            if change.label in self.labels:
                readable.append(change)
            else:
                self.journal.leave_out(change.number, "its column label is damaged")
        return readable

    # Saving snapshots

    def save_if_due(self, every: int = SNAPSHOT_EVERY) -> None:
        """Write a snapshot if `every` changes came since the last one; call outside of transactions.

        A snapshot only speeds up the next start, so this neither waits for a lock nor fails.
        """
        if self._is_save_due:
            every = 0
        elif self.journal.shared:
            every = max(every, sum(map(len, self.counts.buffers)) // SNAPSHOT_BYTES)
        if self.change - self._saved_change >= every and not self._is_saved_by_another(every):
            with suppress(JournalError):
                self.save(wait=False)

    def _is_saved_by_another(self, every: int) -> bool:
        """Tell whether another process of this machine has just saved the counts of the shared journal."""
        if not self.journal.shared:
            return False
        saved = self._load()
        if saved and self._saved_change < saved.change <= self.change:
            self._saved_change = saved.change
        return self.change - self._saved_change < every

    def save(self, *, wait: bool = True) -> None:
        """Write a snapshot, and let the journal drop the forgotten lessons that only older snapshots need."""
        if self.journal.shared:
            self._save_of_shared(self.journal.shared)
            return
        with self.journal.writing(wait=wait):
            self.catch_up()
            self.journal.settle(self._save())
        self._saved_change = self.change

    def settle(self) -> None:
        """Write a snapshot, and have the journal drop every lesson forgotten so far, also if it is shared."""
        self.save()
        shared, wanted = self.journal.shared, self.change
        for _ in range(_MOST_TRIES if shared else 0):
            with self.journal.reading():
                self.catch_up()
                settled = self.journal.position().settled
            if settled >= wanted or (shared and shared.save(self.change, self._stamp, self.labels, self.counts)):
                return
            time.sleep(_PAUSE_S)
        if shared:
            raise JournalBusyError(
                f"{self.journal.name} is in use, so the features of forgotten lessons are not deleted yet: try again."
            )

    def _save_of_shared(self, shared: "SharedSnapshots") -> None:
        """Write the snapshot of this machine, and, if it is due, the shared snapshot."""
        with self.journal.reading():
            self.catch_up()
            settled = self.journal.position().settled
        with self._name_errors(), one_at_a_time(self._path) as is_ours:
            if is_ours:
                self._save()
        self._saved_change = self.change
        if self.change - settled >= SNAPSHOT_EVERY_IN_BULK:
            shared.save(self.change, self._stamp, self.labels, self.counts)

    def _save(self) -> str:
        with self._name_errors():
            at = SnapshotPoint(self.change, self._stamp, self._left_out)
            digest = save_snapshot(self._path, self.counts, at, self.journal.id, self.labels)
        self._is_save_due, self._damaged_digest = False, ""
        return digest

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise JournalError(
                f"{self._path} cannot be written: {reason}. Check that the folder is writable and the disk is not full."
            ) from None


def counts_digest(journal: Journal) -> str:
    """Return the digest of the counts that are built from the lessons of a journal."""
    counts = JournalCounts(journal, journal.labels(), Path("/dev/null"))
    counts.build()
    return digest_of(counts.counts)
