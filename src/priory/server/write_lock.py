"""An advisory lock on a folder, so that processes that write to it take turns.

No data depends on this lock: SQLite and the replacement of files are safe without it. It makes waiting fair. SQLite's
own lock is polled at growing intervals, so the process that has just released it would usually get it again.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 1.0
_POLL_S: Final = 0.002


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; go on without it after a second, because a backup may hold it for long.

    A folder that cannot be locked is used without a lock.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _acquire(descriptor)
        yield
    finally:
        os.close(descriptor)  # which releases the lock


def _acquire(descriptor: int) -> None:
    end = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < end:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_S)
        except OSError:
            return
        else:
            return
