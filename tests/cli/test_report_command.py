"""`priory report` learns forwarded mail, and tells the mail server what to do with the report."""

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import priory
from mail_programs import ORIGINAL, PROGRAMS, mutt, thunderbird
from priory.cli.app import app
from priory.config import ConfigError
from priory.config.parse import load_toml, reporters_in
from priory.demo import draw
from priory.features import VERSION
from priory.journal import PERSONAL_BITS, Lesson, open_file, open_file_to_read

ANN = "--sender=ann@mail.example"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "priory.toml").write_text('[report]\nsenders = ["Ann@mail.example", "@home.example"]\n')
    return home


def lessons(home: Path) -> list[Lesson]:
    journal = open_file_to_read(home / "journal.sqlite", VERSION)
    try:
        return list(journal.lessons())
    finally:
        journal.close()


def test_attached_messages_are_learned_for_the_sender(home: Path):
    one, two = (drawn.raw for drawn in draw(2, seed=3))
    done = priory("report", "spam", "--sender", "Ann@Mail.example", home=home, stdin=thunderbird(one, two))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"learned 2 as spam, relabelled 0, already known 0\n"
    assert [(each.label, each.user, each.source) for each in lessons(home)] == [
        ("spam", "ann@mail.example", "report")
    ] * 2
    again = priory("report", "ham", ANN, "--json", home=home, stdin=mutt(two))
    assert json.loads(again.stdout) == {"learned": 0, "relearned": 1, "known": 0}
    assert [each.label for each in lessons(home)] == ["spam", "ham"]


@pytest.mark.slow
def test_the_attached_message_is_the_one_in_the_mailbox(home: Path):
    priory("learn", "spam", "-", "--user", "ann@mail.example", home=home, stdin=ORIGINAL)
    for program in PROGRAMS:
        done = priory("report", "spam", ANN, "--json", home=home, stdin=program(ORIGINAL))
        assert json.loads(done.stdout)["known"] == 1, program


@pytest.mark.parametrize("sender", ["eve@mail.example", "MAILER-DAEMON", "eve@other.example", "@home.example"])
def test_reports_of_strangers_are_dropped_and_not_returned(home: Path, sender: str):
    done = priory("report", "spam", f"--sender={sender}", home=home, stdin=thunderbird(ORIGINAL))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"priory: dropped a report: [report] does not name its sender")
    assert not (home / "journal.sqlite").exists()


def test_reports_without_a_sender_are_dropped_with_the_reason(home: Path):
    for nobody in ([], ["--sender="]):
        done = priory("report", "spam", *nobody, home=home, stdin=thunderbird(ORIGINAL))
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"--sender or SENDER must name the envelope sender" in done.stderr
    assert not (home / "journal.sqlite").exists()


def test_the_sender_is_that_of_the_envelope_alone(home: Path, monkeypatch: pytest.MonkeyPatch):
    raw = b"From: ann@mail.example\nSender: ann@mail.example\nReturn-Path: <ann@mail.example>\n" + thunderbird(ORIGINAL)
    assert b"dropped" in priory("report", "spam", home=home, stdin=raw).stderr
    monkeypatch.setenv("SENDER", "bob@home.example")
    assert b"learned 1" in priory("report", "spam", home=home, stdin=raw).stdout


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", b"no message is attached: forward it as an attachment"),
        (b"Subject: Fwd: win\n\n> From: eve\n> You have won\n", b"no message is attached"),
        (thunderbird(b"PK\3\4 no message"), b"no message is attached"),
        (thunderbird(*[ORIGINAL] * 101), b"more than 100 messages are attached: forward fewer at a time"),
        (thunderbird(ORIGINAL + b"x" * (33 << 20)), b"the report has more than 32 MB"),
    ],
    ids=["nothing", "inline", "no message", "many", "large"],
)
def test_a_faulty_report_is_returned_to_its_sender(home: Path, raw: bytes, said: bytes):
    done = priory("report", "spam", ANN, home=home, stdin=raw)
    assert (done.returncode, done.stdout) == (65, b"")
    assert done.stderr.startswith(b"priory: ")
    assert said in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not (home / "journal.sqlite").exists()


@pytest.mark.slow
def test_a_temporary_error_keeps_the_report(home: Path, tmp_path: Path):
    def refused(*arguments: object, home: Path = home) -> str:
        done = priory("report", *arguments, home=home, stdin=thunderbird(ORIGINAL))
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (75, b"", 1)
        return done.stderr.decode()

    assert "unknown label 'spma'" in refused("spma", ANN)
    assert "no senders may report mail" in refused("spam", ANN, home=tmp_path / "nowhere")
    (home / "journal.sqlite").write_bytes(b"this is no journal")
    assert "is not a Priory journal" in refused("spam", ANN)
    (home / "priory.toml").write_text("[report]\nsender = 1\n")
    assert "did you mean 'senders'?" in refused("spam", ANN)


def test_a_locked_journal_keeps_the_report(home: Path, monkeypatch: pytest.MonkeyPatch):
    assert priory("report", "spam", ANN, home=home, stdin=thunderbird(ORIGINAL)).returncode == 0
    locked = sqlite3.connect(home / "journal.sqlite", isolation_level=None)
    locked.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(open_file, "__defaults__", (0.0, PERSONAL_BITS))  # it would wait for ten seconds
    done = CliRunner().invoke(app, ["report", "ham", ANN, "--home", str(home)], input=mutt(ORIGINAL))
    locked.close()
    assert done.exit_code == 75
    assert "is being written to by another process" in done.stderr
    assert [each.label for each in lessons(home)] == ["spam"]


def test_an_unwritable_journal_keeps_the_report(open_folder: Path, unprivileged):
    (open_folder / "priory.toml").write_text('[report]\nsenders = ["ann@mail.example"]\n')
    open_folder.chmod(0o555)
    with unprivileged():
        done = CliRunner().invoke(app, ["report", "spam", ANN, "--home", str(open_folder)], input=mutt(ORIGINAL))
    assert done.exit_code == 75
    assert "journal.sqlite cannot be created" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("senders = 'ann@mail.example'", "[report] senders must be a list"),
        ("senders = ['ann']", "'ann' is neither an address, such as ann@mail.example, nor a domain"),
        ("senders = ['Ann <ann@mail.example>']", "is neither an address"),
        ("senders = [1]", "1 is neither an address"),
    ],
)
def test_invalid_senders_are_refused(text: str, said: str):
    with pytest.raises(ConfigError) as refused:
        reporters_in(load_toml(f"[report]\n{text}"))
    assert said in str(refused.value)
