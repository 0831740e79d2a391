"""procmail and maildrop with the recipes: they mark and file mail, and lose none if the filter fails."""

import os
import pwd
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import requirements
from command import PRIORY
from real_daemon import PATIENCE_S, serving

RECIPES = Path(__file__).parents[2] / "recipes"
Deliver = Callable[[bytes], tuple[str, bytes]]


def program(folder: Path, script: str) -> None:
    """Write a program called priory into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "priory").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "priory").chmod(0o755)


@pytest.fixture
def person(home: Path, tmp_path: Path) -> Path:
    """The home of a user with an inbox and a trained filter."""
    for name in ("new", "cur", "tmp"):
        (tmp_path / "person" / "Maildir" / name).mkdir(parents=True)
    shutil.copytree(home, tmp_path / "person" / ".priory", ignore=shutil.ignore_patterns("socket"))
    path = os.environ.get("PYTHONPATH", "")  # the agents pass on no environment
    program(tmp_path / "bin", f'PYTHONPATH={shlex.quote(path)} exec {shlex.quote(PRIORY)} "$@"')
    return tmp_path / "person"


@pytest.fixture
def system_mailbox() -> Iterator[None]:
    """Remove the mailbox that procmail creates beside its target, unless it has got mail."""
    mailbox = Path("/var/mail", pwd.getpwuid(os.geteuid()).pw_name)
    was_there = mailbox.exists()
    yield
    with suppress(FileNotFoundError):
        if not was_there and not mailbox.stat().st_size:
            mailbox.unlink()


@pytest.fixture(params=["procmail", "maildrop"])
def deliver(request: pytest.FixtureRequest, person: Path, system_mailbox: None) -> Deliver:
    """Pass a message to an agent; return the folder and the content of the delivered message."""
    requirements.program(request.param)
    path = f"{person.parent / 'bin'}:/usr/bin:/bin"
    if request.param == "procmail":
        command = ["procmail", f"HOME={person}", f"PATH={path}", str(RECIPES / "procmail" / "procmailrc")]
    else:
        rules = person / ".mailfilter"
        rules.write_text(f'HOME="{person}"\nPATH="{path}"\ninclude "{RECIPES / "maildrop" / "mailfilter"}"\n')
        rules.chmod(0o600)
        command = ["maildrop", str(rules)]

    def deliver(raw: bytes) -> tuple[str, bytes]:
        subprocess.run(command, input=raw, check=True, cwd=person, timeout=PATIENCE_S, capture_output=True)
        (arrived,) = person.glob("**/new/*")
        read = arrived.read_bytes().rstrip(b"\n") + b"\n"  # procmail adds an empty line
        arrived.unlink()
        return arrived.parent.parent.name, read

    return deliver


@pytest.fixture(scope="session")
def ham(inbox: Path) -> bytes:
    return min((inbox / "taught" / "ham").iterdir()).read_bytes()


@pytest.fixture(scope="session")
def spam(inbox: Path) -> bytes:
    return min((inbox / "taught" / "spam").iterdir()).read_bytes()


def test_mail_is_marked_and_filed(deliver: Deliver, ham: bytes, spam: bytes):
    for raw, label, folder in ((ham, b"ham", "Maildir"), (spam, b"spam", ".Junk")):
        where, read = deliver(b"X-Priory-Verdict: ham; spam=0.0001\n" + raw)
        assert where == folder
        assert read.startswith(b"X-Priory-Verdict: %s; spam=0." % label)
        assert read.endswith(raw)
        assert read.count(b"X-Priory-Verdict") == 1


def test_a_running_daemon_answers(deliver: Deliver, person: Path, spam: bytes):
    alone = deliver(spam)
    with serving(person / ".priory") as daemon:
        assert deliver(spam) == alone
        daemon.wait_until(lambda: "request verb=PROCESS" in daemon.log)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(None, id="missing"),
        pytest.param("head -c 100; kill -9 $$", id="killed"),
        pytest.param("echo trouble >&2; exit 75", id="failing"),
    ],
)
def test_mail_arrives_as_it_was_when_the_program_fails(
    deliver: Deliver, person: Path, ham: bytes, spam: bytes, script: str | None
):
    shutil.rmtree(person.parent / "bin")
    if script:
        program(person.parent / "bin", script)
    large = spam + b"and so on\n" * 100_000
    assert [deliver(raw) for raw in (ham, spam, large)] == [("Maildir", raw) for raw in (ham, spam, large)]


def test_mail_arrives_as_it_was_when_the_filter_is_broken(deliver: Deliver, person: Path, spam: bytes):
    (person / ".priory" / "journal.sqlite").write_bytes(b"this is no journal")
    assert deliver(spam) == ("Maildir", spam)
