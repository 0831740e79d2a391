"""Unsure mail goes to a folder of its own in a mailbox on a real server, and a person teaches by sorting it."""

from pathlib import Path

import pytest

from command import priory
from five_labels import mail, teach
from imap_mailbox import Mailbox, note
from priory.config import load
from priory.decision import UNSURE
from priory.filter.filter import Filter


def with_folder(mailbox: Mailbox) -> Mailbox:
    mailbox.create("Unsure")
    mailbox.look(unsure="Unsure")
    return mailbox


@pytest.fixture
def mailbox(mailbox: Mailbox) -> Mailbox:
    """A mailbox with a folder for unsure mail, at which Priory has looked."""
    return with_folder(mailbox)


def counts(mailbox: Mailbox) -> dict[str, int]:
    return {folder: n for folder in ("INBOX", "Unsure", "Junk", "Trash") if (n := mailbox.count(folder))}


def test_new_unsure_mail_is_moved_and_teaches_nothing_while_it_lies_there(
    mailbox: Mailbox, unsure: bytes, spam: bytes, ham: bytes
):
    for raw in (unsure, spam, ham):
        mailbox.deliver(raw)
    mailbox.deliver(b"Comments: 1\r\n" + unsure, flags="\\Seen")  # a person has opened it
    for _ in range(3):
        mailbox.look(unsure="Unsure")
        assert counts(mailbox) == {"INBOX": 2, "Unsure": 1, "Junk": 1}
    mailbox.move_all("Unsure", "Trash")
    mailbox.look(unsure="Unsure", teach_existing=True)
    assert mailbox.learned() == []


def test_unsure_mail_is_taught_by_moving_it_to_junk_or_back_and_the_last_move_counts(mailbox: Mailbox, unsure: bytes):
    mailbox.deliver(unsure)
    mailbox.look(unsure="Unsure")
    mailbox.move_all("Unsure", "Junk")
    mailbox.look(unsure="Unsure")
    assert mailbox.learned() == [("spam", "imap:Junk:1")]
    mailbox.move_all("Junk", "Unsure")  # the person is unsure, too: the lesson stays
    mailbox.look(unsure="Unsure")
    assert mailbox.learned() == [("spam", "imap:Junk:1")]
    mailbox.move_all("Unsure", "INBOX")
    mailbox.look(unsure="Unsure")
    assert mailbox.learned() == [("ham", "imap:INBOX:2")]
    mailbox.look(unsure="Unsure")
    assert counts(mailbox) == {"INBOX": 1}  # it is not moved again
    with Filter.open(mailbox.home) as filter_:
        filter_.rebuild()


def test_unsure_mail_that_is_moved_to_another_watched_folder_is_ham(mailbox: Mailbox, unsure: bytes):
    mailbox.create("Family")
    mailbox.deliver(unsure)
    mailbox.look(unsure="Unsure", watch=("Family",))
    mailbox.move_all("Unsure", "Family")
    mailbox.look(unsure="Unsure", watch=("Family",))
    assert mailbox.learned() == [("ham", "imap:Family:1")]


@pytest.mark.parametrize(("target", "label"), [("INBOX", "ham"), ("Junk", "spam")])
def test_a_person_may_be_quicker_than_the_next_look(mailbox: Mailbox, unsure: bytes, target: str, label: str):
    mailbox.deliver(unsure)
    mailbox.look_and_be_killed_after_moving(unsure="Unsure")
    mailbox.move_all("Unsure", target)
    mailbox.look(unsure="Unsure")
    assert mailbox.labels() == [label]
    assert counts(mailbox) == {target: 1}


def test_a_server_of_long_ago_will_do_for_unsure_mail(plain_mailbox: Mailbox, unsure: bytes):
    mailbox = with_folder(plain_mailbox)
    mailbox.deliver(unsure)
    mailbox.look(unsure="Unsure")
    assert counts(mailbox) == {"Unsure": 1}
    mailbox.move_all("Unsure", "Junk")
    mailbox.look(unsure="Unsure")
    assert mailbox.labels() == ["spam"]


def test_an_unsure_folder_that_is_numbered_anew_teaches_nothing_until_mail_is_taken_out(
    mailbox: Mailbox, unsure: bytes
):
    mailbox.deliver(unsure)
    mailbox.deliver(note("lunch"), "Unsure")  # by a script of the server, or by a person
    mailbox.look(unsure="Unsure")
    mailbox.number_anew("Unsure")
    mailbox.look(unsure="Unsure")
    assert mailbox.learned() == []
    mailbox.move_all("Unsure", "INBOX")
    mailbox.look(unsure="Unsure")
    assert mailbox.labels() == ["ham", "ham"]


def test_mail_that_others_put_there_teaches_when_it_is_taken_out_even_if_priory_moves_nothing(mailbox: Mailbox):
    mailbox.deliver(note("lunch"), "Unsure")
    mailbox.look(unsure="Unsure", move=False)
    assert mailbox.learned() == []
    mailbox.move("lunch", "Unsure", "Junk")
    mailbox.look(unsure="Unsure", move=False)
    assert mailbox.labels() == ["spam"]


def test_without_the_setting_or_without_lessons_unsure_mail_stays_in_the_inbox(
    mailbox: Mailbox, unsure: bytes, tmp_path: Path
):
    mailbox.deliver(unsure)
    mailbox.look()
    assert counts(mailbox) == {"INBOX": 1}
    untaught = Mailbox(mailbox.server, mailbox.user, tmp_path / "untaught")
    untaught.home.mkdir()
    untaught.look(unsure="Unsure")
    untaught.deliver(b"Comments: 1\r\n" + unsure)
    untaught.look(unsure="Unsure")
    assert counts(mailbox) == {"INBOX": 2}


def test_mail_of_which_a_filter_with_five_labels_is_unsure_has_a_folder_too(mailbox: Mailbox, tmp_path: Path):
    five = Mailbox(mailbox.server, mailbox.user, tmp_path / "five")
    teach(five.home)
    with Filter.open(five.home, load(five.home / "priory.toml")) as filter_:
        unsure = next(raw for raw, _ in mail()[600:] if filter_.check(raw).label == UNSURE)
    settings = {"unsure": "Unsure", "folders": {"newsletter": "News"}}
    five.create("News")
    five.look(**settings)
    five.deliver(unsure)
    five.look(**settings)
    assert (five.count("Unsure"), five.learned()) == (1, [])
    five.move_all("Unsure", "News")
    five.look(**settings)
    assert five.learned() == [("newsletter", "imap:News:1")]


def test_a_scan_of_all_folders_includes_unsure_mail(mailbox: Mailbox, unsure: bytes):
    mailbox.configure(unsure="Unsure")
    mailbox.deliver(unsure, "Unsure")
    shown = priory("scan", "imap:", home=mailbox.home).stdout.decode()
    assert shown == "imap:Unsure  1: 1 unsure\n  nothing would change\n"
