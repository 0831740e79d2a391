"""Commands read folders on another server like files, and change nothing there."""

import json
from pathlib import Path

import pytest

from command import priory
from imap_mailbox import Mailbox, note


@pytest.fixture
def filled(mailbox: Mailbox, spam: bytes, ham: bytes) -> Mailbox:
    """One spam among the inbox, one ham in Junk."""
    for number, (folder, raw) in enumerate([("INBOX", spam), ("INBOX", ham), ("Junk", spam), ("Junk", ham)]):
        mailbox.deliver(b"Comments: %d\r\n" % number + raw, folder, "\\Seen" if number % 2 else "")
    mailbox.configure()
    return mailbox


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_scan_of_folders_on_a_server_changes_nothing_there_or_here(filled: Mailbox, jobs: int):
    before = contents(filled.home)
    lines = priory("scan", "imap:", "--json", "--jobs", jobs, home=filled.home).stdout.splitlines()
    told = [json.loads(line) for line in lines]
    assert [(line["source"], line["change"]) for line in told] == [
        ("imap:INBOX:1", "to junk"),
        ("imap:INBOX:2", ""),
        ("imap:Junk:1", ""),
        ("imap:Junk:2", "out of junk"),
    ]
    assert filled.flags("INBOX") == filled.flags("Junk") == ["", "\\Seen"]
    assert contents(filled.home) == before


def test_the_folder_that_a_server_calls_junk_is_for_spam(filled: Mailbox):
    filled.configure(junk="Unwanted")
    filled.create("Unwanted")
    filled.move_all("Junk", "Unwanted")
    shown = priory("scan", "imap:Unwanted", home=filled.home).stdout.decode()
    assert "imap:Unwanted  2: 1 ham, 1 spam\n  1 of 2 would not be in Junk: 1 ham\n" in shown


def test_folders_on_a_server_can_be_learned_and_checked(filled: Mailbox):
    filled.deliver(note("lunch"), "Trash")
    assert priory("learn", "ham", "imap:Trash", home=filled.home).returncode == 0
    assert filled.learned() == [("ham", "imap:Trash:1")]
    checked = priory("check", "imap:INBOX", "imap:Junk", home=filled.home).stdout.decode().splitlines()
    assert [line.split()[-1] for line in checked] == ["imap:INBOX:1", "imap:INBOX:2", "imap:Junk:1", "imap:Junk:2"]


def test_one_message_on_a_server_is_named_as_check_names_it(filled: Mailbox):
    assert priory("check", "imap:Junk:2", home=filled.home).stdout.split()[-1] == b"imap:Junk:2"
    assert json.loads(priory("explain", "imap:Junk:2", "--json", home=filled.home).stdout)["label"] == "ham"
    assert priory("learn", "ham", "imap:Junk:2", home=filled.home).returncode == 0
    assert filled.learned() == [("ham", "imap:Junk:2")]
    assert priory("forget", "imap:Junk", home=filled.home).stdout == b"forgot 1, never learned 1\n"
    assert filled.learned() == []
    assert priory("check", "imap:Junk:9", home=filled.home).stderr == b"priory: 'Junk' has no message 9\n"


def test_all_folders_at_once_are_not_learned_as_junk_is_among_them(filled: Mailbox):
    result = priory("learn", "ham", "imap:", home=filled.home)
    assert result.returncode == 1
    assert "imap: alone includes Junk; name the folders to learn" in result.stderr.decode()
    assert filled.learned() == []


@pytest.mark.parametrize("command", [("scan",), ("check",), ("learn", "ham"), ("forget",), ("explain",)])
def test_a_folder_that_is_not_there_is_one_line(command: tuple[str, ...], filled: Mailbox):
    result = priory(*command, "imap:Rubbish", home=filled.home)
    assert result.returncode == 1
    assert result.stderr.decode() == "priory: 127.0.0.1 has no folder 'Rubbish'. The folders are INBOX, Junk, Trash\n"
