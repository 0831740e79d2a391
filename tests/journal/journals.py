"""Small journals for the tests of what becomes of their files."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from priory.bayes import Counts
from priory.features import VERSION
from priory.filter import Filter
from priory.journal import Journal, Lesson, open_file

Open = Callable[[Path], Filter]
CountsOf = Callable[[Filter], Counts]
Start = Callable[[Callable[[], None]], int]
Unprivileged = Callable[[], AbstractContextManager[None]]
LESSON = Lesson(b"\1" * 32, "ham", b"\0")


def open_journal(path: Path, wait_s: float = 10.0) -> Journal:
    return open_file(path, VERSION, 12, wait_s)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
