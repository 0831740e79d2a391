"""Which folder is which, by what a server lists."""

import pytest

from priory.imap.errors import MailboxError
from priory.imap.folders import found
from priory.imap.options import Account

ACCOUNT = Account("mail.example", "ann")


def listed(*names: str, **special: bytes) -> list[tuple[tuple[bytes, ...], bytes, str]]:
    return [((special[name],) if name in special else (), b".", name) for name in names]


@pytest.mark.parametrize(
    ("folders", "junk"),
    [
        (listed("INBOX", "Junk", "Unwanted", Unwanted=b"\\Junk"), "Unwanted"),
        (listed("INBOX", "Spam", "Junk"), "Junk"),
        (listed("INBOX", "INBOX.spam"), "INBOX.spam"),
        (listed("INBOX", "Lists.junk-dealers", "SPAM"), "SPAM"),
    ],
)
def test_junk_is_what_the_server_marks_or_else_what_is_called_so(folders, junk: str):
    assert found(ACCOUNT, folders).junk == junk


def test_without_junk_the_folders_that_there_are_are_named():
    with pytest.raises(MailboxError) as told:
        found(ACCOUNT, listed("INBOX", "Trash", "Ha\x1bm"))
    assert str(told.value) == (
        "mail.example marks no folder as Junk, and none is called Junk or Spam: name it in junk, or make one. "
        "There are Ha·m, INBOX, Trash"
    )


def test_a_folder_that_only_holds_others_cannot_be_watched():
    with pytest.raises(MailboxError, match="has no folder 'Lists'"):
        found(Account("mail.example", "ann", watch=("Lists",)), listed("INBOX", "Junk", "Lists", Lists=b"\\Noselect"))


def test_junk_is_not_watched_twice_and_trash_not_at_all():
    with pytest.raises(MailboxError, match="'Junk' is Junk: inbox, watch and folders must name others"):
        found(Account("mail.example", "ann", watch=("Junk",)), listed("INBOX", "Junk"))
    with pytest.raises(MailboxError, match="'Bin' is where mail is thrown away"):
        found(Account("mail.example", "ann", watch=("Bin",)), listed("INBOX", "Junk", "Bin", Bin=b"\\Trash"))
