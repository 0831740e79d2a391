"""The history of counters: everything is counted once, kept, and never delays mail."""

import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from http_client import Client
from priory.demo import Drawn
from priory.server.metrics.history import (
    HOUR_S,
    HOURS_KEPT_S,
    MINUTES_KEPT_S,
    DamagedHistoryError,
    History,
    HistoryError,
    HistoryRecorder,
)
from priory.server.metrics.names import add_labels, scoreboard
from priory.server.metrics.scoreboard import Key, Scoreboard
from priory.server.tokens import issue
from real_daemon import Daemon, request, serving

SPAM: Key = ("checked", "spamd", "spam")
HAM: Key = ("checked", "spamd", "ham")
NOW = 1_793_500_000 // HOUR_S * HOUR_S
CONFIG = '[serve]\nworkers = 2\n[http]\nlisten = "127.0.0.1:0"\n'


def board_that_knows() -> Scoreboard:
    board = scoreboard()
    add_labels(board, ("ham", "spam"))
    return board


def all_of(history: History, end: int = 2 * NOW) -> Counter[Key]:
    return sum(history.steps(0, end, 60).values(), Counter())


@pytest.mark.parametrize("n_looks", [1, 2, 7])
def test_counts_are_recorded_once_however_often_it_is_called(tmp_path: Path, n_looks: int) -> None:
    history, so_far = History(tmp_path), {SPAM: 0, HAM: 0}
    for i in range(20):
        so_far[SPAM] += 3
        so_far[HAM] += i
        for _ in range(n_looks):
            history.add(1.0, lambda: so_far, NOW + 13 * i)
    assert all_of(history) == so_far


def test_a_restarted_daemon_counts_from_zero(tmp_path: Path) -> None:
    history = History(tmp_path)
    for daemon, totals in enumerate([{SPAM: 5}, {SPAM: 2}, {SPAM: 9, HAM: 1}]):
        history.add(float(daemon), lambda totals=totals: totals, NOW)
    history.add(1.0, lambda: {SPAM: 3}, NOW)  # one that takes long to end
    assert all_of(history) == {SPAM: 17, HAM: 1}


def test_old_daemons_are_forgotten(tmp_path: Path) -> None:
    history = History(tmp_path)
    for daemon in range(50):
        history.add(-float(daemon), lambda: {SPAM: 1}, NOW)  # by a clock that goes back
        history.add(-float(daemon), lambda: {SPAM: 1}, NOW)
    assert all_of(history) == {SPAM: 50}
    with closing(sqlite3.connect(history.path)) as db:
        assert db.execute("SELECT count(*) FROM seen").fetchone() == (10,)


def test_many_processes_at_once_record_nothing_twice(tmp_path: Path) -> None:
    board = board_that_knows()
    tally = board.tally(board.take())

    def look() -> None:
        recorder = HistoryRecorder(tmp_path, board, 1.0)
        for _ in range(10):
            recorder.record()

    looking = [threading.Thread(target=look) for _ in range(4)]
    for each in looking:
        each.start()
    for _ in range(10_000):
        tally.add(SPAM)
    for each in looking:
        each.join()
    HistoryRecorder(tmp_path, board, 1.0).record()
    assert all_of(History(tmp_path)) == {SPAM: 10_000}


def test_steps_have_what_was_counted_in_them(tmp_path: Path) -> None:
    history = History(tmp_path)
    for i in range(6):
        history.add(1.0, lambda i=i: {SPAM: i + 1}, NOW + 600 * i)
    assert {at - NOW: n[SPAM] for at, n in history.steps(NOW, NOW + 3600, 1200).items()} == {0: 2, 1200: 2, 2400: 2}
    assert {at - NOW: n[SPAM] for at, n in history.steps(NOW + 1200, NOW + 1800, 600).items()} == {1200: 1}
    assert {at - NOW for at in history.steps(NOW, NOW + 3600, 3600, shift=1800)} == {-1800, 1800}


def test_minutes_become_hours_and_hours_end(tmp_path: Path) -> None:
    history, n = History(tmp_path), 0
    for i in range(0, 3 * 24 * 60, 30):
        n += 1
        history.add(1.0, lambda n=n: {SPAM: n}, NOW + 60 * i)
    end = NOW + 3 * 86400
    assert all_of(history) == {SPAM: n}
    per_hour = history.steps(NOW, end, HOUR_S)
    assert {counted[SPAM] for counted in per_hour.values()} == {2}
    assert len(per_hour) == 72
    with closing(sqlite3.connect(history.path)) as db:
        (first,) = db.execute("SELECT min(at) FROM minutes").fetchone()
    assert first >= end - MINUTES_KEPT_S - HOUR_S
    later = end + HOURS_KEPT_S
    history.add(2.0, lambda: {HAM: 1}, later)
    assert all_of(history, later + 60) == {HAM: 1}


def test_without_a_file_nothing_was_counted(tmp_path: Path) -> None:
    history = History(tmp_path)
    assert history.steps(0, NOW, 60) == {}
    assert not history.path.exists()


