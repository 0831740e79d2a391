"""The journals that this process has open: no other code of the process may open and close such a file, even to read.

POSIX locks belong to the process, and closing any descriptor of a file releases all of them, SQLite's included
(https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_). Another process
that then closes the journal believes to be the last user, and deletes the write-ahead log that this one still writes.
"""

import os
from _thread import allocate_lock  # `threading` is slow to load
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

FileId: TypeAlias = tuple[int, int]  # device and inode: a file may have several names
_open: Final[Counter[FileId]] = Counter()
_lock: Final = allocate_lock()


def enter(path: Path, inspect: Callable[[Path], None]) -> FileId:
    """Register a journal before it is opened; call `inspect`, which must leave a file there, if none has it open."""
    with _lock:
        # The lock covers the inspection too: another thread could open the journal while its descriptor is open here.
        if not (path.exists() and _open[_id_of(path)]):
            inspect(path)
        file = _id_of(path)
        _open[file] += 1
        return file


def leave(file: FileId) -> None:
    """Remove a journal that was closed."""
    with _lock:
        _open[file] -= 1


def _id_of(path: Path) -> FileId:
    status = os.stat(path)  # noqa: PTH116
    return status.st_dev, status.st_ino
