"""The outbox: entries are durable, in order, and deleted once they are delivered."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from priory.journal import JournalError
from priory.journal.shared import outbox as outbox_module
from priory.journal.shared.outbox import Outbox, OutboxEntry, is_waiting


def kept(text: str, user: str = "") -> OutboxEntry:
    return OutboxEntry(b"", text.encode(), "spam", b"features", user, "", "mail.example", 1.5)


def test_acts_come_out_in_order_and_are_let_go_of(tmp_path: Path):
    outbox = Outbox(tmp_path, "one")
    assert outbox.first(10) == ([], 0)
    assert list(tmp_path.iterdir()) == []
    outbox.keep([kept("a"), kept("b")])
    outbox.keep([kept("c")._replace(label=None)])
    some, last = outbox.first(2)
    assert some == [kept("a"), kept("b")]
    outbox.drop(last)
    assert outbox.first(2)[0] == [kept("c")._replace(label=None)]
    assert outbox.n_entries() == 1


def test_each_journal_has_its_own(tmp_path: Path):
    Outbox(tmp_path, "one").keep([kept("a")])
    other = Outbox(tmp_path, "other")
    other.keep([kept("b")])
    some, last = other.first(10)
    assert some == [kept("b")]
    other.drop(last)
    assert Outbox(tmp_path, "one").n_entries() == 1


def test_the_entries_of_a_user_can_be_deleted_without_a_trace(tmp_path: Path):
    outbox = Outbox(tmp_path, "one")
    outbox.keep([kept("theirs", user="bob@home.example"), kept("ours", user="ann@home.example")])
    outbox.drop_user("bob@home.example")
    assert outbox.first(10)[0] == [kept("ours", user="ann@home.example")]
    assert b"bob@home.example" not in (tmp_path / "outbox.sqlite").read_bytes()


def test_a_reader_writes_nothing(tmp_path: Path):
    outbox = Outbox(tmp_path, "one")
    outbox.keep([kept("a")])
    before = (tmp_path / "outbox.sqlite").stat().st_mtime_ns
    assert (outbox.n_entries(), outbox.first(1)[0]) == (1, [kept("a")])
    assert (tmp_path / "outbox.sqlite").stat().st_mtime_ns == before


def test_a_home_says_whether_anything_waits_in_it(tmp_path: Path):
    assert not is_waiting(tmp_path)
    outbox = Outbox(tmp_path, "one")
    outbox.keep([kept("a")])
    assert is_waiting(tmp_path)
    outbox.drop(outbox.first(1)[1])
    assert not is_waiting(tmp_path)


def test_a_reader_releases_no_lock_of_another_thread(tmp_path: Path):
    Outbox(tmp_path, "one").keep([kept("a")])
    asking = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try: db.execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    command = [sys.executable, "-c", asking, tmp_path / "outbox.sqlite"]
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite", isolation_level=None)) as writing:
        writing.execute("BEGIN IMMEDIATE")
        outbox_module._touch(tmp_path / "outbox.sqlite")  # as whoever opens it does first
        told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout == "database is locked\n"


def test_only_the_owner_may_read_it(tmp_path: Path):
    Outbox(tmp_path, "one").keep([kept("a")])
    assert (tmp_path / "outbox.sqlite").stat().st_mode & 0o777 == 0o600


def test_entries_survive_a_killed_process(tmp_path: Path):
    acting = (
        "import sys, pathlib; from priory.journal.shared.outbox import *\n"
        "outbox = Outbox(pathlib.Path(sys.argv[1]), 'one')\n"
        "for i in range(10_000):\n"
        "    outbox.keep([OutboxEntry(b'', str(i).encode(), 'spam', b'', '', '', '', 0.0)]); print(i, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", acting, str(tmp_path)], stdout=subprocess.PIPE) as process:
        said = [process.stdout.readline() for _ in range(20)]
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.readlines()
    n = len([line for line in said if line.endswith(b"\n")])
    digests = [act.digest for act in Outbox(tmp_path, "one").first(20_000)[0]]
    assert digests[:n] == [str(i).encode() for i in range(n)]
    assert n <= len(digests) <= n + 1


def test_a_subject_comes_out_with_its_entry(tmp_path: Path):
    outbox = Outbox(tmp_path, "one")
    outbox.keep([kept("a")._replace(subject="Lunch?"), kept("b")])
    assert [entry.subject for entry in outbox.first(10)[0]] == ["Lunch?", ""]
    outbox.drop(outbox.first(1)[1])
    assert b"Lunch?" not in (tmp_path / "outbox.sqlite").read_bytes()


def test_entries_of_an_older_priory_come_out_without_a_subject(tmp_path: Path):
    Outbox(tmp_path, "one").keep([kept("a")])
    with closing(sqlite3.connect(tmp_path / "outbox.sqlite", isolation_level=None)) as db:
        db.executescript("ALTER TABLE kept DROP COLUMN subject; PRAGMA user_version = 1")
    Outbox(tmp_path, "one").keep([kept("b")])
    assert Outbox(tmp_path, "one").first(10)[0] == [kept("a"), kept("b")]


def test_an_outbox_of_a_newer_priory_is_refused(tmp_path: Path):
    Outbox(tmp_path, "one").keep([kept("a")])
    with sqlite3.connect(tmp_path / "outbox.sqlite") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(JournalError, match="has format 9, this Priory knows up to 2: use a newer Priory"):
        Outbox(tmp_path, "one").keep([kept("b")])
