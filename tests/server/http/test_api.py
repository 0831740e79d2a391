"""The API of a real daemon, compared with the library; and what it refuses."""

import asyncio
import json
import random
import shutil
import socket
from collections import Counter
from collections.abc import Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from http_client import MAIL, Client
from priory.decision import Costs, thresholds
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.http.app import application
from priory.server.http.filters import Filters
from priory.server.http.state import Daemon as State
from priory.server.metrics.names import scoreboard
from priory.server.options import ServeOptions
from priory.server.tokens import issue
from real_daemon import Daemon, received, request, serving

pytestmark = pytest.mark.slow

MOST_BYTES = 50_000
CONFIG = f"""
    [serve]
    workers = 1
    max_bytes = {MOST_BYTES}
    timeout = 2
    [http]
    listen = "127.0.0.1:0"
    rate = 100_000
"""


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("api") / "home"))
    with serving(home, CONFIG) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def api(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "learn"))


def plain(value: object) -> object:
    """What is left of a value when it has been JSON."""
    return json.loads(json.dumps(value))


def test_a_verdict_is_that_of_the_library(api: Client, daemon: Daemon, mail: list[Drawn]):
    with Filter.open(daemon.home) as filter_:
        for drawn in mail[:10]:
            answer = api.post("/v1/check", drawn.raw)
            assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
            assert answer.json == plain(filter_.check(drawn.raw).as_dict())


def test_whose_mail_it_is_can_be_said(api: Client, daemon: Daemon):
    lists = [b"List-Id: <daily.list.example>\nSubject: Daily %d\n\nhttp://list.example/%d" % (i, i) for i in range(21)]
    for raw in lists[1:]:
        assert api.post("/v1/learn?label=spam&user=ann", raw).status == 200
    with Filter.open(daemon.home) as filter_:
        expected = plain(filter_.check(lists[0], "ann").as_dict())
        explained = plain(filter_.explain(lists[0], "ann").as_dict())
    verdict = api.post("/v1/check?user=ann", lists[0]).json
    assert verdict == expected
    assert (verdict["user"], verdict["you"] + verdict["everyone"]) == ("ann", pytest.approx(verdict["log_odds"]))
    assert verdict["you"] > 0.5
    assert api.post("/v1/explain?user=ann", lists[0]).json == explained
    everyone = api.post("/v1/check", lists[0]).json
    assert "you" not in everyone
    lesson = api.post("/v1/learn?label=ham&user=ann", lists[0]).json
    assert lesson["before"] == verdict["probabilities"] != everyone["probabilities"]
    assert lesson["after"] == api.post("/v1/check?user=ann", lists[0]).json["probabilities"]
    for raw in lists:
        assert api.post("/v1/forget?user=ann", raw).status == 200


def test_an_explanation_can_have_the_lessons_behind_it(api: Client, daemon: Daemon, mail: list[Drawn]):
    plain_answer = api.post("/v1/explain?lessons=false", mail[0].raw).json
    assert plain_answer == api.post("/v1/explain", mail[0].raw).json
    assert "lessons" not in plain_answer
    answer = api.post("/v1/explain?lessons=true", mail[0].raw).json
    with Filter.open(daemon.home) as filter_:
        assert answer == plain(filter_.background(mail[0].raw).as_dict())
    assert answer["lessons"]["influential"]
    assert "since" in answer["reasons"][0]["items"][0]
    assert api.post("/v1/explain?lessons=perhaps", mail[0].raw).status == 422


def test_an_explanation_is_the_whole_sum_twice(api: Client, daemon: Daemon, mail: list[Drawn]):
    explanation = api.post("/v1/explain", mail[0].raw).json
    with Filter.open(daemon.home) as filter_:
        assert explanation == plain(filter_.explain(mail[0].raw).as_dict())
    terms = [evidence["term"] for evidence in explanation["evidence"]]
    assert explanation["prior"] + sum(terms) == pytest.approx(explanation["log_odds"])
    spans = [span for section in explanation["sections"] for span in section["spans"]]
    assert explanation["prior"] + sum(span["sum"] for span in spans) == pytest.approx(explanation["log_odds"])
    assert {-6, 0} <= {span["shade"] for span in spans} <= {*range(-6, 7)}


