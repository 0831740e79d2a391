"""Fixtures for the tests of the journal: mail, small filters in either store, and child processes."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from journals import SMALL, Journals, Open, Start

import real_postgres
from priory.bayes import Counts
from priory.demo import Drawn, draw
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import Journal, StoreAddress, open_file
from priory.journal.shared.store import open_store, prepare_store


@pytest.fixture(scope="session")
def mail() -> list[Drawn]:
    return list(draw(400, seed=3))


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which database the journals of a test are in; what is about one alone says so by a mark."""
    return str(request.param)


@pytest.fixture(scope="session")
def journals(kind: str, request: pytest.FixtureRequest) -> Journals:
    """The journals of the homes of a session."""
    return Files() if kind == "sqlite" else request.getfixturevalue("databases")


@pytest.fixture(scope="session")
def databases(postgres: real_postgres.Postgres) -> "Databases":
    """Databases that are used again, whatever came in between."""
    return Databases(postgres)


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

    def __init__(self, server: real_postgres.Postgres) -> None:
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


@pytest.fixture
def network(postgres: real_postgres.Postgres) -> Iterator[real_postgres.Proxy]:
    """A network between a node and the server, which can fail."""
    with real_postgres.proxy(postgres.port) as between:
        yield between


@pytest.fixture(autouse=True)
def _given_back(journals: Journals) -> Iterator[None]:
    """Have the databases of a test used again by the next."""
    yield
    journals.give_back()


@pytest.fixture(scope="session")
def opened(journals: Journals) -> Open:
    """Open a filter with 2^12 buckets: small enough to be compared byte by byte."""

    def open_filter(home: Path, options: Options = SMALL) -> Filter:
        return Filter.open(home, replace(options, store=journals.store(home)))

    return open_filter


@pytest.fixture(scope="session")
def counts_of() -> Callable[[Filter], Counts]:
    """The counts a filter would use for its next check."""

    def refreshed(filter_: Filter) -> Counts:
        filter_.refresh()
        return filter_._counts.counts

    return refreshed


@pytest.fixture
def start() -> Iterator[Start]:
    """Start functions as processes of their own; those still running at the end are ended."""
    running: list[int] = []

    def begin(act: Callable[[], None]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                act()
            except BaseException:  # noqa: BLE001
                traceback.print_exc(file=sys.__stderr__)
                os._exit(1)
            os._exit(0)
        running.append(pid)
        return pid

    yield begin
    for pid in running:
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
