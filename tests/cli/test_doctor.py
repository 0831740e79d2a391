"""`priory doctor` finds what is wrong in a home, repairs what can be repaired, and keeps what was damaged."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command import priory
from priory.demo import draw
from priory.features import Spec
from priory.filter.filter import Filter
from priory.filter.options import Options, SpoolLimits
from priory.filter.spool import Spool
from priory.journal import StoreAddress
from priory.journal.shared.outbox import Outbox, OutboxEntry
from priory.journal.shared.store import remember_identity
from priory.server.metrics.history import History
from priory.server.tokens import issue, tokens_path

MAIL = list(draw(60, seed=9))
PAGE = 4096
OPTIONS = Options(spec=Spec(bits=12), personal_bits=12)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sound") / "home"
    with Filter.open(home, OPTIONS) as filter_:
        for drawn in MAIL[:50]:
            filter_.learn(drawn.raw, drawn.label)
        filter_.learn(MAIL[50].raw, "ham", user="ann")
        filter_._counts.save()  # which joins the bundles
        filter_.learn(MAIL[51].raw, "ham")
    return home


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "home"))


def findings(home: Path, *options: str) -> dict[str, dict[str, Any]]:
    answer = json.loads(priory("doctor", "--json", *options, home=home).stdout)
    return {finding["part"]: finding for finding in answer["findings"]}


def change(home: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "journal.sqlite", isolation_level=None)) as db:
        db.execute(sql, values)


def digests(home: Path) -> set[bytes]:
    with Filter.open(home, OPTIONS) as filter_:
        return {lesson.digest for lesson in filter_.journal.lessons()}


def test_a_sound_home_is_left_as_it_is(home: Path) -> None:
    before = {path.name: path.read_bytes() for path in home.iterdir() if not path.name.endswith(("-wal", "-shm"))}
    for options in ((), ("--repair",)):
        done = priory("doctor", *options, home=home)
        assert (done.returncode, done.stdout.decode()) == (0, f"nothing is wrong in {home}\n")
    assert {name: (home / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("sql", "lost", "words"),
    [
        ("UPDATE lessons SET digest = 'x' WHERE change = 7", 1, "lesson 7 is damaged. 51 lessons are sound."),
        ("UPDATE lessons SET label = x'ff00' WHERE change = 7", 1, "lesson 7 is damaged"),
        ("UPDATE lessons SET label = 'spbm' WHERE change = 7", 1, "lesson 7 has an unknown label"),
        ("UPDATE lessons SET time = 1e300 WHERE change > 3 AND change < 7", 3, "lessons 4 to 6 are damaged"),
        ("UPDATE lessons SET held_out = 7 WHERE change = 7", 1, "lesson 7 is damaged"),
        ("UPDATE bundles SET features = zeroblob(99) WHERE first = 52", 1, "lesson 52 is damaged"),
        ("UPDATE tally SET n = 7", 0, "its tally and its lessons differ"),
        ("UPDATE tally SET n = x'07'", 0, "the tally of "),
        ("DELETE FROM lessons WHERE change = 7", 1, "its tally and its lessons differ"),
    ],
)
def test_a_damaged_row_is_taken_out_and_everything_else_stays(home: Path, sql: str, lost: int, words: str) -> None:
    before = digests(home)
    change(home, sql)
    damaged = (home / "journal.sqlite").read_bytes()
    finding = findings(home)["journal"]
    assert words in finding["problem"]
    assert finding["can_be_repaired"]
    assert (home / "journal.sqlite").read_bytes() == damaged
    assert priory("doctor", home=home).returncode == 1
    repaired = findings(home, "--repair")["journal"]["repaired"]
    assert repaired.startswith(f"{len(before) - lost} lessons were kept; the damaged file is {home}/journal.sqlite.dam")
    (aside,) = (path for path in home.glob("journal.sqlite.damaged-*") if not path.name.endswith(("-wal", "-shm")))
    assert aside.read_bytes() == damaged
    assert len(digests(home) & before) == len(before) - lost
    assert priory("doctor", home=home).returncode == 0
    assert priory("check", "-", home=home, stdin=MAIL[55].raw).returncode == 0


def test_lessons_on_sound_pages_are_saved_from_a_damaged_file(home: Path, tmp_path: Path) -> None:
    before, data = digests(home), (home / "journal.sqlite").read_bytes()
    n_left = []
    for page in range(len(data) - 5 * PAGE, len(data), PAGE):
        damaged = Path(shutil.copytree(home, tmp_path / f"home{page}"))
        (damaged / "journal.sqlite").write_bytes(data[:page] + bytes(PAGE) + data[page + PAGE :])
        finding = findings(damaged, "--repair").get("journal")
        if finding and finding["repaired"]:
            left = digests(damaged)
            assert left <= before
            assert finding["repaired"].startswith(f"{len(left)} lessons were kept")
            n_left.append(len(left))
    assert any(0 < n < len(before) for n in n_left)


def test_a_journal_in_use_is_not_repaired(home: Path) -> None:
    change(home, "UPDATE lessons SET digest = 'x' WHERE change = 7")
    with Filter.open(home, OPTIONS) as filter_:
        filter_.refresh()
        done = priory("doctor", "--repair", home=home)
    assert done.returncode == 1
    assert done.stderr.decode() == f"priory: {home}/journal.sqlite is in use: stop the daemon, and repair it then.\n"


def test_a_damaged_snapshot_is_built_again(home: Path) -> None:
    with Filter.open(home, OPTIONS) as filter_:
        filter_.rebuild()
    right = (home / "counts").read_bytes()
    data = bytearray(right)
    data[30_000] ^= 1
    (home / "counts").write_bytes(data)
    assert findings(home)["snapshot"]["problem"] == f"{home}/counts is damaged (block 6 is damaged)"
    assert findings(home, "--repair")["snapshot"]["repaired"] == "built from the journal"
    assert (home / "counts").read_bytes() == right


def spoil_config(home: Path) -> None:
    (home / "priory.toml").write_text("[table]\nbits = 'many'\n")


def spoil_tokens(home: Path) -> None:
    issue(home, "check", "program")
    tokens_path(home).write_text("[]")


def spoil_checked(home: Path) -> None:
    (home / "checked").mkdir()
    (home / "checked" / "daemon.19000").write_bytes(b"\xf0chk" + bytes(60))


def spoil_spool(home: Path) -> None:
    spool = Spool(home, SpoolLimits(1 << 20))
    spool.keep(MAIL[52].raw, 0.5)
    (stored,) = spool.folder.iterdir()
    stored.write_bytes(b"other")


def spoil_history(home: Path) -> None:
    History(home).add(1.0, lambda: {("lessons", "learned"): 3}, now=7200.0)
    (home / "history.sqlite").write_bytes(bytes(9000))


def spoil_outbox(home: Path) -> None:
    Outbox(home, "id").keep([OutboxEntry(b"", bytes(32), "ham", b"\0", "", "", "", 1.0)])
    data = (home / "outbox.sqlite").read_bytes()
    (home / "outbox.sqlite").write_bytes(data[:4096] + bytes(len(data) - 4096))


@pytest.mark.parametrize(
    ("part", "spoil", "can_be_repaired"),
    [
        ("configuration", spoil_config, False),
        ("tokens", spoil_tokens, False),
        ("checked mail", spoil_checked, False),
        ("spool", spoil_spool, False),
        ("history", spoil_history, True),
        ("outbox", spoil_outbox, False),
    ],
)
def test_other_damage_is_named(home: Path, part: str, spoil: Callable[[Path], None], can_be_repaired: bool) -> None:
    spoil(home)
    found = findings(home)
    assert set(found) == {part}
    assert found[part]["can_be_repaired"] is can_be_repaired
    after = findings(home, "--repair")[part]["repaired"]
    assert bool(after) is can_be_repaired


def test_a_damaged_subject_costs_no_lesson(home: Path) -> None:
    change(home, "CREATE TABLE IF NOT EXISTS subjects (change INTEGER PRIMARY KEY, subject TEXT NOT NULL)")
    before = digests(home)
    change(home, "INSERT INTO subjects SELECT change, CAST(x'ff' AS TEXT) FROM lessons")
    assert digests(home) == before


def test_of_a_home_with_a_journal_on_a_server_the_home_is_checked(home: Path) -> None:
    store = StoreAddress("postgresql://priory@127.0.0.1:1/none", "mx1")
    (home / "priory.toml").write_text(f'[store]\nurl = "{store.url}"\nnode = "mx1"\n')
    with Filter.open(home, OPTIONS) as filter_:
        remember_identity(home, store, filter_.journal)
    snapshot = Path((home / "counts").replace(home / "shared-counts"))
    done = priory("doctor", home=home)
    assert done.stdout.decode().startswith(f"nothing is wrong in {home}\nnot checked: the journal on {store.name}: ")
    data = bytearray(snapshot.read_bytes())
    data[-100] ^= 1
    snapshot.write_bytes(data)
    assert "shared-counts is damaged" in findings(home)["snapshot"]["problem"]
