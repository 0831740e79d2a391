"""A person moves mail in a mailbox on a real server, and Priory learns from it."""

import pytest

from imap_mailbox import Mailbox, note
from priory.filter.filter import Filter
from real_dovecot import PASSWORD


def test_what_a_person_moves_teaches(mailbox: Mailbox):
    mailbox.deliver(note("lunch"))
    mailbox.look()
    mailbox.look()
    assert mailbox.learned() == []  # to be in the inbox says nothing
    mailbox.move("lunch", "INBOX", "Junk")
    mailbox.look()
    assert mailbox.learned() == [("spam", "imap:Junk:1")]
    mailbox.look()
    mailbox.move("lunch", "Junk", "INBOX")  # it was a mistake: forgotten, and learned the other way
    mailbox.look()
    assert mailbox.learned() == [("ham", "imap:INBOX:2")]
    mailbox.move("lunch", "INBOX", "Junk")
    mailbox.look()
    assert mailbox.learned() == [("spam", "imap:Junk:2")]
    mailbox.move("lunch", "Junk", "Trash")  # thrown away: that says nothing
    mailbox.look()
    assert mailbox.learned() == [("spam", "imap:Junk:2")]
    mailbox.move("lunch", "Trash", "INBOX")  # thought better of it
    mailbox.look()
    assert mailbox.labels() == ["ham"]
    with Filter.open(mailbox.home) as filter_:
        filter_.rebuild()


def test_what_is_copied_and_marked_as_deleted_was_moved(mailbox: Mailbox):
    mailbox.deliver(note("lunch"))
    mailbox.look()
    mailbox.move("lunch", "INBOX", "Junk", by_copy=True)
    mailbox.look()
    assert mailbox.labels() == ["spam"]
    mailbox.copy("lunch", "Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["spam"]  # it is still in Junk
    mailbox.mark_deleted("lunch", "Junk")
    mailbox.look()
    assert mailbox.labels() == ["ham"]


def test_what_is_moved_from_junk_to_another_watched_folder_is_ham(mailbox: Mailbox):
    mailbox.create("Fam&AO0-lia")  # names of folders are in a kind of UTF-7
    mailbox.look(watch=("Família",))
    mailbox.deliver(note("lunch"), "Junk")
    mailbox.look(watch=("Família",))
    mailbox.move("lunch", "Junk", "Fam&AO0-lia")
    mailbox.look(watch=("Família",))
    assert mailbox.learned() == [("ham", "imap:Família:1")]


def test_what_is_in_junk_at_the_first_look_is_taught_only_if_asked(mailbox: Mailbox, capfd: pytest.CaptureFixture[str]):
    for number in range(20):
        mailbox.deliver(note(f"lunch {number}."), "Junk")
    mailbox.look()
    assert mailbox.learned() == []
    assert "first look folder=Junk messages=20 taught=no" in capfd.readouterr().err
    mailbox.move("lunch 7.", "Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["ham"]
    mailbox.look(teach_existing=True)
    assert sorted(mailbox.labels()) == ["ham", *["spam"] * 19]
    mailbox.look(teach_existing=True)
    assert len(mailbox.labels()) == 20


def test_new_spam_is_moved_and_teaches_nothing_until_it_is_moved_back(mailbox: Mailbox, spam: bytes, ham: bytes):
    mailbox.look()
    mailbox.deliver(spam)
    mailbox.deliver(ham)
    mailbox.look()
    assert mailbox.count("Junk") == 1
    assert mailbox.count("INBOX") == 1
    mailbox.look()
    assert mailbox.learned() == []
    mailbox.move_all("Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["ham"]
    mailbox.look()
    assert mailbox.count("INBOX") == 2  # it is not moved again


def test_spam_that_is_moved_back_before_priory_looks_again_is_ham(mailbox: Mailbox, spam: bytes):
    mailbox.look()
    mailbox.deliver(spam)
    mailbox.look_and_be_killed_after_moving()
    mailbox.move_all("Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["ham"]
    assert mailbox.count("INBOX") == 1


def test_spam_stays_where_it_is_unless_moving_is_wanted_and_it_is_new_and_untouched(mailbox: Mailbox, spam: bytes):
    mailbox.deliver(spam)
    mailbox.look()  # it was there before
    mailbox.deliver(b"Comments: 2\r\n" + spam)
    mailbox.look(move=False)
    mailbox.deliver(b"Comments: 3\r\n" + spam, flags="\\Seen")
    mailbox.look()
    mailbox.deliver(b"Comments: 4\r\n" + spam, flags="\\Flagged")
    mailbox.look()
    assert mailbox.flags("INBOX") == ["", "", "\\Seen", "\\Flagged"]
    assert mailbox.count("Junk") == 0


def test_only_the_beginning_of_a_large_message_is_read_and_it_is_known_again(mailbox: Mailbox):
    large = note("pictures") + b"0123456789abcdef\r\n" * 20_000
    mailbox.look(max_bytes=2048)
    mailbox.deliver(large, "Junk")
    mailbox.look(max_bytes=2048)
    mailbox.move("pictures", "Junk", "INBOX")
    mailbox.look(max_bytes=2048)
    assert mailbox.labels() == ["ham"]


def test_a_server_of_long_ago_will_do(plain_mailbox: Mailbox, spam: bytes, ham: bytes):
    mailbox = plain_mailbox
    mailbox.look()
    mailbox.deliver(note("mine"), flags="\\Deleted")
    mailbox.deliver(spam)
    mailbox.deliver(ham)
    mailbox.look()
    assert mailbox.flags("Junk") == [""]
    assert mailbox.flags("INBOX") == ["\\Deleted", "\\Deleted", ""]  # nothing is expunged: not mine, not by Priory
    assert mailbox.learned() == []
    mailbox.move_all("Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["ham"]
    assert mailbox.flags("INBOX") == ["\\Deleted", "\\Deleted", "", ""]


def test_folders_that_are_numbered_anew_teach_nothing(mailbox: Mailbox, capfd: pytest.CaptureFixture[str]):
    for number in range(3):
        mailbox.deliver(note(f"lunch {number}"), "Junk")
        mailbox.deliver(note(f"dinner {number}"))
    mailbox.look()
    mailbox.deliver(note("breakfast"), "Junk")
    mailbox.look()
    assert mailbox.labels() == ["spam"]
    mailbox.number_anew("Junk")
    mailbox.number_anew("INBOX")
    mailbox.look()
    assert capfd.readouterr().err.count("numbered anew") == 2
    assert mailbox.labels() == ["spam"]
    mailbox.move("lunch 1", "Junk", "INBOX")
    mailbox.look()
    assert mailbox.labels() == ["spam", "ham"]


def test_nothing_that_stands_in_a_message_and_no_password_is_in_log_or_state(
    mailbox: Mailbox, capfd: pytest.CaptureFixture[str], spam: bytes
):
    mailbox.look()
    mailbox.deliver(note("secretword"), "Junk")
    mailbox.deliver(spam)
    mailbox.look()
    mailbox.move("secretword", "Junk", "INBOX")
    mailbox.look()
    log = capfd.readouterr().err
    assert "learned label=spam folder=Junk uid=1 outcome=learned\n" in log
    assert "learned label=ham folder=INBOX uid=2 outcome=relearned\n" in log
    assert "moved folder=INBOX uid=1 to=Junk\n" in log
    kept = (mailbox.home / "imap.sqlite").read_bytes()
    for word in ("secretword", "home.example", PASSWORD):
        assert word not in log
        assert word.encode() not in kept
