"""How counts stay in step with a journal that may be on a server, and what becomes of them while that is away.

Where the journal is a file, each check looks whether it has changed. Where it is on a server, each check may ask; or a
thread follows the journal, and a check takes in what has come. If the server cannot be reached, the counts stay as
they are, and it is not asked again at once: mail waits for nobody. So they do if another machine has taught a label
that is not known here: until somebody adds it, mail is judged by what was known before.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from priory.journal.lesson import JournalAwayError, JournalError, UnknownLabelError
from priory.journal.news import Mark, News

if TYPE_CHECKING:
    from priory.journal.postgres.follower import Follower

#: What keeps counts from following a journal that several machines share, and mail from nothing.
STAYING_BEHIND: Final = (JournalAwayError, UnknownLabelError)
ASK_AGAIN_S: Final = 2.0  #: after which a journal that could not be reached is asked again


class Counted(Protocol):
    """Counts that can be brought up to date."""

    @property
    def mark(self) -> Mark:
        """Where they stand."""

    def look(self, *, surely: bool = False) -> None:
        """Bring them up to date, if the journal has changed; or surely, also if it does not seem so."""

    def take(self, news: News) -> None:
        """Take in what has come; if they do not add up then, their mark says that nobody knows where they stand."""

    def start_as_written_down(self) -> None:
        """Start from where they were last written down here, or from nothing."""


class Following:
    """Keeps counts in step with their journal, as well as that can be reached."""

    def __init__(self, counted: Counted, *, shared: bool) -> None:
        self._counted = counted
        self._stays_behind = STAYING_BEHIND if shared else ()
        self._follower: Follower | None = None
        self._ask_again_at = 0.0
        self.trouble: Exception | None = None  #: why the counts may be older than the journal

    def refresh(self) -> None:
        """Bring the counts up to date; costs next to nothing if nothing was changed."""
        if self._follower is not None:
            self._take_news(self._follower)
        elif not self.is_away:
            self._look()

    @property
    def is_away(self) -> bool:
        """Whether the journal could not be followed a moment ago, so that it is not worth while to try."""
        return self._ask_again_at > 0.0 and time.monotonic() < self._ask_again_at

    def _look(self, *, surely: bool = False) -> None:
        try:
            self._counted.look(surely=surely)
            self.trouble = None
        except self._stays_behind as error:
            self.work_on(error)

    def work_on(self, error: JournalError) -> None:
        """Go on with the counts as they are, or as they were written down here: the journal cannot be followed."""
        self.trouble = error
        self._ask_again_at = time.monotonic() + ASK_AGAIN_S
        if self._counted.mark.change < 0:
            self._counted.start_as_written_down()

    def follow(self, start: "Callable[[Mark, Exception | None], Follower]") -> None:
        """Have a thread fetch from now on what is new: to refresh only takes in what has come."""
        self.refresh()
        self._follower = start(self._counted.mark, self.trouble)

    def stop(self) -> None:
        """Have nothing fetched any more."""
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def _take_news(self, follower: "Follower") -> None:
        if isinstance(self.trouble, UnknownLabelError) and self.is_away:
            return
        try:
            self._take(follower)
        except UnknownLabelError as error:
            self.work_on(error)
            follower.seek(self._counted.mark)  # the same comes again, until the label is known or forgotten

    def _take(self, follower: "Follower") -> None:
        for news in follower.take():
            if news.start == self._counted.mark:
                self._counted.take(news)
            elif news.end.change > self._counted.mark.change:
                follower.seek(self._counted.mark)  # they were brought there by somebody else
                break
        self.trouble = follower.trouble
        is_lost = follower.is_lost or self._counted.mark.change < 0
        if is_lost and self.trouble is None and not self.is_away:
            self._look(surely=True)
            if self.trouble is None:
                follower.seek(self._counted.mark)
