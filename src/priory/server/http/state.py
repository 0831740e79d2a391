"""How the daemon is just now: who answers, and what is in the journal."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from priory.decision import Costs
from priory.journal import JournalAwayError, JournalError
from priory.memory.home import open_journal_to_read
from priory.options import Options
from priory.server.counted import READY
from priory.server.options import Serving
from priory.server.scoreboard import Scoreboard, Tally


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon, as the process sees it that shows it to others."""

    home: Path
    serving: Serving
    board: Scoreboard
    started: float  #: the time when it was
    options: Options
    tally: Tally  #: what is asked and taught over HTTP
    alive: int | None = None  #: a pipe that is closed when the daemon ends
    master: int = 0  #: the process that reloads when it is told to
    set_costs: Callable[[Costs], str] = lambda _: "There is no configuration."  #: writes them, or returns why not
    retired: asyncio.Event = field(default_factory=asyncio.Event)  #: when this process takes nobody more

    @property
    def workers_ready(self) -> int:
        """How many workers answer."""
        return self.board.total(READY)

    def trouble(self) -> str:
        """Return why mail is not being checked as it should, or may soon not be; nothing if all is well."""
        if not self.workers_ready:
            return "no worker is ready; the log of the daemon says why"
        try:
            self.learned()
        except JournalAwayError:
            return ""  # mail is checked with what is counted here; that the journal is away, the metrics say
        except JournalError as error:
            return str(error)
        return ""

    def learned(self) -> tuple[dict[str, int], int]:
        """Return how many lessons of each label are in the journal, and its bytes. Raises JournalError."""
        try:
            journal = open_journal_to_read(self.home, self.options.store)
        except OSError as error:
            raise JournalError(f"{self.home / 'journal.sqlite'} cannot be read: {error.strerror}.") from None
        try:
            return journal.tally(), journal.size_bytes()
        finally:
            journal.close()
