"""Real mail servers for all tests of this folder, a new mailbox for each test, and a trained filter."""

import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import requirements
from imap_mailbox import Mailbox
from priory.decision import UNSURE
from priory.demo import draw
from priory.filter.filter import Filter
from real_dovecot import Dovecot, dovecot

_numbers = count()
_NO_PENALTY = """
auth_failure_delay = 0
service anvil {
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
"""


@pytest.fixture(scope="session")
def can_run_dovecot() -> None:
    """Without Dovecot and openssl, or the right to start it, tests with a server are skipped, but never in CI."""
    requirements.servers("dovecot", "openssl")


@pytest.fixture(scope="session")
def certificate(can_run_dovecot: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mail.example"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "certificate"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    both = folder / "both"
    both.write_bytes((folder / "certificate").read_bytes() + (folder / "key").read_bytes())
    return both


@pytest.fixture(scope="session")
def server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    """A server with all extensions."""
    with dovecot(tmp_path_factory.mktemp("server") / "dovecot", certificate=certificate, more=_NO_PENALTY) as running:
        yield running


@pytest.fixture(scope="session")
def plain_server(can_run_dovecot: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    """An old server: no IDLE, no MOVE, no UIDPLUS, no UNSELECT, no CONDSTORE."""
    more = "imap_capability = IMAP4rev1 LITERAL+ SPECIAL-USE\n"
    with dovecot(tmp_path_factory.mktemp("plain") / "dovecot", more=more) as running:
        yield running


@pytest.fixture(scope="session")
def said(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Messages that the filter has not learned: for each label one with this verdict, and one that is unsure."""
    home = shutil.copytree(lessons, tmp_path_factory.mktemp("asked") / "home")
    with Filter.open(home) as filter_:
        asked = [(filter_.check(drawn.raw), drawn.raw) for drawn in list(draw(240, seed=4))[200:]]
    ranked = sorted((verdict.probability, verdict.label, raw) for verdict, raw in asked)
    unsure = [raw for _, label, raw in ranked if label == UNSURE]
    return {"ham": ranked[0][-1], "spam": ranked[-1][-1], "unsure": unsure[len(unsure) // 2]}


@pytest.fixture
def spam(said: dict[str, bytes]) -> bytes:
    return said["spam"]


@pytest.fixture
def ham(said: dict[str, bytes]) -> bytes:
    return said["ham"]


@pytest.fixture
def unsure(said: dict[str, bytes]) -> bytes:
    return said["unsure"]


@pytest.fixture
def mailbox(server: Dovecot, lessons: Path, tmp_path: Path) -> Mailbox:
    """An unused mailbox, and the home of a trained filter."""
    return _new(server, lessons, tmp_path)


@pytest.fixture
def plain_mailbox(plain_server: Dovecot, lessons: Path, tmp_path: Path) -> Mailbox:
    """The same on an old server."""
    return _new(plain_server, lessons, tmp_path)


def _new(server: Dovecot, lessons: Path, folder: Path) -> Mailbox:
    user = f"user{next(_numbers)}"
    return Mailbox(server, user, Path(shutil.copytree(lessons, folder / user)))
