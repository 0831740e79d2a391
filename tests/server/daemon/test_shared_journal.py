"""Daemons that share a journal: a lesson taught to one reaches the others, also after an outage of the server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import priory
from http_client import Client
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import StoreAddress
from priory.journal.shared.outbox import Outbox
from priory.server.tokens import issue
from real_daemon import Daemon, request, serving
from real_postgres import Postgres, Proxy

MAIL = [(drawn.raw, drawn.label, "") for drawn in draw(40, seed=3)]
NEW = b"From: eve@mail.example\nSubject: You won\n\nDear lucky winner"


@pytest.fixture
def config(postgres: Postgres, journal_database: str, network: Proxy) -> str:
    """Of a node whose server can be cut off."""
    url = postgres.url(journal_database, port=network.port)
    return f'[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\n[store]\nurl = "{url}"\nnode = "a"\n'


@pytest.fixture
def other(postgres: Postgres, journal_database: str, tmp_path: Path) -> Iterator[Filter]:
    """Another node, which is not cut off."""
    store = StoreAddress(postgres.url(journal_database), "b")
    with Filter.open(tmp_path / "b", Options(store=store)) as filter_:
        for _ in filter_.learn_many(MAIL):
            pass
        yield filter_


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "a"
    folder.mkdir()
    return folder


def points(daemon: Daemon) -> float:
    """What the daemon says of the new message."""
    found = re.search(rb"Spam: \w+ ; (-?[\d.]+) /", daemon.ask(request("CHECK", NEW)))
    assert found is not None
    return float(found[1])


def tell(daemon: Daemon, label: str) -> bytes:
    return daemon.ask(request("TELL", NEW, f"Message-class: {label}", "Set: local"))


def test_a_lesson_taught_to_one_daemon_reaches_the_other(other: Filter, config: str, home: Path):
    with serving(home, config) as daemon:
        before = points(daemon)
        for i in range(5):
            other.learn(NEW + b"!" * i, "spam")
        daemon.wait_until(lambda: points(daemon) > before)
        assert b"DidSet: local" in tell(daemon, "ham")
    other.refresh()
    assert other.check(NEW).log_odds < 5


def test_a_daemon_that_is_cut_off_works_on(other: Filter, config: str, home: Path, network: Proxy):
    (home / "priory.toml").write_text(config)
    with serving(home) as daemon:
        client = Client(daemon.port, issue(home, "learn"))
        before = points(daemon)
        network.cut()
        daemon.wait_until(lambda: daemon.n_logged("cut off"))
        assert points(daemon) == before
        assert b"DidSet: local" in tell(daemon, "spam")
        daemon.wait_until(lambda: "verdict=kept" in daemon.log)
        assert client.post("/v1/learn?label=spam&user=ann", NEW).json["outcome"] == "kept"
        assert client.post("/v1/forget", MAIL[0][0]).json["outcome"] == "kept"
        said = priory("learn", "spam", "-", "--user", "bob", home=home, stdin=NEW)
        assert b"1 wait until the journal can be reached" in said.stdout
        said = priory("forget", "-", home=home, stdin=MAIL[1][0])
        assert b"1 wait until the journal can be reached" in said.stdout
        said = priory("stats", home=home)
        assert b"cannot be reached" in said.stderr
        assert client.ask("POST", "/v1/forget?digest=" + "0" * 64).status == 503
        assert client.get("/healthz").status == 200
        assert b"priory_journal_readable 0.0" in client.get("/metrics").body
        network.heal()
        daemon.wait_until(lambda: "delivered" in daemon.log and not Outbox(home, other.journal.id).n_entries())
        daemon.wait_until(lambda: daemon.n_logged("following again"))
        daemon.wait_until(lambda: points(daemon) > before)
    assert sorted(other.taught_by(NEW)) == ["", "ann", "bob"]
    assert not other.taught_by(MAIL[0][0])
    assert not other.taught_by(MAIL[1][0])


def test_a_daemon_starts_without_its_server(other: Filter, config: str, home: Path, network: Proxy):
    network.cut()
    with serving(home, config) as daemon:
        assert b"Spam: False" in daemon.ask(request("CHECK", NEW))
        daemon.wait_until(lambda: daemon.n_logged("cut off"))
        report = daemon.ask(request("REPORT", NEW))
        assert b"the journal cannot be reached, and this machine has too few counts of its own" in report
        assert b"try again later" in tell(daemon, "spam")  # the journal is not known yet
        network.heal()
        daemon.wait_until(lambda: b"cannot be reached" not in daemon.ask(request("REPORT", NEW)))
        daemon.wait_until(lambda: b"DidSet: local" in tell(daemon, "spam"))


def test_a_check_with_the_command_alone_works_without_the_server(
    other: Filter, config: str, home: Path, network: Proxy
):
    (home / "priory.toml").write_text(config)
    assert priory("rebuild", home=home).returncode == 0
    said = json.loads(priory("check", "--json", "-", home=home, stdin=NEW).stdout)
    network.cut()
    assert json.loads(priory("check", "--json", "-", home=home, stdin=NEW).stdout) == said
