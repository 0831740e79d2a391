"""Keeping the counts up to date with a journal that may be on a server.

Each check first asks whether the journal has changed, unless a background thread follows a journal on a server: then a
check only takes in what the thread has fetched. If the server cannot be reached, the counts stay as they are, and the
server is left alone for a moment: mail does not wait. The same happens if another machine has taught a label that is
unknown here, until the label is added, and if another machine has damaged the shared journal: mail is judged by the
older counts.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from priory.journal import JournalAwayError, JournalError
from priory.journal.lesson import DamagedJournalError, SyncPoint, UnknownLabelError
from priory.processes.log import log

if TYPE_CHECKING:
    from priory.features import Features
    from priory.filter.counts import JournalCounts
    from priory.journal.postgres.feed import Follower

#: Errors of a shared journal that stop no check: mail is judged by the counts that are there.
TOLERATED: Final = (JournalAwayError, UnknownLabelError, DamagedJournalError)
RETRY_S: Final = 2.0  #: the pause before the next attempt to reach a journal
DAMAGED_RETRY_S: Final = 60.0  #: the same for a damaged one: each attempt reads all lessons


class Sync:
    """Keeps counts up to date, as far as their journal can be reached."""

    def __init__(self, counts: "JournalCounts") -> None:
        self._counts = counts
        self._tolerated = TOLERATED if counts.journal.shared is not None else ()
        self._follower: Follower | None = None
        self._retry_at = 0.0
        self.trouble: Exception | None = None  #: why the counts may be older than the journal

    def refresh(self, messages: "Sequence[Features] | None" = None, user: str = "") -> None:
        """Bring the counts up to date; costs next to nothing if the journal has not changed.

        Of a snapshot that is not verified yet, only the parts that these messages of a user need are verified, and a
        few more; without messages, all of it.
        """
        if self._follower is not None:
            self._take_batches(self._follower)
        elif not self.is_away:
            self._update()
        if not self._counts.are_sound(messages, user):
            self.recover()

    def recover(self) -> None:
        """Build the counts again, after they were found to be damaged."""
        if self.is_away:
            self._counts.start_offline()
        else:
            self._update(force=True)

    @property
    def is_away(self) -> bool:
        """Whether the journal failed a moment ago, so that it is not asked again yet."""
        return self._retry_at > 0.0 and time.monotonic() < self._retry_at

    def _update(self, *, force: bool = False) -> None:
        try:
            self._counts.update(force=force)
            self._counts.keep_rules()
            self.trouble = None
        except self._tolerated as error:
            self.work_offline(error)

    def work_offline(self, error: JournalError) -> None:
        """Go on with the present counts, or with the last snapshot, because the journal cannot be followed."""
        if isinstance(error, DamagedJournalError) and str(error) != str(self.trouble):
            log(f"{error} Until then mail is judged by older counts.")
        self.trouble = error
        self._retry_at = time.monotonic() + (DAMAGED_RETRY_S if isinstance(error, DamagedJournalError) else RETRY_S)
        if self._counts.change < 0:
            self._counts.start_offline()

    def follow(self, start: "Callable[[SyncPoint, Exception | None], Follower]") -> None:
        """Start a thread that fetches changes; from then on `refresh` only takes in what it has fetched."""
        self.refresh()
        self._follower = start(self._counts.sync_point, self.trouble)

    def stop(self) -> None:
        """Stop the thread."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def _take_batches(self, follower: "Follower") -> None:
        if isinstance(self.trouble, UnknownLabelError) and self.is_away:
            return
        try:
            self._take(follower)
        except UnknownLabelError as error:
            self.work_offline(error)
            follower.seek(self._counts.sync_point)  # fetch them again, until the label is known or forgotten

    def _take(self, follower: "Follower") -> None:
        for batch in follower.take():
            if batch.start == self._counts.sync_point:
                self._counts.take(batch)
                self._counts.keep_rules()
            elif batch.end.change > self._counts.sync_point.change:
                follower.seek(self._counts.sync_point)  # a lesson of this process has moved the counts meanwhile
                break
        self.trouble = follower.trouble
        is_lost = follower.is_lost or self._counts.change < 0 or not self._counts.knows_notes
        if is_lost and self.trouble is None and not self.is_away:
            self._update(force=True)
            if self.trouble is None:
                follower.seek(self._counts.sync_point)
