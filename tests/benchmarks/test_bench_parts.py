"""The parts of the benchmark: every filter learns the same; what fails is left out and named, and nothing else is."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import daemons
import lesson
import single
from bench import QUICK, Bench
from bulk import Bulk
from mail import Mail
from peers import Priory
from priory import Filter
from priory.demo import draw
from progress import taking_long
from report import Table
from rounds import FailedError, Run, Spread
from summary import summary

N = 20
LISTENER = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
time.sleep(60)
"""


@dataclass(frozen=True)
class Fake:
    """A filter that notes what it is given, and fails at one act or none."""

    name: str
    every: int = 1
    fails_at: str = ""
    given: dict[str, list[Mail]] = field(default_factory=lambda: {"learn": [], "check": []})
    learns_per_s: int = 1_000

    def learn(self, mail: Mail, home: Path) -> Run:
        home.mkdir()
        return self._done("learn", mail)

    def check(self, mail: Mail, home: Path) -> Run:
        assert home.is_dir()
        return self._done("check", mail)

    def store_bytes(self, home: Path) -> int:
        return 100 * len(self.given["learn"][-1])

    def _done(self, act: str, mail: Mail) -> Run:
        if act == self.fails_at:
            raise FailedError(f"{self.name} cannot {act}\nas it is a fake")
        self.given[act].append(mail)
        return Run(0.001 * len(mail), 0.001 * len(mail), 10.0)


@pytest.fixture
def mail(tmp_path: Path) -> Mail:
    folder = tmp_path / "data"
    folder.mkdir()
    drawn = list(draw(2 * N, seed=5))
    for i, each in enumerate(drawn):
        (folder / f"{i}.eml").write_bytes(each.raw)
    return Mail(folder, tuple((each.label, f"{i}.eml") for i, each in enumerate(drawn)))


def measured(mail: Mail, folder: Path, *fakes: Fake, rounds: int = 3) -> Bulk:
    bulk = Bulk([Fake("Priory"), *fakes], mail, N, folder)
    bulk.learn_once()
    for _ in range(rounds):
        bulk.learn()
        bulk.check()
    return bulk


def test_a_slow_filter_learns_the_same_as_the_others_once_and_checks_every_nth_with_it(mail, tmp_path):
    slow = Fake("slow", every=4)
    bulk = measured(mail, tmp_path, slow)
    assert slow.given["learn"] == [mail[:N]]
    assert slow.given["check"] == 3 * [mail[N : 2 * N : 4]]
    assert bulk.figures("learn")["slow"]["rounds"] == 1
    assert bulk.figures("learn")["Priory"]["rounds"] == 3
    assert bulk.figures("check")["slow"]["store_bytes_per_message"] == 100
    assert bulk.table("learn", []).notes == ["3 rounds. slow: once, before the rounds, and compared with each of them."]
    assert bulk.table("check", []).notes == [
        "3 rounds. slow: every 4th of these messages, after the same 20 lessons as all others."
    ]


@pytest.mark.parametrize(
    ("act", "rows_of_learn"), [("learn", ["Priory", "good"]), ("check", ["Priory", "bad", "good"])]
)
def test_a_filter_that_fails_is_left_out_and_said_and_the_others_keep_their_figures(
    mail, tmp_path, capsys, act, rows_of_learn
):
    bulk = measured(mail, tmp_path, Fake("bad", fails_at=act), Fake("good"))
    assert list(bulk.figures("learn")) == rows_of_learn
    assert list(bulk.figures("check")) == ["Priory", "good"]
    assert f"Without bad, which failed: bad cannot {act}" in bulk.table("check", []).notes
    assert capsys.readouterr().err.count(f"without bad, which could not {act}: bad cannot {act}\nas it is a fake") == 1


def test_if_priory_fails_so_does_the_part(mail, tmp_path):
    bulk = Bulk([Priory()], mail, N, tmp_path / "no such folder")
    with pytest.raises(OSError, match="no such folder"):
        bulk.learn()


def test_a_part_that_fails_is_named_and_the_next_ones_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.stages.measured", failing_with(FailedError("the disk is full")))
    monkeypatch.setattr("bench.stages.functions_in_check", failing_with(ZeroDivisionError("no messages")))
    monkeypatch.setattr("bench.beside.measured", lambda *_: (Table("toolkit", "Toolkit", ["", "ms"], []), {"ms": 1}))
    bench = Bench(QUICK, tmp_path, tmp_path / "bench.json", True, {})
    bench.run(["stages", "functions", "toolkit"])
    assert bench.failed == {"stages": "the disk is full", "functions": "no messages"}
    assert bench.figures == {"toolkit": {"ms": 1}}
    assert '"toolkit"' in (tmp_path / "bench.json").read_text()
    said = capsys.readouterr().err
    assert "stages failed:\nthe disk is full\n" in said
    assert "ZeroDivisionError: no messages" in said


def failing_with(error: Exception) -> Callable[..., tuple[Table, object]]:
    def failing(*_: object) -> tuple[Table, object]:
        raise error

    return failing


def test_a_daemon_runs_from_when_it_answers_until_it_is_ended(tmp_path):
    socket = tmp_path / "socket"
    with daemons.running([sys.executable, "-c", LISTENER, str(socket)], socket) as process:
        assert process.poll() is None
    assert process.returncode is not None


