"""`priory imap` records the mail that it judges, and concludes what silence says once it has learned what was moved."""

import pytest

from checked_mail import make_older
from command import priory
from imap_mailbox import Mailbox, note
from priory.filter.filter import Filter
from priory.filter.silence import SilenceStats
from priory.journal.checked import FOLDER, CheckedMessage, read_checked


def recorded(mailbox: Mailbox) -> list[CheckedMessage]:
    folder = mailbox.home / FOLDER
    return [message for path in folder.iterdir() for message in read_checked(path)] if folder.is_dir() else []


def stats(mailbox: Mailbox) -> SilenceStats:
    with Filter.open(mailbox.home) as filter_:
        found = filter_.stats().silence
    assert found is not None
    return found


def test_what_people_moved_while_it_was_away_is_learned_before_anything_is_concluded(
    mailbox: Mailbox, spam: bytes, capfd: pytest.CaptureFixture[str]
):
    mailbox.configure(move=True)
    mailbox.look()
    for subject in ("lunch", "dinner", "tea"):
        mailbox.deliver(note(subject))
    mailbox.deliver(spam)
    mailbox.look()
    assert len(recorded(mailbox)) == 4
    assert mailbox.count("Junk") == 1
    mailbox.move_all("Junk", "INBOX")
    mailbox.move("lunch", "INBOX", "Junk")
    make_older(mailbox.home)
    capfd.readouterr()
    mailbox.look()
    log = capfd.readouterr().err
    assert log.index("]: learned label=spam") < log.index("]: concluded silent=2 told=2 learned=0")
    assert log.index("]: learned label=ham") < log.index("]: concluded")
    assert (stats(mailbox).silent, stats(mailbox).moved) == (2, 2)
    assert sorted(mailbox.labels()) == ["ham", "spam"]


def test_mail_that_stays_for_the_delay_is_counted_without_any_change_in_the_mailbox(
    mailbox: Mailbox, ham: bytes, spam: bytes, unsure: bytes
):
    mailbox.configure(move=True, poll=1)
    with mailbox.watching(move=True, poll=1) as watcher:
        watcher.wait_until(lambda: watcher.n_logged("first look") == 2)
        for raw in (ham, spam, unsure):
            mailbox.deliver(raw)
        watcher.wait_until(lambda: len(recorded(mailbox)) == 3 and mailbox.count("Junk") == 1)
        make_older(mailbox.home)
        watcher.wait_until(lambda: watcher.n_logged("concluded silent=3 told=0 learned=0"))
    assert recorded(mailbox) == []
    assert (stats(mailbox).silent, stats(mailbox).moved) == (3, 0)


def test_mail_is_not_recorded_where_it_only_learns(mailbox: Mailbox, spam: bytes):
    mailbox.configure()
    mailbox.look(move=False)
    mailbox.deliver(spam)
    mailbox.look(move=False)
    assert recorded(mailbox) == []


def test_mail_is_moved_and_learned_where_it_cannot_be_recorded(
    mailbox: Mailbox, spam: bytes, capfd: pytest.CaptureFixture[str]
):
    mailbox.configure(move=True)
    mailbox.look()
    (mailbox.home / FOLDER).symlink_to(mailbox.home / "missing" / "folder")
    mailbox.deliver(spam)
    mailbox.look()
    assert mailbox.count("Junk") == 1
    assert f"error what='cannot record checked mail in {mailbox.home / FOLDER}: " in capfd.readouterr().err


def test_killed_after_it_has_moved_something_it_has_recorded_all(mailbox: Mailbox, spam: bytes):
    mailbox.configure(move=True)
    priory("imap", "--once", home=mailbox.home)
    for number in range(10):
        mailbox.deliver(b"Message-ID: <%d@mail.example>\r\n" % number + spam)
    mailbox.look_and_be_killed_after(1)  # a line about the first that was moved
    assert len({message.identity for message in recorded(mailbox)}) == 10


def test_a_forgotten_lesson_takes_its_place_in_the_tally_with_it(mailbox: Mailbox):
    mailbox.configure(move=True)
    mailbox.look()
    for subject in ("lunch", "dinner"):
        mailbox.deliver(note(subject))
    mailbox.look()
    mailbox.move_all("INBOX", "Junk")
    make_older(mailbox.home)
    mailbox.look()
    assert (stats(mailbox).silent, stats(mailbox).moved) == (0, 2)
    with Filter.open(mailbox.home) as filter_:
        assert filter_.forget(note("lunch")).was == "spam"
    assert (stats(mailbox).silent, stats(mailbox).moved) == (0, 1)
