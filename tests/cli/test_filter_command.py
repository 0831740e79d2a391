"""`priory filter` marks mail, and passes it on whatever goes wrong."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import priory
from priory.cli.app import app
from priory.journal.checked import is_recorded


def test_filter_adds_headers_and_removes_forged_ones(inbox: Path, home: Path):
    raw = next((inbox / "unseen" / "spam").iterdir()).read_bytes()
    forged = b"X-Priory-Verdict: ham; spam=0.0001\n\tfolded\nx-priory-evidence: none\nX-Spam-Flag: NO\n" + raw
    clean, marked = priory("filter", home=home, stdin=raw), priory("filter", home=home, stdin=forged)
    assert clean.stdout == marked.stdout
    assert clean.stdout.endswith(raw)
    head = clean.stdout[: -len(raw)].decode("ascii")
    fields = (r"Verdict: \w+; spam=\d\.\d+\n", r"Log-Odds: .*\n", r"Reason: .*\n( .*\n)*")
    ours = "".join(f"X-Priory-{field}" for field in fields)
    theirs = r"X-Spam-Flag: (?:YES|NO)\nX-Spam-Status: (?:Yes|No), score=\d+\.\d required=5\.0\n"
    assert re.fullmatch(ours + theirs, head)


def test_filter_keeps_line_ends_and_the_envelope(home: Path):
    raw = b"From ann@x.example Mon Jan  6 08:00:00 2025\r\nSubject: hi\r\n\r\nX-Priory-Verdict: in the body\r\n"
    out = priory("filter", home=home, stdin=raw).stdout
    assert out.startswith(b"From ann@x.example Mon Jan  6 08:00:00 2025\r\nX-Priory-Verdict: ")
    assert out.endswith(b"\r\nSubject: hi\r\n\r\nX-Priory-Verdict: in the body\r\n")
    assert b"\n" not in out.replace(b"\r\n", b"")


def test_a_filtered_message_is_the_same_message(home: Path, inbox: Path):
    message = next((inbox / "taught" / "spam").iterdir())
    out = priory("filter", home=home, stdin=message.read_bytes()).stdout
    assert json.loads(priory("learn", "spam", "-", "--json", home=home, stdin=out).stdout)["known"] == 1


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 75)])
def test_filter_passes_mail_unchanged_when_the_store_is_broken(options: tuple[str, ...], status: int, tmp_path: Path):
    (tmp_path / "journal.sqlite").write_bytes(b"this is no journal")
    raw = b"X-Priory-Verdict: forged\nSubject: hi\n\nhello\n"
    result = priory("filter", *options, home=tmp_path, stdin=raw)
    assert (result.stdout, result.returncode) == (raw, status)
    assert b"message passed unchecked" in result.stderr
    assert b"is not a Priory journal" in result.stderr
    assert (tmp_path / "journal.sqlite").read_bytes() == b"this is no journal"


def test_filter_marks_mail_silently_in_a_home_that_it_may_only_read(open_folder: Path, inbox: Path, unprivileged):
    for label in ("ham", "spam"):
        priory("learn", label, inbox / "taught" / label, home=open_folder)
    for path in open_folder.iterdir():
        path.chmod(0o644)
    with unprivileged():
        result = CliRunner().invoke(app, ["filter", "--home", str(open_folder)], input=b"Subject: hi\n\nhello\n")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes.startswith(b"X-Priory-Verdict: ")
    assert not is_recorded(open_folder)


def test_filter_passes_mail_when_the_home_cannot_be_read(open_folder: Path, unprivileged):
    open_folder.chmod(0)
    raw = b"Subject: hi\n\nhello\n"
    with unprivileged():
        result = CliRunner().invoke(app, ["filter", "--home", str(open_folder)], input=raw)
    open_folder.chmod(0o755)
    assert (result.stdout_bytes, result.exit_code) == (raw, 0)
    assert "message passed unchecked" in result.stderr
