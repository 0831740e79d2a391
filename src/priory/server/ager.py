"""Forgets what is beyond the limits while the daemon runs: a few lessons at a time, when nobody teaches anything.

Checks never wait for it, as readers do not wait for who writes. Of all processes that share a home one does it at a
time: who has the lock of a file, whose time says when all was done last.
"""

import os
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import IO, Final

from priory.filter import Filter
from priory.journal import JournalBusyError
from priory.server.log import log

PAUSE_S: Final = 300.0  #: after all was done
SOON_S: Final = 0.5  #: until the next few are forgotten
NAME: Final = "ageing.lock"


class Ager:
    """What one process does about the limits."""

    def __init__(self, home: Path, pause_s: float = PAUSE_S) -> None:
        self._path = home / NAME
        self._pause_s = pause_s
        self._lock: IO[bytes] | None = None  # while it is at it
        self._n_gone = 0

    def is_ours(self) -> bool:
        """Tell whether it is time to look, and this process is the one to do it."""
        if self._lock is not None:
            return True
        try:
            lock = self._path.open("ab")
        except OSError:  # who may not write here may not forget
            return False
        try:
            flock(lock, LOCK_EX | LOCK_NB)
            status = os.fstat(lock.fileno())
        except OSError:
            lock.close()
            return False
        if status.st_size and time.time() - status.st_mtime < self._pause_s:
            lock.close()
            return False
        self._lock = lock
        return True

    def some(self, filter_: Filter) -> float:
        """Forget a few lessons; return after how many seconds to go on."""
        try:
            n_gone = filter_.ageing.forget_some(filter_.journal.now(), wait=False)
        except JournalBusyError:
            return SOON_S
        if n_gone is not None:
            self._n_gone += n_gone
            return SOON_S
        if self._n_gone:
            log("aged", lessons=self._n_gone)
        self.let_go()
        return self._pause_s

    def let_go(self) -> None:
        """Leave it to whoever comes next, after a while."""
        if self._lock is not None:
            with suppress(OSError):
                self._lock.truncate(0)
                self._lock.write(b"\n")
                self._lock.flush()
            self._lock.close()
            self._lock, self._n_gone = None, 0