def test_a_daemon_that_ends_before_it_answers_is_an_error_with_its_words(tmp_path):
    command = [sys.executable, "-c", "import sys; sys.exit('the store is\\nmissing')"]
    with (
        pytest.raises(FailedError, match=r"^python\S* does not answer: the store is missing$"),
        daemons.running(command, tmp_path / "socket"),
    ):
        pass


def test_a_long_step_says_how_long_it_takes_and_has_taken(capsys):
    said = ""
    with taking_long("learning", 90, every_s=0.05):
        while said.count("\n") < 2:
            said += capsys.readouterr().err
    first, *between, last = (said + capsys.readouterr().err).splitlines()
    assert first.endswith(" learning: 0:00 of about 1:30 minutes")
    assert between[0].endswith(" learning: 0:00 of about 1:30 minutes")
    assert last.endswith(" learning: done in 0:00 minutes")


def test_messages_are_picked_by_what_the_filter_knows_and_each_can_be_learned_and_forgotten(mail, tmp_path):
    home = tmp_path / "home"
    with Filter.open(home) as filter_:
        for label, name in mail[:N].entries:
            filter_.learn((mail.folder / name).read_bytes(), label)
    new, old = lesson.picked(mail, home, 5, False), lesson.picked(mail, home, 5, True)
    assert {each.path.name for each in new} <= set(mail[N:].names())
    assert {each.path.name for each in old} <= set(mail[:N].names())
    with Filter.open(home) as filter_:
        before = filter_.stats().lessons
        took = lesson.by_filter(filter_, new[0], old[0])
        assert sum(filter_.stats().lessons.values()) == sum(before.values()) - 1
        with pytest.raises(AssertionError, match="no such lesson"):
            lesson.by_filter(filter_, new[0], old[0])
    assert list(took) == [lesson.LEARN, lesson.FORGET, lesson.FORGET_OLD]


def test_one_message_is_compared_within_each_round_with_each_way_of_priory():
    took = {single.ALONE: [1.0, 2.0, 4.0], single.SERVED: [0.5, 0.25, 0.5], "bogofilter-bdb": [1.0, 1.0, 1.0]}
    runs = [{name: Run(seconds[i], 0.0, 0.0) for name, seconds in took.items()} for i in range(3)]
    found = single.times_the_time_of(runs, "bogofilter-bdb")
    assert found == {single.ALONE: Spread(0.5, 0.25, 1.0), single.SERVED: Spread(2.0, 2.0, 4.0)}
    unserved = [{single.ALONE: each[single.ALONE]} for each in runs]
    assert single.times_the_time_of(unserved, single.ALONE) == {single.ALONE: Spread(1.0, 1.0, 1.0)}


def test_the_overview_has_priory_alone_and_served_beside_the_same_ways_of_others():
    def taking(ms: float, **times: float) -> dict[str, object]:
        ours = {single.ALONE: "alone", single.SERVED: "served"}
        against = {name: {"median": times[way]} for name, way in ours.items() if way in times}
        return {"ms": {"median": ms}, "times_the_time_of": against}

    bulk = {"messages_per_s": {"median": 4321.0}}
    ratios = {"bogofilter-bdb": {"median": 2.5}, "SpamAssassin Bayes": {"median": 81.4}}
    figures = {
        "learn": {"Priory": {**bulk, "times_as_fast_as": ratios}, "SpamAssassin Bayes": {}, "whole": {}},
        "check": {"Priory": {**bulk, "times_as_fast_as": ratios}, "bogofilter-bdb": {}, "SpamAssassin Bayes": {}},
        "one": {
            single.ALONE: taking(100.0),
            single.SERVED: taking(10.0),
            "bogofilter-bdb": taking(5.0, alone=0.04, served=0.51),
            "spamassassin, Bayes only": taking(200.0, alone=2.1),
            "spamc, spamd running, Bayes only": taking(25.0, served=2.6),
        },
        "lesson": {act: {lesson.RUNNING: {"median": 0.75}} for act in (lesson.LEARN, lesson.FORGET_OLD)},
        "open": {"1000": {"in_open_process_ms": {"median": 3.0}}, "5000": {"in_open_process_ms": {"median": 4.0}}},
        "growth": {f"{act} at 5000": {"ratio": {"median": 1.02}} for act in ("check", "learn")},
    }
    table = summary(figures)
    assert table is not None
    assert table.rows == [
        ["bulk check", "4,321 messages/s", "2.50", "81"],
        ["bulk learn, durable", "4,321 messages/s", "2.50", "81"],
        ["`priory check FILE` in a fresh process", "100 ms", "0.04", "2.10"],
        ["`priory check FILE` in a fresh process, `priory serve` running", "10 ms", "0.51", "2.60"],
        ["one lesson in a running process, after 20,000 lessons", "learn 0.8 ms, forget 0.8 ms", "", ""],
        ["time per message after 5,000 lessons, relative to 1,000 lessons", "check 1.02 ×, learn 1.02 ×", "", ""],
        ["opening a store of 5,000 lessons, to the first verdict", "4 ms", "", ""],
    ]
