"""Small journals in either kind of database, for tests of the journal and of the filter."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pytest

from priory.bayes import Counts
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import AUTOMATIC, Journal, Lesson, LessonSummary, Selection, StoreAddress, open_file
from priory.journal.shared.store import open_store, prepare_store
from real_postgres import Postgres

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


class Files:
    """Journals in their homes."""

    counts = "counts"

    def store(self, _home: Path) -> None:
        return None

    def give_back(self) -> None:
        pass

    def name(self, home: Path) -> str:
        return str(home / "journal.sqlite")

    def open(self, home: Path, wait_s: float = 10.0) -> Journal:
        home.mkdir(exist_ok=True)
        return open_file(home / "journal.sqlite", VERSION, 12, wait_s, 12)


class Databases:
    """Journals on a server, a database for each home."""

    counts = "shared-counts"

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._names: dict[Path, str] = {}
        self._free: list[str] = []
        self._n = 0

    def store(self, home: Path) -> StoreAddress:
        if home not in self._names:
            self._names[home] = self._emptied(self._free.pop()) if self._free else self._made()
        return StoreAddress(self._server.url(self._names[home]), "here")

    def _made(self) -> str:
        self._n += 1
        name = f"journal_{self._n}"
        self._server.run(f"CREATE DATABASE {name}")
        prepare_store(StoreAddress(self._server.url(name)), VERSION, 12, 12)
        return name

    def _emptied(self, name: str) -> str:
        tables = self._server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'priory'", name)
        every = ", ".join(f"priory.{table}" for (table,) in tables if table != "steps")
        self._server.run(f"TRUNCATE {every}", name)
        prepare_store(StoreAddress(self._server.url(name)), VERSION, 12, 12)
        return name

    def give_back(self) -> None:
        self._free += self._names.values()
        self._names.clear()

    def name(self, home: Path) -> str:
        return f"postgresql://priory@127.0.0.1:{self._server.port}/{self._names[home]}"

    def open(self, home: Path, wait_s: float = 10.0) -> Journal:
        return open_store(self.store(home), VERSION, wait_s)


def only(kind: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a module whose journals are all in one kind of database."""
    return [pytest.mark.usefixtures("kind"), pytest.mark.parametrize("kind", [kind], indirect=True)]


def open_journal(path: Path, wait_s: float = 10.0) -> Journal:
    return open_file(path, VERSION, 12, wait_s)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def is_meant(lesson: Lesson | LessonSummary, selection: Selection) -> bool:
    """Tell whether a selection has a lesson in it."""
    is_automatic = lesson.user is AUTOMATIC
    return all(
        (
            selection.label in (None, lesson.label),
            selection.user is None or (selection.user == lesson.user and not is_automatic),
            lesson.source.startswith(selection.source or ""),
            selection.sender in (None, lesson.sender),
            (selection.subject or "").lower() in lesson.subject.lower(),
            selection.since is None or lesson.time >= selection.since,
            selection.until is None or lesson.time < selection.until,
            selection.automatic in (None, is_automatic),
            lesson.digest.hex().startswith(selection.digest or ""),
        )
    )
