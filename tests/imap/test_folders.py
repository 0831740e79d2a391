"""The folders of a mailbox are found in the server's list."""

import pytest

from priory.imap.account import Account, MailboxError
from priory.imap.folders import find_folders

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
    assert find_folders(ACCOUNT, folders).junk == junk


def test_without_junk_the_folders_that_there_are_are_named():
    with pytest.raises(MailboxError) as told:
        find_folders(ACCOUNT, listed("INBOX", "Trash", "Ha\x1bm"))
    assert str(told.value) == (
        "mail.example marks no folder as Junk, and none is called Junk or Spam: name it in junk, or create one. "
        "The folders are Ha·m, INBOX, Trash"
    )


def test_a_folder_that_only_holds_others_cannot_be_watched():
    with pytest.raises(MailboxError, match="has no folder 'Lists'"):
        find_folders(
            Account("mail.example", "ann", watch=("Lists",)), listed("INBOX", "Junk", "Lists", Lists=b"\\Noselect")
        )


def test_an_unsure_folder_has_to_be_there():
    account = Account("mail.example", "ann", unsure="Unsure")
    assert find_folders(account, listed("INBOX", "Junk", "Unsure")).unsure == "Unsure"
    with pytest.raises(MailboxError, match=r"has no folder 'Unsure'\. The folders are INBOX, Junk"):
        find_folders(account, listed("INBOX", "Junk"))


def test_junk_is_not_watched_twice_and_trash_not_at_all():
    for settings in ({"watch": ("Junk",)}, {"unsure": "Junk"}):
        with pytest.raises(MailboxError, match="must name different folders; 'Junk' is Junk"):
            find_folders(Account("mail.example", "ann", **settings), listed("INBOX", "Junk"))
    with pytest.raises(MailboxError, match="'Bin' is the trash"):
        find_folders(Account("mail.example", "ann", watch=("Bin",)), listed("INBOX", "Junk", "Bin", Bin=b"\\Trash"))
