"""A daemon forgets lessons beyond the limits in the background, and answers meanwhile."""

import sqlite3
from pathlib import Path

import pytest

from priory.config import parse
from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.daemon.lesson_thread import RETENTION_LOCK, RetentionTask
from real_daemon import request, serving

LIMITS = "[serve]\nworkers = 2\n[limits]\nlessons = 450\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of a filter with more lessons than its limit."""
    home = tmp_path / "home"
    with Filter.open(home, Options()) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(600, seed=6)))
    return home


def n_lessons(home: Path) -> int:
    with sqlite3.connect(home / "journal.sqlite") as connection:
        (n,) = connection.execute("SELECT count(*) FROM lessons").fetchone()
    connection.close()
    return int(n)


@pytest.mark.slow
def test_the_oldest_lessons_go_in_the_background_and_mail_is_checked_meanwhile(home: Path):
    raw = next(iter(draw(1, seed=7))).raw
    with serving(home, LIMITS) as daemon:
        while daemon.n_logged("aged") == 0:
            assert b"EX_OK" in daemon.ask(request("CHECK", raw))
        assert n_lessons(home) == 450
        assert "aged lessons=150\n" in daemon.log
        assert b"EX_OK" in daemon.ask(request("TELL", raw, "Message-class: spam", "Set: local"))
        assert n_lessons(home) == 451  # it looks again after a while
    with Filter.open(home, parse(LIMITS)) as filter_:
        filter_.check(raw)
        counted = [bytes(part) for part in filter_.counts.parts]
        filter_.rebuild()
        assert [bytes(part) for part in filter_.counts.parts] == counted


def test_one_process_at_a_time_has_the_lock_and_the_next_after_a_pause(home: Path):
    one, other = RetentionTask(home, pause_s=1000.0), RetentionTask(home, pause_s=1000.0)
    assert one.acquire()
    assert one.acquire()
    assert not other.acquire()
    one.release()
    assert not other.acquire()  # it was done a moment ago
    third = RetentionTask(home, pause_s=0.0)
    assert third.acquire()
    third.release()
    assert (home / RETENTION_LOCK).stat().st_size == 1


def test_a_process_without_write_access_does_nothing(tmp_path: Path):
    assert not RetentionTask(tmp_path / "nowhere").acquire()
