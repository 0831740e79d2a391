"""Fixtures that several folders share: the real corpora, databases, journals in them, child processes, accounts."""

import codecs
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import real_postgres
import requirements
from journals import SMALL, CountsOf, Databases, Files, Journals, Open, Start
from priory.bayes import Counts
from priory.demo import Drawn, draw
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import StoreAddress
from priory.journal.shared.store import prepare_store

_OWN_FOLDER = pytest.StashKey[str]()

# How long an example takes depends on what else the machine does.
settings.register_profile("priory", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("priory")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give this run a folder of its own.

    The folder that pytest uses by default belongs to all runs of a user. Each run closes it to others as it begins, and
    the mail servers of another run, which have accounts of their own, could not reach their mail any more.
    """
    if config.option.basetemp is None and not hasattr(config, "workerinput"):  # workers get a part of it
        config.option.basetemp = tempfile.mkdtemp(prefix="priory-tests-")
        config.stash[_OWN_FOLDER] = config.option.basetemp


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the folder of this run if no test failed."""
    folder = session.config.stash.get(_OWN_FOLDER, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real mail; without it a test is skipped, but never in CI."""
    folder = os.environ.get("PRIORY_CORPORA")
    if folder is None:
        requirements.missing("PRIORY_CORPORA does not name the folder of the real corpora")
    return Path(folder)


@pytest.fixture(scope="session")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a filter that has learned 200 messages: it is only copied."""
    home = tmp_path_factory.mktemp("taught")
    with Filter.open(home) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in list(draw(240, seed=4))[:200]):
            pass
    return home


@pytest.fixture(scope="session")
def postgres() -> Iterator[real_postgres.Postgres]:
    """A PostgreSQL server for all tests: whoever stops it starts it again."""
    with real_postgres.postgres() as server:
        yield server


@pytest.fixture
def database_name(postgres: real_postgres.Postgres) -> Iterator[str]:
    """The name of a database that nobody has written to yet."""
    with postgres.database() as name:
        yield name


@pytest.fixture
def database(postgres: real_postgres.Postgres, database_name: str) -> str:
    """The address of a database that nobody has written to yet."""
    return postgres.url(database_name)


@pytest.fixture
def journal_database(database: str, database_name: str) -> str:
    """The name of a database with the tables of a journal in which nothing was learned yet."""
    prepare_store(StoreAddress(database), VERSION, Spec().bits)
    return database_name


@pytest.fixture(scope="session")
def mail() -> list[Drawn]:
    """Messages drawn at random, with their labels."""
    return list(draw(400, seed=3))


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database that journals are in; a test of one kind alone has a mark that says so."""
    return str(request.param)


@pytest.fixture(scope="session")
def journals(kind: str, request: pytest.FixtureRequest) -> Journals:
    """The journals of the homes of a session."""
    return Files() if kind == "sqlite" else request.getfixturevalue("databases")


@pytest.fixture(scope="session")
def databases(postgres: real_postgres.Postgres) -> Databases:
    """Databases that are used again, whatever came in between."""
    return Databases(postgres)


@pytest.fixture(autouse=True)
def _databases_returned(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the next test use the databases of this one again; most tests have none."""
    journals = request.getfixturevalue("journals") if "journals" in request.fixturenames else None
    yield
    if journals is not None:
        journals.give_back()


@pytest.fixture
def network(postgres: real_postgres.Postgres) -> Iterator[real_postgres.Proxy]:
    """A network between a node and the server, which can fail."""
    with real_postgres.proxy(postgres.port) as between:
        yield between


@pytest.fixture(scope="session")
def opened(journals: Journals) -> Open:
    """Open a filter with 2^12 buckets: small enough to be compared byte by byte."""

    def open_filter(home: Path, options: Options = SMALL) -> Filter:
        return Filter.open(home, replace(options, store=journals.store(home)))

    return open_filter


@pytest.fixture(scope="session")
def counts_of() -> CountsOf:
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


#: Fixtures that start something large, with the marker of the tests that use them.
MARKERS = {"postgres": "postgres", "browser": "browser", "two_workers": "cluster", "can_run_dovecot": "mta"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use, and leave out scikit-learn's checks of the array API.

    Those checks would only be skipped: they need a variable of the environment, and `test_contract.py` runs them in a
    process that has it.
    """
    items[:] = [item for item in items if "check_array_api" not in item.name]
    for item in items:
        if isinstance(item, pytest.Function):
            for marker in {MARKERS[name] for name in item.fixturenames if name in MARKERS}:
                item.add_marker(marker)
            if hasattr(item, "callspec") and item.callspec.params.get("kind") == "postgres":
                item.add_marker("postgres")


@pytest.fixture
def unprivileged() -> Callable[[], object]:
    """Act as a user whom file permissions bind, also where the tests run as root."""

    @contextmanager
    def acting() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        codecs.lookup("unicode_escape")  # Python itself may be in a folder that this user cannot read
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    return acting


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach: pytest's own is closed to others, and shared with other processes."""
    with tempfile.TemporaryDirectory(prefix="priory-open-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "home"
        folder.mkdir()
        yield folder
