"""Listing lessons and forgetting a selection, for people and for programs."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command import priory
from priory.filter.filter import Filter
from priory.filter.prepare import stored_subject
from priory.journal import Selection
from priory.message import parse

pytestmark = pytest.mark.slow


@pytest.fixture
def taught(inbox: Path, tmp_path: Path) -> Path:
    """The home of a filter with lessons of Ann and lessons without a user."""
    home = tmp_path / "home"
    for i, label in enumerate(("ham", "spam")):
        some = sorted((inbox / "taught" / label).iterdir())[:30]
        assert priory("learn", label, *some, *(["--user", "ann"] * i), home=home).returncode == 0
    return home


def listed(home: Path, *arguments: str) -> list[dict[str, object]]:
    done = priory("lessons", "--json", *arguments, home=home)
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_table_fits_the_terminal_and_names_the_next_page(taught: Path):
    for columns in (80, 120):
        shown = priory("lessons", "--most", 7, home=taught, columns=str(columns)).stdout.decode().splitlines()
        assert shown[0].split() == ["local", "time", "label", "before", "digest", "by", "sender", "source"]
        assert all(len(line) <= columns for line in shown[:8])
        assert all(line.rstrip().endswith(".eml") and " spam " in line and " ann " in line for line in shown[1:8])
        assert shown[8] == f"7 of 60 lessons in {taught}"
    assert shown[9].startswith("next page: the same command with --after ")
    last = priory("lessons", "--most", 60, "--after", shown[9].split()[-1], home=taught).stdout.decode()
    assert f"\n53 of 60 lessons in {taught}\n" in last
    assert "the next" not in last


def test_a_program_gets_all_lessons_or_those_that_are_selected(taught: Path, inbox: Path):
    every = listed(taught)
    assert len(every) == 60
    assert [lesson["time"] for lesson in every] == sorted((lesson["time"] for lesson in every), reverse=True)
    assert set(every[0]) == {
        "time", "label", "user", "automatic", "source", "sender", "subject", "digest", "certainty", "place"
    }  # fmt: skip
    spam = [lesson for lesson in every if lesson["label"] == "spam"]
    assert listed(taught, "--label", "spam") == listed(taught, "--user", "ann") == spam
    assert listed(taught, "--source", f"{inbox}/taught/spam/") == listed(taught, "--people", "--label", "spam") == spam
    assert listed(taught, "--user", "", "--most", "3") == [lesson for lesson in every if not lesson["user"]][:3]
    assert listed(taught, "--after", every[9]["place"]) == every[10:]
    assert listed(taught, "--digest", every[5]["digest"][:9].upper()) == [every[5]]
    domain = every[0]["sender"]
    assert listed(taught, "--sender", domain) == [lesson for lesson in every if lesson["sender"] == domain]
    assert listed(taught, "--auto") == []
    assert priory("lessons", "--auto", home=taught).stdout.decode() == f"0 of 0 lessons selected in {taught}\n"


def test_lessons_are_selected_by_how_probable_they_were(taught: Path):
    every = listed(taught)
    unlikely = [lesson for lesson in every if lesson["certainty"] is not None and lesson["certainty"] < 0.6]
    assert 0 < len(unlikely) < len([lesson for lesson in every if lesson["certainty"] is not None])
    assert listed(taught, "--certainty-below", "0.6") == unlikely
    likely = listed(taught, "--certainty-above", "0.6", "--user", "ann")
    assert likely == [lesson for lesson in every if lesson["user"] and (lesson["certainty"] or 0) > 0.6]
    done = priory("forget", "--certainty-below", "0.6", "--yes", home=taught)
    assert done.stdout.decode() == f"forgot {len(unlikely)}\n"
    assert len(listed(taught)) == 60 - len(unlikely)


def test_times_are_local_unless_they_have_an_offset(taught: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "XYZ-05:00")  # five hours ahead of Greenwich
    first = datetime.fromisoformat(str(listed(taught)[-1]["time"]))
    local = (first + timedelta(hours=5)).replace(tzinfo=None)
    assert f"{local:%Y-%m-%d %H:%M}" in priory("lessons", "--most", 60, home=taught).stdout.decode()
    for moment in (local, first, first.astimezone(UTC)):
        assert len(listed(taught, "--since", moment.isoformat())) == 60
        assert listed(taught, "--until", moment.isoformat()) == []
    today, tomorrow = f"{local:%Y-%m-%d}", f"{local + timedelta(days=1):%Y-%m-%d}"
    assert len(listed(taught, "--since", today)) == 60
    assert listed(taught, "--until", today) == listed(taught, "--since", tomorrow) == []


@pytest.mark.parametrize("command", ["lessons", "forget"])
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--certainty-below", "1.5"], "a certainty is a probability, from 0 to 1"),
        (
            ["--since", "yesterday"],
            "priory: --since yesterday is not a time: write 2026-11-01 or 2026-11-01T14:30, which are",
        ),
        (["--until", "2026-02-30"], "priory: --until 2026-02-30 is not a time"),
        (["--until", "0001-01-01"], "priory: --until 0001-01-01 is not a time"),
        (["--since", "2026-11-02", "--until", "2026-11-01"], "since must be earlier than until"),
        (["--digest", "xyz"], "'xyz' is not the beginning of a digest"),
        (["--label", "sapm"], "unknown label 'sapm'; this filter knows ham, spam"),
    ],
)
def test_invalid_selections_are_refused(taught: Path, command: str, wrong: list[str], said: str):
    refused = priory(command, *wrong, home=taught)
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert said in refused.stderr.decode()


def test_a_page_continues_only_where_one_ended(taught: Path):
    refused = priory("lessons", "--after", "yesterday", home=taught)
    assert refused.returncode == 1
    assert refused.stderr == b"priory: 'yesterday' is not a place in the list: take it from the page before\n"


def test_forget_counts_a_selection_and_forgets_it_with_yes(taught: Path):
    asked = priory("forget", "--user", "ann", home=taught)
    assert asked.returncode == 1
    assert asked.stdout == b"30 lessons selected, none forgotten: --yes forgets them, priory lessons shows them\n"
    assert len(listed(taught)) == 60
    assert json.loads(priory("forget", "--user", "ann", "--json", home=taught).stdout) == {
        "selected": 30,
        "forgotten": 0,
    }
    digest = listed(taught)[0]["digest"]
    one = priory("forget", "--digest", digest[:8], home=taught)
    assert one.stdout == b"1 lesson selected, not forgotten: --yes forgets it, priory lessons shows it\n"
    done = priory("forget", "--user", "ann", "--yes", home=taught)
    assert (done.stdout, done.stderr, done.returncode) == (b"forgot 30\n", b"", 0)
    assert [lesson["label"] for lesson in listed(taught)] == ["ham"] * 30
    again = priory("forget", "--user", "ann", "--yes", home=taught)
    assert (again.stdout, again.returncode) == (b"forgot 0\n", 1)


def test_forget_takes_messages_or_a_selection_and_never_everything(taught: Path, inbox: Path):
    one = next((inbox / "taught" / "spam").iterdir())
    for wrong, said in (
        (("--auto", one), b"forget takes messages or options that select lessons"),
        (("--yes",), b"needs a message, a digest, or options that select lessons"),
        (("--yes", "--source", "", "--digest", ""), b"needs a message, a digest, or options that select lessons"),
    ):
        refused = priory("forget", *wrong, home=taught)
        assert (refused.returncode, refused.stdout, said in refused.stderr) == (1, b"", True)
    assert len(listed(taught)) == 60


def test_undecodable_text_and_large_numbers_match_nothing(taught: Path):
    for nothing in (("--source", b"\xff"), ("--user", b"\xff"), ("--sender", b"\xff")):
        option, value = nothing
        assert listed(taught, option, value.decode(errors="surrogateescape")) == []
    assert len(listed(taught, "--most", "9" * 30)) == 60


def test_an_account_without_write_access_changes_nothing(taught: Path):
    before = {path.name: path.read_bytes() for path in taught.iterdir()}
    priory("lessons", "--label", "spam", home=taught)
    priory("forget", "--label", "spam", home=taught)
    assert {path.name: path.read_bytes() for path in taught.iterdir()} == before


def test_the_command_and_the_library_select_the_same(taught: Path):
    with Filter.open(taught) as filter_:
        page = filter_.lessons.page(Selection(label="ham", since=time.time() - 3600), most=1_000)
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert listed(taught, "--label", "ham", "--since", since) == [lesson.as_dict() for lesson in page.lessons]


LUNCH = b"From: Ann <ann@mail.example>\nSubject: Lunch on Friday?\n\nShall we have lunch?"
PILLS = b"From: Eve <eve@shop.example>\nSubject: Pills\x1b[2J for you\n\nBuy pills now!"


@pytest.fixture
def with_subjects(tmp_path: Path) -> Path:
    """A home whose lessons have subjects."""
    home = tmp_path / "with-subjects"
    home.mkdir()
    (home / "priory.toml").write_text("[journal]\nsubjects = true\n")
    assert priory("learn", "ham", "-", home=home, stdin=LUNCH).returncode == 0
    assert priory("learn", "spam", "-", home=home, stdin=PILLS).returncode == 0
    return home


def test_subjects_have_a_column_if_the_journal_stores_them(with_subjects: Path):
    head, pills, lunch = priory("lessons", home=with_subjects).stdout.decode().splitlines()[:3]
    assert head.split()[-3:] == ["sender", "subject", "source"]
    assert "  Pills·[2J for you  " in pills
    assert "  Lunch on Friday?  " in lunch
    assert [lesson["subject"] for lesson in listed(with_subjects)] == ["Pills·[2J for you", "Lunch on Friday?"]
    assert [lesson["subject"] for lesson in listed(with_subjects, "--subject", "lunch")] == ["Lunch on Friday?"]


def test_worker_processes_send_subjects(with_subjects: Path, inbox: Path):
    folder = inbox / "taught" / "ham"
    assert priory("learn", "--jobs", 2, "ham", folder, home=with_subjects).returncode == 0
    taught = listed(with_subjects, "--source", str(folder))
    assert taught
    with Filter.open(with_subjects) as filter_:
        for lesson in taught[:20]:
            message = parse(Path(str(lesson["source"])).read_bytes())
            assert lesson["subject"] == stored_subject(message)
        assert filter_.journal.subjects.n() > len(taught) // 2


def test_subjects_are_deleted_with_yes_and_the_lessons_stay(with_subjects: Path):
    def forget(*arguments: str) -> tuple[int, str]:
        done = priory("forget", "--subjects", *arguments, home=with_subjects)
        return done.returncode, (done.stdout + done.stderr).decode()

    (with_subjects / "priory.toml").write_text("[journal]\nsubjects = false\n")
    warning = "2 subjects of messages: delete them with priory forget --subjects --yes\n"
    assert priory("config", "--check", home=with_subjects).stdout.decode().endswith(warning)
    assert forget() == (0, "subjects stored: 2, deleted: none; --yes deletes all, and no lesson\n")
    assert forget("--json") == (0, '{"subjects": 2, "deleted": 0}\n')
    assert forget("--yes") == (0, "deleted 2 subjects\n")
    assert forget("--yes", "--json") == (0, '{"subjects": 0, "deleted": 0}\n')
    assert [lesson["subject"] for lesson in listed(with_subjects)] == ["", ""]
    assert b"Lunch on Friday" not in (with_subjects / "journal.sqlite").read_bytes()
    assert "warning" not in priory("config", "--check", home=with_subjects).stdout.decode()


def test_subjects_are_deleted_all_at_once_or_not_at_all(with_subjects: Path):
    for wrong in (["--label", "ham"], ["mistaken.eml"]):
        done = priory("forget", "--subjects", "--yes", *wrong, home=with_subjects)
        assert (done.returncode, done.stdout) == (1, b"")
    assert len(listed(with_subjects, "--subject", "i")) == 2
