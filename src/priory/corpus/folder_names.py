"""Folders and their names: the folder of a message, the subfolders of a Maildir, and which folders are for spam."""

import os
import re
from typing import Final

from priory.corpus import maildir

_IN_MAILDIR: Final = re.compile(r"(.*)/(?:cur|new)/[^/]*")
_IN_MBOX: Final = re.compile(r"(.*):\d+")
_JUNK: Final = frozenset(("junk", "spam", "junk e-mail", "junk email", "junk mail", "bulk mail"))
#: Folders of sent and deleted mail, which says nothing about incoming mail.
_ASIDE: Final = frozenset(
    ("trash", "deleted messages", "deleted items", "sent", "sent messages", "sent items", "sent mail", "drafts",
     "outbox", "templates")
)  # fmt: skip


def folder_of(source: str) -> str:
    """Return the folder of a message, given its source: a Maildir, an mbox or a folder of files.

    >>> folder_of("/home/ann/Maildir/.Junk/cur/1700000000.M1P1.mx:2,S")
    '/home/ann/Maildir/.Junk'
    >>> folder_of("inbox.mbox:3"), folder_of("inbox/ham/7.eml"), folder_of("imap:Junk:42")
    ('inbox.mbox', 'inbox/ham', 'imap:Junk')
    """
    if source == "-" or source.startswith("-:"):
        return "standard input"
    if match := _IN_MAILDIR.fullmatch(source) or _IN_MBOX.fullmatch(source):
        return match[1]
    return os.path.dirname(source) or "."  # noqa: PTH120 - sources are plain text


def is_junk(folder: str) -> bool:
    """Tell by its name whether a folder is for spam.

    >>> [is_junk(folder) for folder in ("Maildir/.INBOX.Junk", "spam.mbox", "imap:[Gmail]/Spam", "Maildir")]
    [True, True, True, False]
    """
    return _name(folder) in _JUNK


def lies_in_junk(source: str) -> bool:
    """Tell whether a message lies in a folder for spam, or in an mbox inside one.

    >>> lies_in_junk("mail/spam/january.mbox:3"), lies_in_junk("mail/spam/3.eml"), lies_in_junk("spam/inbox/3.eml")
    (True, True, False)
    """
    folder = folder_of(source)
    return is_junk(folder) or (_IN_MBOX.fullmatch(source) is not None and is_junk(os.path.dirname(folder)))  # noqa: PTH120


def with_subfolders(path: str) -> list[str]:
    """Return a path and, if it is a Maildir, its subfolders except those for sent and deleted mail."""
    if not maildir.is_maildir(path):
        return [path]
    folders = [path]
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        if name not in ("cur", "new", "tmp") and _name(name) not in _ASIDE:
            folders += with_subfolders(f"{path}/{name}") if maildir.is_maildir(f"{path}/{name}") else []
    return folders


def _name(folder: str) -> str:
    return re.split(r"[./:]", folder.lower().removesuffix(".mbox"))[-1]
