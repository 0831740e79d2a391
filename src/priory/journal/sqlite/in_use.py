"""Which journals this process has open: nobody else may open and close such a file here, not even to read it.

To close any descriptor of a file gives up all locks that the process has on it, SQLite's among them
(https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_). Another process
that then closes the journal takes itself for the last, and removes the log in which this one goes on writing.
"""

import os
from _thread import allocate_lock
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

File: TypeAlias = tuple[int, int]  # device and inode: a file may have several names
_open: Final[Counter[File]] = Counter()
_one_at_a_time: Final = allocate_lock()


def enter(path: Path, look: Callable[[Path], None]) -> File:
    """Say that a journal is to be opened, after a look at its file unless it is open here; the file is there then."""
    with _one_at_a_time:
        if not (path.exists() and _open[_file(path)]):
            look(path)
        file = _file(path)
        _open[file] += 1
        return file


def leave(file: File) -> None:
    """Say that a journal was closed."""
    with _one_at_a_time:
        _open[file] -= 1


def _file(path: Path) -> File:
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino
