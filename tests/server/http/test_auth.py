"""Who may ask what over HTTP: a real daemon, with tokens that are made and revoked while it runs."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import priory
from http_client import Client
from priory.server.tokens import issue, read_tokens, tokens_path
from real_daemon import Daemon, ask, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("access") / "home"))
    with serving(home, '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 20\n') as running:
        yield running


def client(daemon: Daemon, scope: str) -> Client:
    return Client(daemon.port, issue(daemon.home, scope))


def test_nothing_but_health_is_answered_without_a_token(daemon: Daemon):
    assert Client(daemon.port).get("/healthz").status == 200
    for path in ("/metrics", "/openapi.json", "/v1/check", "/nothing", "/", "/healthz/", "//healthz"):
        for method in ("GET", "POST", "DELETE"):
            answer = Client(daemon.port).ask(method, path)
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="priory"')
            assert answer.problem == "This needs a token: Authorization: Bearer …"


@pytest.mark.parametrize("said", ["Bearer x", "Bearer ", "bearer priory_", "Basic eDp5", "", "Bearer \xff", "Bearer"])
def test_a_token_that_is_none_opens_nothing(said: str, daemon: Daemon):
    issue(daemon.home, "admin")
    answer = Client(daemon.port).ask("GET", "/metrics", headers={"Authorization": said})
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="priory"')
    assert answer.problem


def test_a_token_counts_from_when_it_is_made_until_it_is_revoked(daemon: Daemon):
    token = priory("token", "--scope", "check", home=daemon.home).stdout.decode().strip()
    holder = Client(daemon.port, token)
    assert holder.get("/metrics").status == 200
    priory("token", "--revoke", read_tokens(daemon.home)[-1].id, home=daemon.home)
    answer = holder.get("/metrics")
    assert (answer.status, answer.problem) == (401, "There is no such token; it may have been revoked.")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert token not in daemon.log


def test_tokens_that_cannot_be_read_open_nothing_and_the_log_says_so(daemon: Daemon):
    holder = client(daemon, "admin")
    kept = tokens_path(daemon.home).read_bytes()
    tokens_path(daemon.home).write_bytes(b"nonsense")
    answer = holder.get("/metrics")
    assert (answer.status, answer.problem) == (503, "The tokens cannot be used; the log of the daemon says why.")
    assert "tokens.json is not a file of tokens" in daemon.log
    assert Client(daemon.port).get("/healthz").status == 200
    tokens_path(daemon.home).write_bytes(kept)
    assert holder.get("/metrics").status == 200


def test_a_token_that_is_used_too_often_waits_and_others_do_not(daemon: Daemon):
    hasty, calm = client(daemon, "check"), client(daemon, "check")
    answers = [hasty.get("/nothing") for _ in range(200)]
    late = [answer for answer in answers if answer.status == 429]
    assert answers[19].status == 404
    assert {(answer.headers["Retry-After"], answer.problem) for answer in late} == {
        ("1", "This token is used too often; Retry-After says when it may be used again.")
    }
    assert calm.get("/nothing").status == 404
    daemon.wait_until(lambda: hasty.get("/metrics").status == 200)


def test_problems_are_told_the_same_way_everywhere(daemon: Daemon):
    holder = client(daemon, "admin")
    assert holder.get("/nothing").problem == "There is no such route; /openapi.json lists all."
    answer = holder.ask("DELETE", "/metrics")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert answer.problem == "The Allow header lists the methods."
    answer = holder.ask("GET", "/metrics", headers={"Host": "evil.example"})
    assert answer.status == 421
    assert answer.problem.startswith("Address this daemon as localhost")
    malformed = ask(("127.0.0.1", daemon.port), b"hidden\r\n\r\n")
    assert malformed.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in malformed
    assert b'"detail":"Invalid HTTP request received."' in malformed