def test_a_lesson_moves_the_probability_and_is_taken_back_exactly(api: Client, daemon: Daemon, mail: list[Drawn]):
    raw = mail[1].raw
    before = api.post("/v1/check", raw).json
    path = "/v1/learn?label=spam&user=ann"
    lesson = api.post(path, raw).json
    with Filter.open(daemon.home) as filter_:  # it is durable
        (taught,) = [each for each in filter_.journal.lessons() if each.digest.hex() == lesson["digest"]]
    assert (taught.label, taught.source, taught.user) == ("spam", "http", "ann")
    assert (lesson["outcome"], lesson["was"], lesson["digest"]) == ("learned", None, before["digest"])
    assert lesson["before"] == before["probabilities"]
    assert lesson["after"]["spam"] > lesson["before"]["spam"]
    assert api.post("/v1/check?user=ann", raw).json["probabilities"] == lesson["after"]
    assert api.post(path, raw).json["outcome"] == "known"
    turned = api.post("/v1/learn?label=ham&user=ann", raw).json
    assert (turned["outcome"], turned["was"]) == ("relearned", "spam")
    assert api.post("/v1/forget", raw).json["outcome"] == "unknown"  # it is Ann's
    forgotten = api.post("/v1/forget?user=ann", raw).json
    assert forgotten == {"outcome": "forgotten", "digest": before["digest"], "was": "ham"}
    assert api.post("/v1/check", raw).json == before


def test_a_lesson_is_forgotten_by_its_digest(api: Client, mail: list[Drawn]):
    digest = api.post("/v1/learn?label=ham", mail[2].raw).json["digest"]
    path = f"/v1/forget?digest={digest}"
    answer = api.post(path, mail[2].raw)
    assert (answer.status, answer.problem) == (400, "Send the digest of the message or the message itself, not both.")
    assert api.post(path).json == {"outcome": "forgotten", "digest": digest, "was": "ham"}
    assert api.post(path).json == {"outcome": "unknown", "digest": digest, "was": None}


def test_what_is_asked_and_taught_is_counted(api: Client, mail: list[Drawn]):
    def counted(name: str) -> float:
        text = api.get("/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    names = [
        'priory_messages_checked_total{protocol="http"',
        'priory_check_seconds_count{protocol="http"',
        'priory_received_bytes_total{protocol="http"',
        'priory_lessons_total{outcome="learned"',
        'priory_lessons_total{outcome="forgotten"',
        "priory_lesson_seconds_count",
    ]
    before = [counted(name) for name in names]
    api.post("/v1/check", mail[3].raw)
    api.post("/v1/learn?label=ham&user=bob", mail[3].raw)
    api.post("/v1/forget?user=bob", mail[3].raw)
    grown = [counted(name) - was for name, was in zip(names, before, strict=True)]
    assert grown == [1, 1, len(mail[3].raw), 1, 1, 2]


def test_what_it_knows_is_told(api: Client, daemon: Daemon):
    with Filter.open(daemon.home) as filter_:
        assert api.get("/v1/stats").json == plain(filter_.stats().as_dict())
        (model,) = api.get("/v1/models").json["models"]
        assert model["buckets"] == filter_.stats().buckets
    assert api.get("/v1/costs").json == {
        "labels": ["ham", "spam"],
        "costs": {"ham": {"spam": 10}, "spam": {"ham": 100}, "unsure": 4},
        "thresholds": thresholds(Costs()),
    }


