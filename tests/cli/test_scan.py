"""`priory scan` shows what would change in folders, and changes nothing."""

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from command import priory
from priory.cli.options import CommandError
from priory.cli.scan import scan
from priory.filter.filter import Filter
from priory.filter.headers import label_in_headers, mark


@pytest.fixture(scope="session")
def judged(inbox: Path, home: Path) -> dict[str, list[Path]]:
    """Mail that the filter has not learned, by its verdict."""
    found: dict[str, list[Path]] = {"ham": [], "unsure": [], "spam": []}
    with Filter.open(home) as filter_:
        for path in sorted((inbox / "unseen").rglob("*.eml")):
            found[filter_.check(path.read_bytes()).label].append(path)
    return found


@pytest.fixture
def maildir(judged: dict[str, list[Path]], tmp_path: Path) -> Path:
    """A Maildir with one spam in the inbox, one ham in Junk, and sent mail."""
    every = {
        "": [*judged["ham"][1:], judged["spam"][0]],
        ".Junk": [*judged["spam"][1:], judged["ham"][0]],
        ".Sent": [judged["spam"][2]],
        ".Archive": [judged["ham"][3]],
    }
    for folder, paths in every.items():
        for name in ("cur", "new", "tmp"):
            (tmp_path / "Maildir" / folder / name).mkdir(parents=True)
        for number, path in enumerate(paths):
            name = "cur/%d.M1P1.mx:2,S" if number % 2 else "new/%d.M1P1.mx"
            shutil.copy(path, tmp_path / "Maildir" / folder / (name % number))
    return tmp_path / "Maildir"


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Everything below a folder: names, bytes, and times of the last change."""
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns) for path in folder.rglob("*")
    }


@pytest.mark.parametrize("options", [(), ("--json",), ("--jobs", 2), ("--json", "--jobs", 2)])
def test_a_scan_changes_nothing(options: tuple[object, ...], maildir: Path, home: Path, tmp_path: Path):
    copy = shutil.copytree(home, tmp_path / "home")
    before = contents(copy), contents(maildir)
    result = priory("scan", maildir, *options, home=copy)
    assert result.returncode == 0, result.stderr
    assert (contents(copy), contents(maildir)) == before


def test_a_scan_shows_what_would_change_in_each_folder(maildir: Path, judged: dict[str, list[Path]], home: Path):
    n_ham, n_spam = len(judged["ham"]), len(judged["spam"])
    lines = priory("scan", maildir, home=home, columns="160").stdout.decode().splitlines()
    assert [line for line in lines if not line.startswith("    ")] == [
        f"{maildir}  {n_ham}: {n_ham - 1} ham, 1 spam",
        f"  1 of {n_ham} would go to Junk",
        f"{maildir}/.Archive  1: 1 ham",
        "  nothing would change",
        f"{maildir}/.Junk  {n_spam}: 1 ham, {n_spam - 1} spam",
        f"  1 of {n_spam} would not be in Junk: 1 ham",
    ]
    with Filter.open(home) as filter_:
        verdict = filter_.check(judged["spam"][0].read_bytes())
    date, label, probability, sender, reason, *_ = lines[2].split()
    assert (len(date), label, probability) == (len("2025-01-06"), "spam", f"{verdict.probability:.4f}")
    assert "." in sender
    assert reason in {each.feature for each in verdict.evidence if each.term > 0}


def test_a_scan_as_json_has_every_message(maildir: Path, judged: dict[str, list[Path]], home: Path):
    lines = [json.loads(line) for line in priory("scan", maildir, "--json", home=home).stdout.splitlines()]
    assert len(lines) == len(judged["ham"]) + len(judged["spam"]) + 1
    changed = {Path(line["folder"]).name: line["change"] for line in lines if line["change"]}
    assert changed == {"Maildir": "to junk", ".Junk": "out of junk"}
    said = {json.loads(line)["source"]: json.loads(line)["probability"] for line in checked(maildir, home)}
    assert {line["source"]: line["probability"] for line in lines if line["source"] in said} == said


def checked(maildir: Path, home: Path) -> list[bytes]:
    return priory("check", maildir, "--json", home=home).stdout.splitlines()


def test_an_earlier_verdict_in_the_headers_is_compared(judged: dict[str, list[Path]], home: Path, tmp_path: Path):
    message = judged["ham"][0].read_bytes()
    with Filter.open(home) as filter_:
        as_now = mark(message, filter_.check(message))
    for name, raw in {"same": as_now, "other": b"X-Spam-Flag: YES\n" + message, "none": message}.items():
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "box.mbox").write_bytes(b"From ann@home.example\nX-Priory-Verdict: unsure; spam=0.5\n" + message)
    lines = [json.loads(line) for line in priory("scan", tmp_path, "--json", home=home).stdout.splitlines()]
    assert {Path(line["source"]).name: (line["was"], line["change"]) for line in lines} == {
        "same": ("ham", ""),
        "other": ("spam", "otherwise"),
        "none": ("", ""),
        "box.mbox:1": ("unsure", "otherwise"),
    }
    assert b"  1 of 3 would be marked otherwise\n" in priory("scan", tmp_path, home=home).stdout
    (tmp_path / "Junk").mkdir()
    (tmp_path / "same").rename(tmp_path / "Junk" / "same")
    shown = priory("scan", tmp_path / "Junk", "--most", 1, home=home).stdout.decode()
    assert "would not be in Junk: 1 ham\n" in shown
    assert "→" not in shown


def test_long_lists_are_cut(judged: dict[str, list[Path]], home: Path, tmp_path: Path):
    for path in judged["spam"]:
        shutil.copy(path, tmp_path)
    shown = priory("scan", tmp_path, "--most", 2, home=home).stdout.decode()
    assert f"… and {len(judged['spam']) - 2} more; --most lists more" in shown
    assert shown.count("\n") == 5


def test_subjects_are_escaped_for_the_terminal(judged: dict[str, list[Path]], home: Path, tmp_path: Path):
    raw = b"Subject: [red]\x1b[2J[/nothing]\n" + judged["spam"][0].read_bytes()
    (tmp_path / "evil.eml").write_bytes(raw)
    shown = priory("scan", tmp_path, home=home, columns="200").stdout
    assert b"\x1b" not in shown
    assert b"[red]" in shown


def test_a_scan_creates_no_home_and_no_journal(maildir: Path, tmp_path: Path):
    for home in (tmp_path / "typo", tmp_path / "empty"):
        if home.name == "empty":
            home.mkdir()
        result = priory("scan", maildir, home=home)
        assert result.returncode == 1
        assert result.stderr.count(b"\n") == 1
    assert not (tmp_path / "typo").exists()
    assert list((tmp_path / "empty").iterdir()) == []
    assert b"nothing has been learned yet in" in result.stderr


def test_a_home_with_too_few_lessons_is_reported(maildir: Path, judged: dict[str, list[Path]], tmp_path: Path):
    priory("learn", "ham", *judged["ham"], home=tmp_path / "home")
    result = priory("scan", maildir, home=tmp_path / "home")
    assert result.returncode == 1
    assert result.stderr.startswith(b"priory: no spam has been learned yet in ")


@pytest.mark.parametrize("closed", [".", "journal.sqlite"])
def test_a_home_that_cannot_be_read_is_a_clear_error(
    closed: str, home: Path, open_folder: Path, unprivileged: Callable[[], AbstractContextManager[None]]
):
    copy = Path(shutil.copytree(home, open_folder / "home"))
    message = open_folder / "hello.eml"
    message.write_bytes(b"Subject: hello\n\nhello")
    (copy / closed).chmod(0)
    with (
        unprivileged(),
        pytest.raises(CommandError, match=r"home/(priory\.toml|journal\.sqlite).*Permission denied") as told,
    ):
        scan([str(message)], home=copy)
    (copy / closed).chmod(0o700)
    assert "\n" not in str(told.value)


def test_files_that_are_mboxes_of_one_message_are_shown_as_their_folder(
    judged: dict[str, list[Path]], home: Path, tmp_path: Path
):
    for folder, names in {"spam": "abc", "box": "a"}.items():
        (tmp_path / folder).mkdir()
        for name in names:
            raw = b"From ann@home.example\n" + judged["spam"][0].read_bytes()
            (tmp_path / folder / name).write_bytes(raw)
    shown = priory("scan", tmp_path, "--most", 0, home=home).stdout.decode()
    assert shown == (
        f"{tmp_path}/box/a  1: 1 spam\n  1 of 1 would go to Junk\n    … and 1 more; --most lists more\n"
        f"{tmp_path}/spam  3: 3 spam\n  nothing would change\n"
    )


def test_the_first_mark_of_a_message_counts_and_only_in_its_own_headers():
    assert label_in_headers(b"X-Spam-Flag: yes\r\nX-Spam-Flag: NO\r\n\r\n") == "spam"
    assert label_in_headers(b"From ann@x\nx-priory-verdict: news; spam=0.1\nX-Spam-Flag: YES\n\n") == "news"
    assert label_in_headers(b"X-Priory-Verdict:\n\nX-Spam-Flag: YES\n") == ""
    assert label_in_headers(b"") == ""
