"""The journal over HTTP: looking through it, forgetting many, and labels that look wrong, compared with the library."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import pytest

from http_client import Client
from priory.demo import Drawn, draw
from priory.filter.filter import Filter
from priory.journal import Selection
from priory.message import parse
from priory.server.tokens import issue
from real_daemon import HTTP, Daemon, serving

pytestmark = pytest.mark.slow

N = 600
SLIPS = (200, 266, 332, 398, 464, 530, 596)  #: labels that were turned
OTHER = {"ham": "spam", "spam": "ham"}


@pytest.fixture(scope="module")
def taught() -> list[Drawn]:
    """What was taught, with some slips."""
    mail = list(draw(N, seed=11))
    return [Drawn(drawn.raw, OTHER[drawn.label]) if i in SLIPS else drawn for i, drawn in enumerate(mail)]


@pytest.fixture(scope="module")
def original(taught: list[Drawn], tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("messages")
    with Filter.open(home) as filter_:
        for i in range(0, N, 20):
            where, user = "old" if i < 200 else "new", "ann" if i % 40 else ""
            list(filter_.learn_many(((drawn.raw, drawn.label, f"/{where}/{i}") for drawn in taught[i : i + 20]), user))
    return home


@pytest.fixture
def daemon(original: Path, tmp_path: Path) -> Iterator[Daemon]:
    with serving(Path(shutil.copytree(original, tmp_path / "home")), HTTP) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture
def api(daemon: Daemon) -> Client:
    return Client(daemon.port, issue(daemon.home, "learn"))


@pytest.fixture(scope="module")
def unchanged(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that nobody teaches."""
    home = Path(shutil.copytree(original, tmp_path_factory.mktemp("unchanged") / "home"))
    with serving(home, HTTP) as running:
        yield running
        assert running.n_logged("error") == 0


@pytest.fixture(scope="module")
def asker(unchanged: Daemon) -> Client:
    return Client(unchanged.port, issue(unchanged.home, "learn"))


def test_pages_are_those_of_the_library(asker: Client, unchanged: Daemon):
    with Filter.open(unchanged.home) as filter_:
        every = filter_.lessons.page(most=1_000).lessons
        sender = every[0].sender
        moment = datetime.fromtimestamp(every[N // 2].time, UTC).isoformat()
        middle = datetime.fromisoformat(moment).timestamp()
        selections: dict[str, Selection] = {
            "": Selection(),
            "label=spam": Selection(label="spam"),
            "user=ann&source=/old/": Selection(user="ann", source="/old/"),
            "user=": Selection(user=""),
            f"sender={sender}": Selection(sender=sender),
            urlencode({"since": moment}): Selection(since=middle),
            urlencode({"until": moment}): Selection(until=middle),
            "automatic=true": Selection(automatic=True),
            "automatic=false&digest=0A": Selection(automatic=False, digest="0a"),
            "certainty_below=0.5": Selection(certainty_below=0.5),
            "certainty_above=0.5&label=ham": Selection(certainty_above=0.5, label="ham"),
        }
        for query, selection in selections.items():
            expected = [lesson.as_dict() for lesson in filter_.lessons.page(selection, most=1_000).lessons]
            answer = asker.get(f"/v1/messages?most=1000&{query}").json
            assert answer == {"lessons": expected, "after": None, "total": len(expected)}
            lessons, after = [], ""
            while after is not None:
                page = asker.get(f"/v1/messages?most=100&{query}{after and f'&after={after}'}").json
                lessons += page["lessons"]
                after = page["after"]
            assert lessons == expected
    assert len(asker.get("/v1/messages").json["lessons"]) == 50


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("label=hidden", "label: this filter knows ham, spam"),
        ("digest=hidden", "digest: String should match pattern"),
        ("since=hidden", "since: Input should be a valid datetime"),
        ("since=0001-01-01", "since is not a time: write"),
        ("since=2026-11-02T00:00Z&until=2026-11-01T00:00Z", "since must be earlier than until"),
        ("certainty_below=2", "certainty_below: Input should be less than or equal to 1"),
        ("certainty_below=nan", "certainty_below: Input should be"),
        ("certainty_below=0.2&certainty_above=0.3", "certainty_above must be smaller than certainty_below"),
        ("most=1001", "most: Input should be less than or equal to 1000"),
        ("most=0", "most: Input should be greater than or equal to 1"),
        ("after=hidden", "'hidden' is not a place in the list: take it from the page before."),
    ],
)
def test_what_cannot_be_selected_is_named(query: str, problem: str, asker: Client):
    answer = asker.get(f"/v1/messages?{query}")
    assert answer.status == 422
    assert answer.problem.startswith(problem)


