"""Takes turns with other processes where order is good, but nothing depends on it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Final

_MOST_S: Final = 1.0
_AGAIN_S: Final = 0.002


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait until nobody else has their turn in a folder, but a second at most: a backup may have locked it, too.

    Where a folder cannot be locked, there are no turns.
    """
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        _wait_for(lock)
        yield
    finally:
        os.close(lock)


def _wait_for(lock: int) -> None:
    end = time.monotonic() + _MOST_S
    while time.monotonic() < end:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            time.sleep(_AGAIN_S)
        except OSError:
            return
        else:
            return
