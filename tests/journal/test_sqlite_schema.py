"""A journal of an older Priory is upgraded when it is opened, as a whole or not at all."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from journals import CountsOf, Open, Start, only
from priory.demo import Drawn
from priory.features import VERSION, pack_features
from priory.filter.rule_text import make_rule
from priory.journal import JournalError, Lesson, RuleEffect, RuleThing, open_file_to_read
from priory.journal.sqlite import schema

pytestmark = only("sqlite")


FORMAT_3 = """
CREATE TABLE journal (id TEXT NOT NULL, features_version INTEGER NOT NULL, bits INTEGER NOT NULL,
  change INTEGER NOT NULL, settled INTEGER NOT NULL, labels TEXT NOT NULL, snapshot TEXT NOT NULL);
CREATE TABLE tally (label TEXT PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE lessons (change INTEGER PRIMARY KEY, digest BLOB NOT NULL, user TEXT NOT NULL, label TEXT NOT NULL,
  time REAL NOT NULL, source TEXT NOT NULL, sender TEXT NOT NULL, held_out BLOB, start INTEGER NOT NULL,
  size INTEGER NOT NULL);
CREATE UNIQUE INDEX learned_once ON lessons (substr(digest, 17), user);
CREATE TABLE bundles (first INTEGER PRIMARY KEY, features BLOB NOT NULL);
CREATE TABLE forgotten (change INTEGER PRIMARY KEY, learned INTEGER NOT NULL, label TEXT NOT NULL, held_out BLOB,
  start INTEGER NOT NULL, size INTEGER NOT NULL);
INSERT INTO journal SELECT id, features_version, bits, change, settled, labels, snapshot FROM now.journal;
INSERT INTO tally SELECT * FROM now.tally;
INSERT INTO lessons SELECT change, digest, user, label, time, source, sender, held_out, start, size FROM now.lessons;
INSERT INTO bundles SELECT first, features FROM now.bundles;
INSERT INTO forgotten SELECT change, learned, label, held_out, start, size FROM now.forgotten;
"""


def as_format_3(home: Path) -> None:
    """Write the journal of a home as an older Priory did."""
    path = home / "journal.sqlite"
    path.rename(home / "now")
    with closing(sqlite3.connect(path, isolation_level=None)) as old:
        old.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        old.execute("ATTACH ? AS now", (str(home / "now"),))
        old.executescript(FORMAT_3)
        old.execute("PRAGMA user_version = 3")
    (home / "now").unlink()


@pytest.fixture
def old(tmp_path: Path, mail: list[Drawn], opened: Open) -> tuple[Path, list[Lesson]]:
    """A home of an older Priory with a snapshot, changes since and something forgotten; and the lessons in it."""
    home = tmp_path / "old"
    with opened(home) as filter_:
        list(filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:60]))
        filter_._counts.save()
        filter_.learn(mail[60].raw, mail[60].label)
        filter_.forget(mail[30].raw)
        lessons = list(filter_.journal.lessons())
    as_format_3(home)
    return home, lessons


def test_nothing_is_lost_and_the_counts_are_those_of_the_lessons(
    old: tuple[Path, list[Lesson]], mail: list[Drawn], opened: Open, counts_of: CountsOf
) -> None:
    home, lessons = old
    with opened(home) as filter_:
        assert list(filter_.journal.lessons()) == lessons
        assert all(lesson.shared and not lesson.node for lesson in lessons)
        built = [bytes(part) for part in counts_of(filter_).parts]
        assert filter_.forget(mail[0].raw).was == mail[0].label
        filter_.learn(mail[0].raw, mail[0].label)
        filter_.forget(mail[0].raw)
        filter_.rebuild()
        assert filter_.stats().lessons == {
            label: sum(lesson.label == label for lesson in lessons) - (mail[0].label == label)
            for label in ("ham", "spam")
        }
    assert built


def test_forgotten_features_are_overwritten(old: tuple[Path, list[Lesson]], mail: list[Drawn], opened: Open) -> None:
    home, _ = old
    with opened(home) as filter_:
        blob = pack_features(filter_.prepare(mail[30].raw).features, filter_.journal.bits)
    assert blob[len(blob) // 2 :][:16] not in (home / "journal.sqlite").read_bytes()


def test_it_has_the_tables_of_a_new_one(old: tuple[Path, list[Lesson]], tmp_path: Path, opened: Open) -> None:
    tables = []
    for home in (old[0], tmp_path / "new"):
        opened(home).close()
        with closing(sqlite3.connect(home / "journal.sqlite")) as db:
            names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema ORDER BY name")]
            tables.append({name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names})
            assert db.execute("PRAGMA user_version").fetchone() == (schema.FORMAT,)
    assert tables[0] == tables[1]


def test_an_account_that_may_only_read_is_told_what_to_do(old: tuple[Path, list[Lesson]]) -> None:
    path = old[0] / "journal.sqlite"
    before = path.read_bytes()
    with pytest.raises(JournalError) as caught:
        open_file_to_read(path, VERSION)
    assert str(caught.value) == (
        f"{path} has the format of an older Priory. As a user who may write to it, upgrade it with "
        f"priory stats --home {old[0]}."
    )
    assert path.read_bytes() == before


def test_several_at_once_do_it_once(old: tuple[Path, list[Lesson]], opened: Open, start: Start) -> None:
    home, lessons = old

    def look() -> None:
        with opened(home) as filter_:
            assert list(filter_.journal.lessons()) == lessons

    for pid in [start(look) for _ in range(4)]:
        assert os.waitpid(pid, 0)[1] == 0


def test_a_killed_upgrade_leaves_the_old_format(
    old: tuple[Path, list[Lesson]], opened: Open, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, lessons = old
    reading, writing = os.pipe()

    def slowly(connection: sqlite3.Connection) -> None:
        step(connection)
        os.write(writing, b".")
        signal.pause()

    step = schema._STEPS[3]
    monkeypatch.setitem(schema._STEPS, 3, slowly)
    pid = start(lambda: opened(home).close())
    os.read(reading, 1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with closing(sqlite3.connect(home / "journal.sqlite")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
    monkeypatch.setitem(schema._STEPS, 3, step)
    with opened(home) as filter_:
        assert list(filter_.journal.lessons()) == lessons


def test_rules_are_kept_after_an_upgrade(tmp_path: Path, opened: Open) -> None:
    rule = make_rule(RuleEffect.ALLOW, RuleThing.SENDER, "ann@mail.example")
    opened(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)) as db:
        db.executescript("DROP TABLE rules; DROP TABLE rule_revision; PRAGMA user_version = 5")
    with opened(tmp_path) as filter_:
        assert filter_.rules.every() == []
        filter_.rules.set(rule)
    with opened(tmp_path) as filter_:
        assert [stored.key for stored in filter_.rules.every()] == [rule.key]