def test_a_file_has_all_lessons_that_are_selected(api: Client, daemon: Daemon):
    with Filter.open(daemon.home) as filter_:
        filter_.learn(b"From: eve@mail.example\n\nLunch?", "ham", "=cmd", 'An "n"\u20ac')
        expected = [each.as_dict() for each in filter_.lessons.page(Selection(label="ham"), most=1_000).lessons]
    answer = api.get("/v1/messages/export?label=ham")
    assert (answer.headers["Content-Type"], answer.headers["Content-Disposition"]) == (
        "application/jsonl",
        'attachment; filename="lessons.jsonl"',
    )
    assert [json.loads(line) for line in answer.body.splitlines()] == expected
    table = api.get("/v1/messages/export?label=ham&format=csv")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(table.body.decode())))
    assert [row["digest"] for row in rows] == [each["digest"] for each in expected]
    assert (rows[0]["user"], rows[0]["source"]) == ('An "n"\u20ac', "'=cmd")
    assert set(rows[0]) == set(expected[0]) - {"place"}
    assert api.get("/v1/messages/export?since=0001-01-01").status == 422


def test_subjects_are_listed_selected_and_exported_where_the_journal_stores_them(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    with serving(home, f"{HTTP}[journal]\nsubjects = true\n") as daemon:
        api = Client(daemon.port, issue(home, "learn"))
        api.post("/v1/learn?label=ham", b"Subject: Lunch on Friday?\n\nShall we?")
        api.post("/v1/learn?label=spam", b"Subject: =cmd <b>\n\nBuy now!")
        assert [lesson["subject"] for lesson in api.get("/v1/messages").json["lessons"]] == [
            "=cmd <b>",
            "Lunch on Friday?",
        ]
        assert api.get("/v1/messages?subject=LUNCH").json["total"] == 1
        rows = list(csv.DictReader(io.StringIO(api.get("/v1/messages/export?format=csv").body.decode())))
        assert [row["subject"] for row in rows] == ["'=cmd <b>", "Lunch on Friday?"]
        assert api.post("/v1/messages/forget?subject=cmd&expect=1").json["forgotten"] == 1
        assert "Lunch" not in daemon.log
        assert "cmd" not in daemon.log


def test_only_what_is_expected_is_forgotten_and_exactly(api: Client, daemon: Daemon, original: Path, tmp_path: Path):
    meant = "user=ann&source=/old/"
    total = api.get(f"/v1/messages?{meant}").json["total"]
    assert total == 100
    for wrong in (total - 1, total + 1, 0):
        answer = api.post(f"/v1/messages/forget?{meant}&expect={wrong}")
        assert (answer.status, answer.problem) == (
            409,
            f"The selection contains 100 lessons, not {wrong}: nothing was forgotten.",
        )
    assert api.get("/v1/messages").json["total"] == N
    done = api.post(f"/v1/messages/forget?{meant}&expect=100")
    assert (done.status, done.json) == (200, {"selected": 100, "forgotten": 100})
    with (
        Filter.open(daemon.home) as filter_,
        Filter.open(shutil.copytree(original, tmp_path / "other")) as other,
    ):
        assert sum(other.forget_many(Selection(user="ann", source="/old/"))) == 100
        assert list(filter_.journal.lessons()) == list(other.journal.lessons())
        filter_.check(b"")
        other.check(b"")
        assert filter_.counts.parts == other.counts.parts
    assert 'priory_lessons_total{outcome="forgotten"} 100.0' in api.get("/metrics").body.decode()
    daemon.wait_until(lambda: daemon.n_logged("forget token=") == 1)


def test_many_groups_are_forgotten_while_others_teach(api: Client, daemon: Daemon):
    with Filter.open(daemon.home) as filter_:
        lessons = ((b"Subject: %d\n\nhello" % i, "spam", "many") for i in range(1_700))
        assert sum(map(len, filter_.learn_many(lessons))) == 1_700
    done = api.post("/v1/messages/forget?source=many&expect=1700")
    assert done.json == {"selected": 1_700, "forgotten": 1_700}
    assert api.get("/v1/messages?source=many").json == {"lessons": [], "after": None, "total": 0}
    assert api.get("/v1/messages").json["total"] == N


def test_everything_is_never_forgotten_for_want_of_a_selection(asker: Client):
    for query in (f"expect={N}", f"expect={N}&source=&digest="):
        answer = asker.post(f"/v1/messages/forget?{query}")
        assert (answer.status, answer.problem) == (
            422,
            "the selection contains all lessons: restrict it.",
        )
    answer = asker.post("/v1/messages/forget?label=spam")
    assert (answer.status, answer.problem) == (422, "expect: Field required")


def test_who_may_only_ask_changes_nothing(unchanged: Daemon):
    asker = Client(unchanged.port, issue(unchanged.home, "check"))
    for path in ("/v1/messages", "/v1/messages/export", "/v1/messages/suspects"):
        assert asker.get(path).status == 200
    about = f"digest={'0' * 64}&label=ham"
    for path in ("forget?label=ham&expect=0", *(f"{act}?{about}" for act in ("confirm", "doubt", "relearn"))):
        assert asker.post(f"/v1/messages/{path}").status == 403


def test_labels_that_look_wrong_are_found_and_confirmed_or_turned(api: Client, daemon: Daemon, taught: list[Drawn]):
    slipped = {parse(taught[i].raw).digest.hex(): taught[i].label for i in SLIPS}
    answer = api.get("/v1/messages/suspects").json
    found = {each["digest"]: each for each in answer["suspects"]}
    assert set(slipped) <= set(found)
    assert (answer["total"], answer["reason"]) == (len(found), "")
    assert N / 2 < answer["scored"] <= N
    assert len(SLIPS) / 2 < answer["expected_wrong"] < 2 * len(SLIPS)
    assert answer["total"] < 2 * len(SLIPS)
    probabilities = [each["probability"] for each in answer["suspects"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(p > 0.1 for p in probabilities)
    for digest, label in slipped.items():
        assert (found[digest]["label"], found[digest]["rather"]) == (label, OTHER[label])
        assert found[digest]["probability"] > 0.3
    assert api.get("/v1/messages/suspects?most=2").json == {**answer, "suspects": answer["suspects"][:2]}

    def about(digest: str, label: str) -> str:
        return urlencode({"digest": digest, "label": label, "user": found[digest]["user"]})

    first, second, *_ = slipped
    confirmed = api.post(f"/v1/messages/confirm?{about(first, slipped[first])}").json
    assert confirmed == {"outcome": "confirmed", "digest": first}
    less = api.get("/v1/messages/suspects").json
    assert {each["digest"] for each in less["suspects"]} == set(found) - {first}
    assert less["total"] == answer["total"] - 1
    assert less["expected_wrong"] < answer["expected_wrong"]
    assert api.post(f"/v1/messages/doubt?{about(first, slipped[first])}").json["outcome"] == "doubted"
    assert api.get("/v1/messages/suspects").json == answer
    assert api.post(f"/v1/messages/confirm?{about(first, OTHER[slipped[first]])}").json["outcome"] == "unknown"

    turned = api.post(f"/v1/messages/relearn?{about(second, OTHER[slipped[second]])}").json
    assert turned == {"outcome": "relearned", "digest": second, "was": slipped[second]}
    assert second not in {each["digest"] for each in api.get("/v1/messages/suspects").json["suspects"]}
    with Filter.open(daemon.home) as filter_:  # it is durable
        label = filter_.journal.label_of(bytes.fromhex(second), found[second]["user"])
        assert label == OTHER[slipped[second]]
    again = api.post(f"/v1/messages/relearn?{about(second, OTHER[slipped[second]])}").json
    assert again["outcome"] == "known"
    nobody = f"digest={'0' * 64}&label=ham"
    assert api.post(f"/v1/messages/relearn?{nobody}").json == {"outcome": "unknown", "digest": "0" * 64, "was": None}


def test_where_too_little_was_taught_it_is_said_why_no_label_looks_wrong(tmp_path: Path):
    with serving(tmp_path, HTTP) as daemon:
        api = Client(daemon.port, issue(tmp_path, "check"))
        assert api.get("/v1/messages").json == {"lessons": [], "after": None, "total": 0}
        assert api.get("/v1/messages/export").body == b""
        answer = api.get("/v1/messages/suspects").json
    assert (answer["suspects"], answer["total"], answer["scored"]) == ([], 0, 0)
    assert answer["reason"].startswith("all 0 labels are the same")


def test_who_is_refused_is_counted(daemon: Daemon, api: Client):
    nobody, asker = Client(daemon.port), Client(daemon.port, issue(daemon.home, "check"))
    nobody.get("/v1/stats")
    nobody.get("/v1/messages")
    asker.post("/v1/messages/forget?label=ham&expect=0")
    api.get("/v1/messages?most=0")
    api.ask("POST", "/v1/check", b"hello", {"Content-Type": "text/plain"})
    api.post("/v1/check", iter([b"x" * 1_000_000] * 11))
    api.ask("GET", "/v1/stats", headers={"Host": "mail.example"})
    text = api.get("/metrics").body.decode()
    counted = {
        line.split('reason="')[1].split('"')[0]: float(line.split()[-1])
        for line in text.splitlines()
        if line.startswith('priory_refusals_total{protocol="http"')
    }
    assert {reason: n for reason, n in counted.items() if n} == {
        "unauthorized": 2, "forbidden": 1, "invalid": 1, "unsupported": 1, "too_large": 1, "misdirected": 1
    }  # fmt: skip
    assert set(counted) == {"timeout", "too_often", "unauthorized", "forbidden", "invalid", "unsupported",
                            "too_large", "misdirected"}  # fmt: skip
