"""Small journals for the tests of what becomes of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from priory.bayes import Counts
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import Journal, Lesson, StoreAddress, open_file

CountsOf = Callable[[Filter], Counts]
Start = Callable[[Callable[[], None]], int]
Unprivileged = Callable[[], AbstractContextManager[None]]
LESSON = Lesson(b"\1" * 32, "ham", b"\0")
SMALL = Options(spec=Spec(bits=12))


class Open(Protocol):
    """Opens the filter of a home."""

    def __call__(self, home: Path, options: Options = SMALL) -> Filter: ...


class Journals(Protocol):
    """The journals of homes, in one kind of database."""

    counts: str  #: what the snapshot in a home is called

    def store(self, home: Path) -> StoreAddress | None: ...

    def give_back(self) -> None: ...

    def name(self, home: Path) -> str: ...

    def open(self, home: Path, wait_s: float = 10.0) -> Journal: ...


def open_journal(path: Path, wait_s: float = 10.0) -> Journal:
    return open_file(path, VERSION, 12, wait_s)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
