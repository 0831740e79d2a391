"""What tests share: where the real corpora are, and how to be somebody else than root."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import needed
import real_postgres
from priory.demo import draw
from priory.features import VERSION, Spec
from priory.filter.filter import Filter
from priory.journal import StoreAddress
from priory.journal.shared.store import prepare_store


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real mail; without it a test is skipped, but never in CI."""
    folder = os.environ.get("PRIORY_CORPORA")
    if folder is None:
        needed.missing("PRIORY_CORPORA does not name the folder of the real corpora")
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
