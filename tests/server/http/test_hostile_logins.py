"""Those who come to the door to do harm: a real daemon, asked as no browser would."""

import re
import shutil
import stat
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from threading import Thread

import pytest

from command import priory
from http_client import Answer, Client
from priory.server.tokens import MAX_SESSIONS, TokenUse, enter, issue, issue_entry, read_tokens, tokens_path
from real_daemon import Daemon, serving

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("logins") / "home"))
    with serving(home, '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 20\n') as running:
        yield running


def logged_in(daemon: Daemon, token: str) -> Answer:
    ours = {"Origin": f"http://127.0.0.1:{daemon.port}"}
    return Client(daemon.port).ask("POST", "/login", f"token={token}".encode(), FORM | ours)


def test_to_log_in_again_and_again_gives_no_more_requests(daemon: Daemon):
    token = issue(daemon.home, "check")
    answers = []
    for _ in range(6):
        cookie = logged_in(daemon, token).headers["Set-Cookie"].partition(";")[0]
        answers += [Client(daemon.port).ask("GET", "/v1/nothing", headers={"Cookie": cookie}) for _ in range(20)]
    assert 429 in {answer.status for answer in answers}


def test_no_program_loses_its_token_by_logging_out(daemon: Daemon):
    holder = Client(daemon.port, issue(daemon.home, "check"))
    assert holder.ask("POST", "/logout").status == 303
    assert holder.get("/v1/models").status == 200


def test_tokens_that_cannot_be_read_are_told_at_the_door(daemon: Daemon):
    kept = tokens_path(daemon.home).read_bytes()
    tokens_path(daemon.home).write_bytes(b"nonsense")
    try:
        answers = [logged_in(daemon, "x"), Client(daemon.port).get("/enter?key=x")]
    finally:
        tokens_path(daemon.home).write_bytes(kept)
    assert {(answer.status, answer.problem) for answer in answers} == {
        (503, "The tokens cannot be used; the log of the daemon says why.")
    }


def test_others_are_answered_while_somebody_has_the_tokens(daemon: Daemon):
    answers: list[Answer] = []
    with (daemon.home / "tokens.lock").open("ab") as lock:
        flock(lock, LOCK_EX)
        waiting = Thread(target=lambda: answers.append(Client(daemon.port).get("/enter?key=x")))
        waiting.start()
        assert [Client(daemon.port).get("/healthz").status for _ in range(20)] == [200] * 20
        assert not answers
    waiting.join()
    assert answers[0].status == 401


@pytest.mark.parametrize("host", ["::1%a b", "::1%a;b=c", "localhost", "[::1%x]"])
def test_a_name_that_no_cookie_could_have_is_no_error_of_ours(host: str, daemon: Daemon):
    answer = Client(daemon.port).ask("GET", f"/enter?key={issue_entry(daemon.home)}", headers={"Host": host})
    assert answer.status == 303
    assert re.match(r"priory_80=\S+; HttpOnly", answer.headers["Set-Cookie"])


def test_to_revoke_nothing_revokes_nothing(tmp_path: Path):
    issue(tmp_path, "check")
    issue_entry(tmp_path)
    before = read_tokens(tmp_path)
    done = priory("token", "--revoke", "", home=tmp_path)
    assert b"there is no token" in done.stderr
    assert read_tokens(tmp_path) == before


def test_sessions_that_entries_have_opened_are_bounded(tmp_path: Path):
    sessions = [enter(tmp_path, issue_entry(tmp_path)) for _ in range(MAX_SESSIONS + 3)]
    assert None not in sessions
    assert [each.use for each in read_tokens(tmp_path)] == [TokenUse.SESSION] * MAX_SESSIONS


@pytest.mark.slow
def test_what_a_comparison_leaves_is_for_the_owner_alone(daemon: Daemon):
    daemon.home.chmod(0o755)
    asked = b'{"models": ["bernoulli"], "folds": 2}'
    admin = Client(daemon.port, issue(daemon.home, "admin"))
    place = admin.ask("POST", "/v1/evaluate", asked, {"Content-Type": "application/json"}).headers["Location"]
    daemon.wait_until(lambda: admin.get(place).json.get("state") == "finished")
    runs = daemon.home / "lab" / "runs"
    assert stat.S_IMODE((daemon.home / "lab").stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in runs.rglob("*") if each.is_file()} == {0o600}
