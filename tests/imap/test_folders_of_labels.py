"""A person files mail in the folders of labels in a mailbox on a real server, and so does Priory."""

from pathlib import Path

import pytest

from five_labels import surest_messages, teach
from imap_mailbox import Mailbox, note

FOLDERS = {"newsletter": "News", "phishing": "Phishing"}


@pytest.fixture
def five(mailbox: Mailbox, tmp_path: Path) -> Mailbox:
    """A mailbox with a folder for each of two labels, and a filter with five."""
    home = tmp_path / "five"
    teach(home)
    for folder in FOLDERS.values():
        mailbox.create(folder)
    return Mailbox(mailbox.server, mailbox.user, home)


def test_what_a_person_files_teaches_the_label_of_the_folder(five: Mailbox):
    five.deliver(note("lunch"))
    five.look(folders=FOLDERS, move=False)
    five.move("lunch", "INBOX", "News")
    five.look(folders=FOLDERS, move=False)
    assert five.learned() == [("newsletter", "imap:News:1")]
    five.move("lunch", "News", "Junk")
    five.look(folders=FOLDERS, move=False)
    assert five.learned() == [("spam", "imap:Junk:1")]
    five.move("lunch", "Junk", "Phishing")
    five.look(folders=FOLDERS, move=False)
    assert five.learned() == [("phishing", "imap:Phishing:1")]
    five.move("lunch", "Phishing", "INBOX")
    five.look(folders=FOLDERS, move=False)
    assert five.labels() == ["ham"]


def test_new_mail_is_moved_where_it_belongs_and_what_is_unwanted_to_junk(five: Mailbox):
    five.look(folders={"newsletter": "News"})
    for raw in surest_messages(five.home).values():
        five.deliver(raw)
    five.look(folders={"newsletter": "News"})
    assert (five.count("News"), five.count("Junk"), five.count("INBOX")) == (1, 2, 2)
    five.look(folders={"newsletter": "News"})
    assert five.learned() == []
    five.move_all("News", "INBOX")
    five.look(folders={"newsletter": "News"})
    assert five.labels() == ["ham"]
    five.look(folders={"newsletter": "News"})
    assert five.count("INBOX") == 3  # it is not moved again
