"""Questions over HTTP are listed, answered, skipped and undone; only mail that is worth a question is stored."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from http_client import Client
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options, SpoolLimits
from priory.filter.spool import Spool
from priory.server.tokens import issue
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

LIMITS = SpoolLimits(5_000_000)
ON = f'{HTTP}[ask]\nspool = "5 MB"\n'


@pytest.fixture
def home(lessons: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lessons, tmp_path / "home"))


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with serving(home, ON) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture
def api(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "learn"))


def judged(home: Path, n: int, is_wanted: Callable[[Any], bool]) -> list[bytes]:
    """Some mail whose verdicts are of a kind."""
    mail = [drawn.raw for drawn in draw(600, seed=17)]
    with Filter.open(home) as filter_:
        verdicts = filter_.check_many(mail)
        return [raw for raw, verdict in zip(mail, verdicts, strict=True) if is_wanted(verdict)][:n]


@pytest.fixture
def doubtful(daemon: Daemon, api: Client) -> list[bytes]:
    """Mail about which the filter is unsure, and which a program has checked."""
    found = judged(daemon.home, 8, lambda verdict: verdict.label == "unsure")
    for raw in found:
        assert api.post("/v1/check", raw).json["label"] == "unsure"
    daemon.wait_until(lambda: len(Spool(daemon.home, LIMITS)) == len(found))
    return found


def test_questions_are_those_that_the_command_asks(daemon: Daemon, api: Client, doubtful: list[bytes]):
    answer = api.get("/v1/ask?most=3")
    assert (answer.status, answer.json["total"], answer.json["reason"]) == (200, 8, "")
    with Filter.open(daemon.home) as filter_:
        for question in answer.json["questions"]:
            verdict = next(v for v in filter_.check_many(doubtful) if v.digest == question["digest"])
            assert question["sentence"] == verdict.sentence
            assert [question[key] for key in ("label", "about", "probability", "expected_cost")] == [
                *(verdict.label, verdict.about, verdict.probability, verdict.expected_cost)
            ]
            assert question["subject"]
            assert question["author"]
            assert question["received"].startswith("2025-01-")
    every = api.get("/v1/ask?most=100").json["questions"]
    assert every[:3] == answer.json["questions"]


def test_an_answer_is_learned_and_can_be_undone(daemon: Daemon, api: Client, doubtful: list[bytes]):
    def lessons() -> list[tuple[str, str, str]]:
        page = api.get("/v1/messages?source=spool").json
        return [(lesson["digest"], lesson["label"], lesson["user"]) for lesson in page["lessons"]]

    digest, other = (question["digest"] for question in api.get("/v1/ask?most=2").json["questions"])
    answer = api.post(f"/v1/ask/{digest}?label=spam&user=ann").json
    assert (answer["outcome"], answer["digest"], answer["was"]) == ("learned", digest, None)
    assert answer["after"]["spam"] > answer["before"]["spam"]
    assert lessons() == [(digest, "spam", "ann")]
    assert digest not in {question["digest"] for question in api.get("/v1/ask?most=100").json["questions"]}
    again = api.post(f"/v1/ask/{digest}?label=ham")
    assert (again.status, again.problem) == (
        404,
        "There is no such message in the spool: it was answered, skipped or deleted.",
    )
    assert api.post(f"/v1/ask/{digest}/undo?user=ann").json == {"outcome": "undone", "digest": digest}
    assert lessons() == []
    assert digest in {question["digest"] for question in api.get("/v1/ask?most=100").json["questions"]}
    assert api.post(f"/v1/ask/{digest}/undo?user=ann").status == 404

    assert api.ask("DELETE", f"/v1/ask/{other}").json == {"outcome": "skipped", "digest": other}
    assert api.ask("DELETE", f"/v1/ask/{other}").status == 404
    assert other not in {question["digest"] for question in api.get("/v1/ask?most=100").json["questions"]}
    assert api.post(f"/v1/ask/{other}/undo").status == 200
    assert len(Spool(daemon.home, LIMITS)) == 8
    assert daemon.n_logged("lesson token=") == 1
    assert not [raw for raw in doubtful if raw.decode("latin-1") in daemon.log]


def test_mail_that_is_taught_in_another_way_leaves_the_spool(api: Client, doubtful: list[bytes]):
    forwarded = b"Delivered-To: ann@home.example\nX-Priory-Verdict: unsure\n" + doubtful[0]
    assert api.post("/v1/learn?label=spam", forwarded).status == 200
    assert api.get("/v1/ask").json["total"] == 7


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/ask"),
        ("POST", f"/v1/ask/{'0' * 64}?label=spam"),
        ("DELETE", f"/v1/ask/{'0' * 64}"),
        ("POST", f"/v1/ask/{'0' * 64}/undo"),
    ],
)
def test_a_program_that_may_only_check_sees_no_mail(method: str, path: str, daemon: Daemon, api: Client):
    only_checks = Client(daemon.port, issue(daemon.home, "check"))
    assert only_checks.ask(method, path).problem == "This needs a token of scope learn; yours has scope check."
    assert api.ask(method, path).status == (200 if method == "GET" else 404)


@pytest.mark.parametrize("digest", ["x", "..%2f..%2fjournal.sqlite", "A" * 64, "0" * 63])
def test_only_digests_name_messages(digest: str, api: Client):
    assert api.ask("DELETE", f"/v1/ask/{digest}").status in {404, 422}
    assert api.post(f"/v1/ask/{'0' * 64}?label=junk").status == 422


def test_only_incoming_mail_that_is_worth_a_question_is_stored(daemon: Daemon, api: Client):
    sure = judged(daemon.home, 5, lambda verdict: verdict.expected_cost < 1)
    for raw in sure:
        api.post("/v1/check", raw)
    (unsure, nearly) = judged(daemon.home, 1, lambda verdict: verdict.label == "unsure") + judged(
        daemon.home, 1, lambda verdict: verdict.label != "unsure" and verdict.expected_cost >= 2
    )
    api.post("/v1/explain", unsure)
    body = b'--x\r\nContent-Disposition: form-data; name="mail"; filename="a.eml"\r\n\r\n' + unsure + b"\r\n--x--\r\n"
    uploaded = api.ask("POST", "/v1/check", body, {"Content-Type": "multipart/form-data; boundary=x"})
    assert uploaded.json["messages"][0]["label"] == "unsure"
    api.post("/v1/check", b"Subject: large\n\n" + b"viagra lunch " * 20_000)
    api.post("/v1/check", nearly)
    daemon.wait_until(lambda: len(Spool(daemon.home, LIMITS)))
    assert [raw for raw, _ in Spool(daemon.home, LIMITS).mail(lambda _digest: False)] == [nearly]


def test_while_the_spool_is_off_the_answer_says_how_to_switch_it_on(home: Path):
    with serving(home, HTTP) as daemon:
        api = Client(daemon.port, issue(home, "learn"))
        api.post("/v1/check", judged(home, 1, lambda verdict: verdict.label == "unsure")[0])
        answer = api.get("/v1/ask")
        assert answer.status == 409
        assert answer.problem.startswith('The spool is off: set spool = "20 MB" in section [ask]')
        assert api.ask("DELETE", f"/v1/ask/{'0' * 64}").status == 404
    assert not (home / "spool").exists()


def test_a_filter_that_knows_nothing_says_why_it_cannot_ask(tmp_path: Path):
    home = tmp_path / "empty"
    with Filter.open(home, Options(spool=LIMITS)) as filter_:
        filter_.spool.keep(b"Subject: x\n\nhello", 4.0)
    with serving(home, ON) as daemon:
        api = Client(daemon.port, issue(home, "learn"))
        api.post("/v1/check", b"Subject: y\n\nhello")  # no message is worth a question yet
        reason = "no ham and no spam has been learned yet"
        assert api.get("/v1/ask").json == {"questions": [], "total": 1, "reason": reason}