@pytest.mark.parametrize("damage", [b"no database at all " * 100, b"SQLite format 3\0" + bytes(4000)])
def test_a_damaged_file_is_renamed_and_counting_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: bytes
) -> None:
    board, history = board_that_knows(), History(tmp_path)
    history.path.write_bytes(damage)
    board.tally(board.take()).add(SPAM, 4)
    with pytest.raises(DamagedHistoryError, match="is damaged"):
        history.steps(0, NOW, 60)
    HistoryRecorder(tmp_path, board, 1.0).record()
    assert all_of(history) == {SPAM: 4}
    assert history.path.with_suffix(".damaged").read_bytes() == damage
    assert "a new history was begun" in capfd.readouterr().err


def test_a_database_of_another_program_is_renamed(tmp_path: Path) -> None:
    board, history = board_that_knows(), History(tmp_path)
    with closing(sqlite3.connect(history.path)) as db:
        db.execute("CREATE TABLE lunch (dish TEXT)")
    board.tally(board.take()).add(SPAM, 4)
    HistoryRecorder(tmp_path, board, 1.0).record()
    assert all_of(history) == {SPAM: 4}


def test_a_file_of_a_later_priory_is_left_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    board, history = board_that_knows(), History(tmp_path)
    with closing(sqlite3.connect(history.path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = history.path.read_bytes()
    board.tally(board.take()).add(SPAM)
    recorder = HistoryRecorder(tmp_path, board, 1.0)
    for _ in range(3):
        recorder.record()
    assert history.path.read_bytes() == before
    assert capfd.readouterr().err.count("Use that version") == 1


def test_a_folder_that_cannot_be_written_to_is_logged_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    board = board_that_knows()
    board.tally(board.take()).add(SPAM)
    recorder = HistoryRecorder(tmp_path / "nowhere", board, 1.0)
    recorder.record()
    recorder.record()
    assert capfd.readouterr().err.count("No such file or directory") == 1
    with pytest.raises(HistoryError):
        History(tmp_path / "nowhere").add(1.0, dict, NOW)


def counted(home: Path) -> Mapping[Key, int]:
    """All messages by spamd in the history."""
    everything = all_of(History(home))
    return {key: n for key, n in everything.items() if key[:2] == ("checked", "spamd")}


def n_checked(daemon: Daemon, mail: list[Drawn], n: int) -> int:
    for drawn in mail[:n]:
        daemon.ask(request("CHECK", drawn.raw))
    return n


@pytest.mark.slow
def test_a_daemon_counts_each_message_once_through_reloads_crashes_and_restarts(home: Path, mail: list[Drawn]) -> None:
    n = 0
    for is_killed in (True, False):
        with serving(home, CONFIG) as daemon:
            n += n_checked(daemon, mail, 7)
            daemon.reload()
            n += n_checked(daemon, mail, 5)
            for process in daemon.workers if is_killed else []:  # the process for HTTP among them
                os.kill(process, signal.SIGKILL)
            daemon.wait_until(lambda daemon=daemon: len(daemon.workers) == 3)
            daemon.wait_until(lambda daemon=daemon: Client(daemon.port).get("/healthz").json["workers_ready"] == 2)
            n += n_checked(daemon, mail, 3)
        assert sum(counted(home).values()) == n, daemon.log
    assert History(home).path.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_mail_is_checked_whatever_is_wrong_with_the_history(home: Path, mail: list[Drawn]) -> None:
    History(home).path.mkdir()
    with serving(home, CONFIG) as daemon:
        assert b"EX_OK" in daemon.ask(request("CHECK", mail[0].raw))
        api = Client(daemon.port, issue(home, "check"))
        assert api.get("/v1/stats").status == 200
    assert daemon.process.returncode == 0
    assert "cannot be opened: Is a directory" in daemon.log


@pytest.mark.slow
def test_the_api_returns_what_was_counted(home: Path, mail: list[Drawn]) -> None:
    with serving(home, CONFIG) as daemon:
        api = Client(daemon.port, issue(home, "check"))
        assert api.get("/v1/history").json["steps"] == []
        n_checked(daemon, mail, 9)
        api.post("/v1/check", mail[0].raw)
        told = api.get("/v1/history?span=3600").json
        assert told["step"] == 60
        by_spamd = [n for step in told["steps"] for n in step["checked"].get("spamd", {}).values()]
        assert sum(by_spamd) == 9
        (times,) = (step["check_seconds"]["http"] for step in told["steps"] if "http" in step["check_seconds"])
        assert times["count"] == 1
        assert 0 < times["median"] <= times["p99"] <= 10
        assert sum(step["bytes"].get("http", 0) for step in told["steps"]) == len(mail[0].raw)


REFUSED = {
    "span=86400&step=90": "step: whole minutes",
    "span=864000&step=300": "whole hours",
    "span=31536000&step=3600": "step: at most 3000 steps",
    "span=1": "span: ",
    "span=99999999999": "span: ",
    "span=a%20day": "span: ",
}


@pytest.mark.slow
def test_impossible_steps_are_refused_with_a_reason(home: Path) -> None:
    with serving(home, CONFIG) as daemon:
        api = Client(daemon.port, issue(home, "check"))
        for query, wrong in REFUSED.items():
            answer = api.get(f"/v1/history?{query}")
            assert answer.status == 422
            assert wrong in answer.problem
