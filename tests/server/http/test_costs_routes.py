"""Costs that are set over HTTP: in the configuration file, and in force when that is answered."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from http_client import Answer, Client
from priory.config import load
from priory.decision import Costs, thresholds
from priory.demo import Drawn
from priory.server.tokens import issue
from real_daemon import Daemon, request, serving

pytestmark = pytest.mark.slow

CONFIG = """\
# Ann's
[serve]
workers = 1

[costs]                 # as she likes it
spam = { ham = 100 }    # calling a ham spam
unsure = 4

# so that programs can ask
[http]
listen = "127.0.0.1:0"
rate = 100_000
"""
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("costs") / "home"))
    with serving(home, CONFIG) as running:
        yield running


@pytest.fixture(scope="module")
def admin(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "admin"))


@pytest.fixture(autouse=True)
def as_at_first(daemon: Daemon) -> None:
    """Each test begins with the same file, and with what it says in force."""
    path = daemon.home / "priory.toml"
    if not path.exists() or path.read_text() != CONFIG:
        path.write_text(CONFIG)
        daemon.reload()


def costs(lost: float = 100, missed: float = 10, unsure: float = 4) -> dict[str, Any]:
    return {"ham": {"spam": missed}, "spam": {"ham": lost}, "unsure": unsure}


def checked(client: Client, drawn: Drawn) -> Any:
    return client.post("/v1/check", drawn.raw).json


def put(client: Client, said: object) -> Answer:
    return client.ask("PUT", "/v1/costs", json.dumps(said).encode(), JSON)


def test_costs_are_in_force_for_all_when_that_is_answered(daemon: Daemon, admin: Client, mail: list[Drawn]):
    (raw, verdict), *_ = [(each.raw, said) for each in mail if (said := checked(admin, each))["label"] == "spam"]
    wanted = costs(lost=1e6, missed=1, unsure=1e6)  # so that ham is said of all that is not certain
    answer = put(admin, {"costs": wanted})
    assert answer.status == 200
    assert answer.json == admin.get("/v1/costs").json
    assert answer.json["costs"] == wanted
    assert answer.json["thresholds"] == thresholds(Costs(matrix=((0, 1), (1e6, 0)), unsure=1e6))
    after = admin.post("/v1/check", raw).json
    assert after["probabilities"] == verdict["probabilities"]
    assert after["label"] == "ham"
    assert b"Spam: False" in daemon.ask(request("CHECK", raw))  # by a worker, too


def test_nothing_else_in_the_file_changes(daemon: Daemon, admin: Client):
    path = daemon.home / "priory.toml"
    path.chmod(0o640)
    inode = path.stat().st_ino
    assert put(admin, {"costs": costs(lost=250, missed=0.5)}).status == 200
    assert path.read_text() == CONFIG.replace("ham = 100 }", "ham = 250 }").replace(
        "unsure = 4\n", "unsure = 4\nham = {spam = 0.5}\n"
    )
    assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (0o640, os.getuid())
    assert path.stat().st_ino != inode
    assert not path.with_name("priory.toml.new").exists()


def test_what_is_in_force_is_not_set_again(daemon: Daemon, admin: Client):
    n = daemon.n_logged("reloading")
    before = (daemon.home / "priory.toml").stat()
    assert put(admin, {"costs": costs()}).status == 200
    assert daemon.n_logged("reloading") == n
    assert (daemon.home / "priory.toml").stat().st_ino == before.st_ino


def test_a_link_stays_one(daemon: Daemon, admin: Client):
    path, elsewhere = daemon.home / "priory.toml", daemon.home / "elsewhere.toml"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    try:
        assert put(admin, {"costs": costs(unsure=3)}).status == 200
        assert path.is_symlink()
        assert load(elsewhere).costs.unsure == 3
    finally:
        path.unlink()


def test_of_many_at_once_each_is_set_or_told_to_try_again(daemon: Daemon, admin: Client):
    def insist(unsure: float) -> list[int]:
        """What was answered until it was set."""
        answers = [put(admin, {"costs": costs(unsure=unsure)})]
        while answers[-1].status == 503:
            assert answers[-1].headers["Retry-After"] == "1"
            answers.append(put(admin, {"costs": costs(unsure=unsure)}))
        return [answer.status for answer in answers]

    with ThreadPoolExecutor(4) as many:
        assert [said[-1] for said in many.map(insist, (1, 2, 3, 5))] == [200] * 4
    assert admin.get("/v1/costs").json["costs"]["unsure"] == load(daemon.home / "priory.toml").costs.unsure


@pytest.mark.parametrize("scope", ["check", "learn"])
def test_only_an_administrator_sets_costs(scope: str, daemon: Daemon):
    answer = put(Client(daemon.port, issue(daemon.home, scope)), {"costs": costs(unsure=1)})
    assert (answer.status, answer.problem) == (403, f"This needs a token of scope admin; yours has scope {scope}.")
    assert (daemon.home / "priory.toml").read_text() == CONFIG


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "costs: Field required"),
        ([], "body: Input should be an object"),
        ({"costs": {}}, "costs.ham: Field required; costs.spam: Field required; costs.unsure: Field required"),
        ({"costs": costs(unsure=-1)}, "costs.unsure: Input should be greater than or equal to 0"),
        ({"costs": costs(lost=1e101)}, "costs.spam.ham: Input should be less than or equal to 10000"),
        ({"costs": costs(lost=float("nan"))}, "costs.spam.ham: Input should be a finite number"),
        ({"costs": {**costs(), "unsure": "4"}}, "costs.unsure: Input should be a valid number"),
        ({"costs": {**costs(), "unsure": True}}, "costs.unsure: Input should be a valid number"),
        ({"costs": {**costs(), "hidden": 1}}, "costs: Extra inputs are not permitted"),
        ({"costs": costs(), "hidden": 1}, "body: Extra inputs are not permitted"),
    ],
)
def test_costs_that_cannot_be_are_named(said: object, why: str, admin: Client):
    answer = put(admin, said)
    assert answer.status == 422
    assert answer.problem.startswith(why)


@pytest.mark.parametrize(
    ("body", "headers", "status", "why"),
    [
        (b"{", JSON, 422, "body: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b"[" * 1000, JSON, 422, "body: Invalid JSON: recursion limit exceeded at line 1 column 202"),
        (b"{}", {}, 415, "The body must be JSON: Content-Type: application/json, not compressed."),
        (b"{}", {**JSON, "Content-Encoding": "gzip"}, 415, "The body must be JSON: Content-Type: application/json, "),
        (b" " * 65537, JSON, 413, "The JSON has more than 65536 bytes."),
    ],
)
def test_what_is_no_json_is_refused(body: bytes, headers: dict[str, str], status: int, why: str, admin: Client):
    answer = admin.ask("PUT", "/v1/costs", body, headers)
    assert answer.status == status
    assert answer.problem.startswith(why)


def test_a_file_with_an_error_is_left_as_it_is(daemon: Daemon, admin: Client):
    path = daemon.home / "priory.toml"
    path.write_text(CONFIG.replace("workers = 1", "workers = 0"))
    answer = put(admin, {"costs": costs(unsure=1)})
    assert answer.status == 409
    assert answer.problem.startswith(f"The costs are unchanged: {path}:3: [serve] workers must be a whole number")
    assert "unsure = 4" in path.read_text()


def test_a_file_with_other_labels_is_left_as_it_is(daemon: Daemon, admin: Client):
    path = daemon.home / "priory.toml"
    path.write_text(f'labels = ["ham", "spam", "list"]\n{CONFIG}')
    answer = put(admin, {"costs": costs(unsure=1)})
    assert (answer.status, answer.problem) == (
        409,
        "The costs are unchanged: the labels are ham, spam, list, but the daemon knows ham, spam: reload it",
    )


def test_what_was_written_but_cannot_be_served_is_said_so(daemon: Daemon, admin: Client):
    path = daemon.home / "priory.toml"
    path.write_text(CONFIG + '[milter]\nlisten = "/no/such/folder/milter"\n')
    answer = put(admin, {"costs": costs(unsure=1)})
    assert answer.status == 503
    assert answer.problem.startswith("The costs are written, but the daemon could not reload its configuration")
    assert re.search("reload failed why=.*milter", daemon.log)
    assert load(path).costs.unsure == 1
    assert admin.get("/v1/costs").json["costs"]["unsure"] == 4
