"""Comparisons over HTTP: real processes that are started, followed, stopped, killed, and outlive a reload."""

import json
import os
import re
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from http_client import Answer, Client
from priory.filter.filter import Filter
from priory.server.evaluation.run import EvaluationSettings, Outcome, RunFiles
from priory.server.evaluation.runs import MAX_KEPT, EvaluationRuns
from priory.server.tokens import issue
from real_daemon import Daemon, connected, is_running, paused, received, serving

pytestmark = pytest.mark.slow

CONFIG = '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\n'
QUICK = {"models": ["filter", "bernoulli"], "folds": 2}
LONG = {"nested": True}  #: all models, each within each fold


class Lab:
    """A client with a token of scope admin."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.client = Client(daemon.port, issue(daemon.home, "admin"))

    def start(self, **asked: Any) -> Answer:
        return self.client.ask(
            "POST", "/v1/evaluate", json.dumps(asked).encode(), {"Content-Type": "application/json; charset=utf-8"}
        )

    def begun(self, **asked: Any) -> str:
        answer = self.start(**asked)
        assert answer.status == 202, answer.body
        assert answer.headers["Location"] == f"/v1/evaluate/{answer.json['id']}"
        return str(answer.json["id"])

    def get(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/v1/evaluate/{id_}").json
        return found

    def stop(self, id_: str) -> Answer:
        return self.client.ask("DELETE", f"/v1/evaluate/{id_}")

    def ended(self, id_: str) -> dict[str, Any]:
        self.daemon.wait_until(lambda: self.get(id_)["state"] not in {"running", "stopping"})
        return self.get(id_)

    @property
    def process(self) -> int:
        """The process of the running comparison."""
        return int((self.daemon.home / "lab" / "runs" / "lock").read_text().split()[1])

    def events(self, id_: str, last: str = "") -> list[tuple[str, str, dict[str, Any]]]:
        """All events until the end: id, kind and data."""
        return parsed(self.client.ask("GET", f"/v1/evaluate/{id_}/events", headers={"Last-Event-ID": last}).body)

    def follow(self, id_: str) -> socket.socket:
        """Start reading the events."""
        client = connected(("127.0.0.1", self.daemon.port))
        fields = f"Host: localhost\r\nAuthorization: Bearer {self.client.token}"
        client.sendall(f"GET /v1/evaluate/{id_}/events HTTP/1.0\r\n{fields}\r\n\r\n".encode())
        return client


def parsed(stream: bytes) -> list[tuple[str, str, dict[str, Any]]]:
    found = re.findall(r"^id: (.*)\nevent: (.*)\ndata: (.*)\n\n", stream.decode(), re.MULTILINE)
    return [(number, kind, json.loads(said)) for number, kind, said in found]


@pytest.fixture(scope="module")
def lab(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("evaluating") / "home"))
    with serving(home, CONFIG) as daemon:
        yield Lab(daemon)
        assert daemon.n_logged("error") == 0


def test_a_comparison_is_followed_to_its_report(lab: Lab):
    id_ = lab.begun(**QUICK, curve=True)
    events = lab.events(id_)
    assert [kind for _, kind, _ in events] == ["progress"] * (len(events) - 1) + ["end"]
    stages = list(dict.fromkeys(said["stage"] for _, _, said in events))
    assert stages[-1] == "writing the report"
    assert {"starting", "writing the report"} < set(stages)
    last, _, end = events[-1]
    assert end == lab.get(id_)
    assert (end["state"], end["messages"], end["winner"] in QUICK["models"]) == ("finished", 200, True)
    assert f"{end['winner']}, best of 2 on 200 messages" in end["lines"][0]
    assert lab.events(id_, "running-1") == events[-1:]
    assert lab.client.ask("GET", f"/v1/evaluate/{id_}/events", headers={"Last-Event-ID": last}).status == 204

    report = lab.client.get(end["report"]).json
    assert report["runs"][0]["model"] == end["winner"]
    assert report["learning_curves"]
    wrong = report["runs"][0]["figures"]["accuracy %"]["estimate"]
    assert end["error_rate"] == pytest.approx(1 - wrong / 100)
    page = lab.client.get(end["page"])
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"<title>lessons of " in page.body
    policy = page.headers["Content-Security-Policy"]
    assert "sandbox allow-scripts;" in policy
    assert re.search(r"script-src( 'sha256-[^']+')+;", policy)
    assert policy.split(";")[0] == "default-src 'none'"

    assert lab.get(id_) in lab.client.get("/v1/evaluate").json["evaluations"]
    assert lab.stop(id_).status == 204
    for path in ("", "/events", "/report", "/report.json"):
        assert "no such comparison" in lab.client.get(f"/v1/evaluate/{id_}{path}").problem
    assert lab.stop(id_).status == 404
    assert lab.get(id_)["status"] == 404


def test_one_is_under_way_at_a_time_and_can_be_stopped(lab: Lab):
    id_ = lab.begun(**LONG)
    process = lab.process
    with paused(process):
        require_busy(lab, id_)
        stopping = lab.stop(id_)
        assert (stopping.status, stopping.json["state"]) == (202, "stopping")
    events = lab.events(id_)
    assert events[-1][1:] == ("end", lab.get(id_))
    ended = lab.get(id_)
    assert (ended["state"], ended["report"], ended["page"]) == ("stopped", None, None)
    assert ended["ended"] >= ended["created"]
    assert "Start the same comparison again to go on from here" in ended["why"]
    assert "There is no report. It was stopped." in lab.client.get(f"/v1/evaluate/{id_}/report.json").problem
    lab.daemon.wait_until(lambda: not is_running(process))
    assert lab.stop(id_).status == 204


def require_busy(lab: Lab, id_: str) -> None:
    busy = lab.start(**QUICK)
    assert busy.status == 409
    assert busy.problem == "Another comparison is running; wait for its end, or stop it."
    assert busy.headers["Location"] == f"/v1/evaluate/{id_}"
    assert "its report is written at the end" in lab.client.get(f"/v1/evaluate/{id_}/report").problem


def test_one_that_is_killed_is_shown_as_such(lab: Lab):
    id_ = lab.begun(**LONG)
    os.kill(lab.process, signal.SIGKILL)
    ended = lab.ended(id_)
    assert ended["state"] == "killed"
    assert "It ended early" in ended["why"]
    assert lab.ended(lab.begun(**QUICK))["state"] == "finished"


def test_with_one_that_is_killed_those_end_that_work_for_it(lab: Lab):
    id_ = lab.begun(**LONG, jobs=2)
    process = lab.process
    lab.daemon.wait_until(lambda: len(group(process)) > 2)
    os.kill(process, signal.SIGKILL)
    assert lab.ended(id_)["state"] == "killed"
    lab.daemon.wait_until(lambda: not group(process))


def test_that_memory_was_short_is_said(lab: Lab):
    id_ = lab.begun(**LONG, jobs=2)
    process = lab.process
    lab.daemon.wait_until(lambda: len(workers(process)) == 2)
    os.kill(workers(process)[0], signal.SIGKILL)  # as the system does
    ended = lab.ended(id_)
    assert ended["state"] == "failed"
    assert ended["why"].startswith("Memory ran out.")


def group(leader: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, group_ = place.read_text().rpartition(")")[2].split()[:3]
            if int(group_) == leader and state != "Z":
                found.append(int(place.parent.name))
    return found


def workers(leader: int) -> list[int]:
    return [each for each in group(leader) if b"LokyProcess" in Path(f"/proc/{each}/cmdline").read_bytes()]


def test_a_comparison_outlives_a_reload_and_who_follows_it_goes_on(lab: Lab):
    id_ = lab.begun(**LONG)
    process = lab.process
    with lab.follow(id_) as follower:
        stream = follower.recv(10_000)
        while b"event: " not in stream:
            stream += follower.recv(10_000)
        with paused(process):
            lab.daemon.reload()
            [*_, (last, kind, _)] = parsed(stream + received(follower))  # which ends, as that process leaves
            assert kind == "progress"
            assert is_running(process)
            assert lab.get(id_)["state"] == "running"
            assert lab.start(**QUICK).status == 409
            assert lab.stop(id_).status == 202
    events = lab.events(id_, last)
    assert events[-1][1] == "end"
    assert last not in [number for number, _, _ in events]
    lab.daemon.wait_until(lambda: not is_running(process))


def test_it_makes_way_for_mail(lab: Lab):
    id_ = lab.begun(**LONG)
    process = lab.process
    lab.daemon.wait_until(lambda: lab.get(id_)["stage"] != "starting")
    assert os.getpriority(os.PRIO_PROCESS, process) >= 10
    assert Path(f"/proc/{process}/oom_score_adj").read_text() == "1000\n"
    environment = Path(f"/proc/{process}/environ").read_bytes()
    assert b"\0OMP_NUM_THREADS=1\0" in environment
    lab.stop(id_)
    lab.ended(id_)


@pytest.mark.parametrize(("scope", "status"), [("check", 403), ("learn", 403), ("admin", 422)])
def test_only_who_may_do_everything_starts_and_stops(lab: Lab, scope: str, status: int):
    client = Client(lab.daemon.port, issue(lab.daemon.home, scope))
    assert client.ask("POST", "/v1/evaluate", b"{", {"Content-Type": "application/json"}).status == status
    assert client.ask("DELETE", "/v1/evaluate/no").status == status
    assert client.get("/v1/evaluate").status == 200


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 422, "body: Invalid JSON"),
        (b"[]", 422, "body: Input should be an object"),
        (b'{"models": ["filter", "os:system"]}', 422, "models.1: Input should be 'filter', 'bernoulli'"),
        (b'{"models": []}', 422, "models: List should have at least 1 item"),
        (b'{"by": "thread"}', 422, "by: Input should be 'stratified'"),
        (b'{"folds": 1}', 422, "folds: Input should be greater than or equal to 2"),
        (b'{"home": "/"}', 422, "body: Extra inputs are not permitted"),
        (b" " * 70_000, 413, "The JSON has more than 65536 bytes."),
    ],
)
def test_what_cannot_be_compared_is_refused(lab: Lab, body: bytes, status: int, said: str):
    answer = lab.client.ask("POST", "/v1/evaluate", body, {"Content-Type": "application/json"})
    assert answer.status == status
    assert answer.problem.startswith(said)
    assert lab.client.ask("POST", "/v1/evaluate", body, {"Content-Type": "text/plain"}).status == 415


def test_what_is_too_little_to_compare_by_is_said(tmp_path: Path):
    with serving(tmp_path, CONFIG) as daemon:
        lab = Lab(daemon)
        ended = lab.ended(lab.begun(**QUICK))
        assert ended["state"] == "failed"
        assert ended["why"] == f"the filter in {tmp_path} has no lessons yet: teach it with: priory learn"
        with Filter.open(tmp_path) as filter_:
            filter_.learn(b"Subject: lunch\n\nFriday?", "ham")
        ended = lab.ended(lab.begun(**QUICK))
        assert ended["why"].startswith("there is no spam among 1 messages: an evaluation needs messages of every label")
        assert ended["report"] is None
        problem = lab.client.get(f"/v1/evaluate/{ended['id']}/report").problem
        assert problem == f"There is no report. {ended['why']}"
        assert daemon.n_logged("error") == 0


def state_of(home: Path, id_: str) -> str:
    run = EvaluationRuns(home, None).find(id_)
    assert run is not None
    return run.state


def test_a_comparison_ends_with_its_daemon(lessons: Path, tmp_path: Path):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    with serving(home, CONFIG) as daemon:
        lab = Lab(daemon)
        id_ = lab.begun(**LONG)
        process = lab.process
        daemon.process.kill()
        daemon.wait()
        daemon.wait_until(lambda: not is_running(process))
        daemon.wait_until(lambda: state_of(home, id_) != "running")  # a thread of it may hold its files a moment longer
    assert state_of(home, id_) == "killed"


def test_only_the_last_few_are_kept_and_what_cannot_be_read_is_passed_over(lessons: Path, tmp_path: Path):
    home = Path(shutil.copytree(lessons, tmp_path / "home"))
    folder = home / "lab" / "runs"
    folder.mkdir(parents=True)
    asked = EvaluationSettings(("filter",), "stratified", 2, 0, nested=False, curve=False, jobs=1)
    for number in range(MAX_KEPT + 5):
        files = RunFiles(folder / f"{number:016x}")
        files.begin(asked, number)
        files.write_outcome(Outcome(number + 1, "it is old"))
    for name, content in {"f" * 16: "{", "e" * 16: "[]", "d" * 16: '{"created": 1, "asked": {"models": 3}}'}.items():
        (folder / name).mkdir()
        (folder / name / "asked.json").write_text(content)
    with serving(home, CONFIG) as daemon:
        lab = Lab(daemon)
        assert len(lab.client.get("/v1/evaluate").json["evaluations"]) == MAX_KEPT + 5
        id_ = lab.begun(**QUICK)
        kept = [each["id"] for each in lab.client.get("/v1/evaluate").json["evaluations"]]
        assert kept[:2] == [id_, f"{MAX_KEPT + 4:016x}"]
        assert len(kept) == MAX_KEPT
        shutil.rmtree(folder)  # as priory lab report --clear does
        daemon.wait_until(lambda: not is_running(lab_process(daemon)))
        assert daemon.n_logged("error") == 0


def lab_process(daemon: Daemon) -> int:
    """The processes whose command line has this name."""
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{daemon.home}/lab/runs".encode() in place.read_bytes():
                return int(place.parent.name)
        except OSError:
            continue
    return 0