def test_a_token_does_nothing_beyond_its_scope(daemon: Daemon, mail: list[Drawn]):
    asker = Client(daemon.port, issue(daemon.home, "check"))
    assert asker.post("/v1/check", mail[0].raw).status == 200
    for path in ("/v1/learn?label=ham", "/v1/forget", "/v1/learn"):
        answer = asker.post(path, mail[0].raw)
        assert (answer.status, answer.problem) == (403, "This needs a token of scope learn; yours has scope check.")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="priory", error="insufficient_scope", scope="learn"'
    assert Client(daemon.port, issue(daemon.home, "admin")).post("/v1/forget", mail[0].raw).status == 200


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/v1/learn", "label: Field required"),
        ("/v1/learn?label=hidden", "label: this filter knows ham, spam"),
        ("/v1/learn?label=ham&user=%09auto", "user: String should match pattern"),
        ("/v1/forget?digest=hidden", "digest: String should match pattern '^[0-9a-f]{64}$'"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(path: str, problem: str, api: Client, daemon: Daemon):
    answer = api.post(path, b"Subject: hidden\n\n")
    assert answer.status == 422
    assert answer.problem.startswith(problem)
    assert "hidden" not in answer.problem
    assert "hidden" not in daemon.log


@pytest.mark.parametrize(
    "headers",
    [{}, {"Content-Type": "text/plain"}, {"Content-Type": "message/rfc822x"}, {**MAIL, "Content-Encoding": "gzip"}],
)
def test_what_is_not_said_to_be_a_message_is_refused(headers: dict[str, str], api: Client):
    answer = api.ask("POST", "/v1/check", b"Subject: x\n\n", headers)
    assert (answer.status, answer.problem.partition(":")[0]) == (415, "The body must be an unchanged message")


def test_a_message_that_is_too_large_is_refused_however_it_comes(api: Client):
    head = b"Subject: x\n\n"
    assert api.post("/v1/check", head.ljust(MOST_BYTES)).status == 200
    assert api.post("/v1/check", iter([head, bytes(MOST_BYTES - len(head))])).status == 200
    for body in (bytes(MOST_BYTES + 1), bytes(20 * MOST_BYTES), iter([bytes(MOST_BYTES), b"x"])):
        answer = api.post("/v1/check", body)
        assert (answer.status, answer.problem.partition(",")[0]) == (
            413,
            f"The message has more than {MOST_BYTES} bytes",
        )


def test_who_is_refused_may_send_the_rest_and_hears_why(daemon: Daemon):
    stranger = Client(daemon.port, "priory_none")
    assert stranger.post("/v1/check", bytes(MOST_BYTES)).status == 401


def begun(api: Client, length: str) -> socket.socket:
    """A connection on which a message has begun."""
    client = socket.create_connection(("127.0.0.1", api.port), timeout=60)
    fields = ["Host: localhost", f"Authorization: Bearer {api.token}", "Content-Type: message/rfc822", length]
    client.sendall("\r\n".join(["POST /v1/check HTTP/1.1", *fields, "", "Subject: x"]).encode())
    return client


def test_a_message_that_does_not_come_is_not_waited_for(api: Client):
    with begun(api, "Content-Length: 100") as slow:
        assert received(slow).startswith(b"HTTP/1.1 408 ")
    with begun(api, "Content-Length: 100") as gone:
        gone.shutdown(socket.SHUT_WR)
        received(gone)
    with begun(api, "Content-Length: many") as liar:
        assert received(liar).startswith(b"HTTP/1.1 400 ")
    assert api.get("/v1/costs").status == 200


def test_mail_that_means_ill_is_answered(api: Client, mail: list[Drawn]):
    chance = random.Random(5)
    bodies = [b"", b"\0", b"\xff" * 100, "Subject: \ud800\n\n".encode("utf-8", "surrogatepass") * 9, b"\n" * 10_000]
    for drawn in mail[:20]:
        raw = bytearray(drawn.raw)
        for _ in range(chance.randrange(1, 60)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        bodies.append(bytes(raw[: chance.randrange(len(raw))]))
    for body in bodies:
        assert api.post("/v1/check", body).status == api.post("/v1/explain", body).status == 200
        assert api.post("/v1/learn?label=spam", body).json["outcome"] in {"learned", "known"}
        assert api.post("/v1/forget", body).json["outcome"] in {"forgotten", "unknown"}


def test_a_journal_that_cannot_be_read_is_said_to_be_so(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG) as running:
        client = Client(running.port, issue(home, "learn"))
        (home / "journal.sqlite").rename(home / "elsewhere")
        (home / "journal.sqlite").write_bytes(b"this is no journal")
        answer = client.post("/v1/learn?label=ham", mail[0].raw)
        assert answer.status == 503
        assert answer.problem.startswith(f"{home}/journal.sqlite is not a Priory journal")
        (home / "elsewhere").replace(home / "journal.sqlite")
        assert client.post("/v1/learn?label=ham", mail[0].raw).json["outcome"] == "learned"


def test_lessons_that_come_at_a_time_by_all_ways_are_all_learned(daemon: Daemon, api: Client):
    more = [(drawn, i) for i, drawn in enumerate(draw(60, seed=21))]

    def teach(lesson: tuple[Drawn, int]) -> bool:
        drawn, i = lesson
        if i % 2:
            told = request("TELL", drawn.raw, f"Message-class: {drawn.label}", "Set: local", "User: both")
            return b"DidSet: local" in daemon.ask(told)
        return api.post(f"/v1/learn?label={drawn.label}&user=both", drawn.raw).json["outcome"] == "learned"

    with ThreadPoolExecutor(10) as clients:
        assert all(clients.map(teach, more))
    with Filter.open(daemon.home) as filter_:
        taught = Counter(each.source for each in filter_.journal.lessons() if each.user == "both")
        assert taught == {"http": 30, "spamd": 30}
        before = filter_.stats()
        filter_.rebuild()
        assert filter_.stats()._replace(journal_bytes=0) == before._replace(journal_bytes=0)


def test_an_error_of_ours_is_a_problem_that_quotes_nothing(home: Path):
    state = State(home, ServeOptions(), scoreboard(), 0.0, Options(), None)  # nothing to count with: counting fails
    filters = Filters(state)
    token = issue(home, "check")
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/check",
        "query_string": b"",
        "server": None,
        "headers": [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"message/rfc822")],
    }
    parts: list[MutableMapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"Subject: hidden\n\n", "more_body": False}

    async def send(part: MutableMapping[str, Any]) -> None:
        parts.append(part)

    with pytest.raises(AttributeError):  # which the process logs
        asyncio.run(application(state, filters)(scope, receive, send))
    filters.close()
    assert parts[0]["status"] == 500
    assert dict(parts[0]["headers"])[b"content-type"] == b"application/problem+json"
    assert json.loads(parts[1]["body"])["detail"] == "Internal error; the log of the daemon has the details."
