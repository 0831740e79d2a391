"""Rules over HTTP: they are durable, counted by all processes of the daemon at once, and undone exactly."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from command import priory
from http_client import Client
from priory.demo import Drawn
from priory.server.tokens import issue
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

FROM_ANN = b"From: Ann <ann@mail.example>\nSubject: Pills\n\nThe pills for the cat are here."


@pytest.fixture
def daemon(lessons: Path, tmp_path: Path) -> Iterator[Daemon]:
    with serving(Path(shutil.copytree(lessons, tmp_path / "home")), HTTP) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture
def api(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "learn"))


def rules(**query: str) -> str:
    return f"/v1/rules?{urlencode(query)}"


def test_a_rule_counts_at_once_everywhere_and_is_undone_exactly(daemon: Daemon, api: Client, mail: list[Drawn]) -> None:
    asked = [FROM_ANN, mail[0].raw]
    before = [api.post("/v1/check", raw).json for raw in asked]
    answer = api.ask("POST", rules(effect="block", thing="sender", text="Ann <Ann@Mail.example>")).json
    assert answer == {"outcome": "set", "rule": "block sender ann@mail.example"}
    assert api.ask("POST", rules(effect="block", thing="sender", text="ann@mail.example")).json["outcome"] == "known"
    blocked, other = [api.post("/v1/check", raw).json for raw in asked]
    assert blocked["label"] == "spam"
    item = {"text": "block sender ann@mail.example", "sum": 30.0, "counts": {}, "counted": ""}
    assert blocked["reasons"][0] == {"what": "rules of people", "sum": 30.0, "items": [item]}
    assert api.post("/v1/explain", asked[0]).json["kinds"]["rule"] == {"features": 1, "sum": 30.0}
    assert other == before[1]
    by_command = json.loads(priory("check", "--json", "-", home=daemon.home, stdin=FROM_ANN).stdout)
    assert by_command["log_odds"] == blocked["log_odds"]
    (listed,) = api.get("/v1/rules").json["rules"]
    assert (listed["user"], listed["author"].split()[0]) == ("", "token")
    assert api.get("/v1/rules?user=ann").json == {"rules": []}
    removed = api.ask("DELETE", rules(thing="sender", text="ann@mail.example")).json
    assert removed == {"outcome": "removed", "rule": "block sender ann@mail.example"}
    assert api.ask("DELETE", rules(thing="sender", text="ann@mail.example")).json == {
        "outcome": "unknown",
        "rule": None,
    }
    assert [api.post("/v1/check", raw).json for raw in asked] == before


def test_a_command_beside_the_daemon_counts_at_once(daemon: Daemon, api: Client) -> None:
    set_ = priory("rule", "allow", "sender", "ann@mail.example", "--user", "ann", home=daemon.home)
    assert set_.stdout == b"set: allow sender ann@mail.example, for ann\n"
    assert api.post("/v1/check?user=ann", FROM_ANN).json["label"] == "ham"
    assert "rule" not in api.post("/v1/explain", FROM_ANN).json["kinds"]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"effect": "allow", "thing": "word", "text": "pills"}, "a word cannot be allowed or blocked: name a sender"),
        ({"effect": "block", "thing": "domain", "text": "a b"}, "'a b' is not a domain: write it like mail.example."),
        ({"effect": "towards", "thing": "domain", "text": "a.example"}, "name the label: one of ham, spam."),
        ({"effect": "nix", "thing": "domain", "text": "a.example"}, "effect: Input should be 'ignore', 'allow', "),
        ({"effect": "allow", "thing": "domain", "text": "x" * 201}, "text: String should have at most 200 characters"),
    ],
)
def test_what_is_no_rule_is_named(query: dict[str, str], problem: str, api: Client) -> None:
    answer = api.ask("POST", rules(**query))
    assert answer.status == 422
    assert answer.problem.startswith(problem)


def test_a_token_to_check_sets_nothing(daemon: Daemon) -> None:
    checker = Client(daemon.port, issue(daemon.home, "check"))
    assert checker.ask("POST", rules(effect="allow", thing="domain", text="a.example")).status == 403
    assert checker.get("/v1/rules").json == {"rules": []}
