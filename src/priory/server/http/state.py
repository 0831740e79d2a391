"""The daemon as its HTTP process sees it: home, options, counters, and whether it is healthy."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from priory.decision import Costs
from priory.filter.home import open_journal_to_read
from priory.filter.options import Options
from priory.journal import JournalAwayError, JournalError
from priory.server.metrics.names import READY
from priory.server.metrics.scoreboard import ProcessTally, Scoreboard
from priory.server.options import ServeOptions


@dataclass(frozen=True, slots=True)
class Daemon:
    """A running daemon."""

    home: Path
    serving: ServeOptions
    board: Scoreboard
    started: float  #: time of its start
    options: Options
    tally: ProcessTally  #: counts checks and lessons over HTTP
    alive: int | None = None  #: a pipe that is closed when the daemon ends
    master: int = 0  #: process id of the master, which reloads on SIGHUP
    #: Writes costs into the configuration; returns why it could not, or an empty text.
    set_costs: Callable[[Costs], str] = lambda _: "There is no configuration."
    retired: asyncio.Event = field(default_factory=asyncio.Event)  #: set when this process accepts no more connections

    @property
    def workers_ready(self) -> int:
        """The number of workers that answer."""
        return self.board.total(READY)

    def trouble(self) -> str:
        """Return why mail is not checked, or may soon not be checked; empty if all is well."""
        if not self.workers_ready:
            return "no worker is ready; the log of the daemon says why"
        try:
            self.learned()
        except JournalAwayError:
            return ""  # workers check mail with the counts on disk; the metrics report the missing journal
        except JournalError as error:
            return str(error)
        return ""

    def learned(self) -> tuple[dict[str, int], int]:
        """Return the number of lessons of each label in the journal, and its size in bytes. Raises JournalError."""
        try:
            journal = open_journal_to_read(self.home, self.options.store)
        except OSError as error:
            raise JournalError(f"{self.home / 'journal.sqlite'} cannot be read: {error.strerror}.") from None
        try:
            return journal.tally(), journal.size_bytes()
        finally:
            journal.close()
