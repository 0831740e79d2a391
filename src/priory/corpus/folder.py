"""Folders: the mail below a folder, or in one file, and what the name of a folder says.

Folders are searched in sorted order. Hidden files and folders (names beginning with a dot, such as .DS_Store or the
Maildir++ subfolder .Junk) are left out unless the user names them. So are linked folders, pipes and devices. A file
that does not look like mail is passed over, unless the user names it or it lies in a Maildir.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from priory.corpus import mail_file, maildir
from priory.corpus.part import Part, SourcesAndMessages
from priory.corpus.storage import CorpusError, files_at, is_address, open_file

_IN_MAILDIR: Final = re.compile(r"(.*)/(?:cur|new)/[^/]*")
_IN_MBOX: Final = re.compile(r"(.*):\d+")
_JUNK: Final = frozenset(("junk", "spam", "junk e-mail", "junk email", "junk mail", "bulk mail"))
#: Folders of sent and deleted mail, which says nothing about incoming mail.
_ASIDE: Final = frozenset(
    ("trash", "deleted messages", "deleted items", "sent", "sent messages", "sent items", "sent mail", "drafts",
     "outbox", "templates")
)  # fmt: skip


def parts(root: str, label: str) -> Iterator[Part]:
    r"""Yield the files below a folder, or the file itself, as parts that are read later.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "inbox.mbox").write_bytes(b"From ann@example.org\nSubject: lunch?\n")
    ...     _ = Path(folder, "win.eml").write_bytes(b"Subject: You won\n")
    ...     [(source.removeprefix(folder), raw) for part in parts(folder, "ham") for source, raw in part.read()]
    [('/inbox.mbox:1', b'Subject: lunch?\n'), ('/win.eml', b'Subject: You won\n')]
    """
    if is_address(root):
        files = files_at(root)
        yield from (file_part(label, root, file, read_named if files == [root] else read_found) for file in files)
        return
    if not os.path.isdir(root):  # noqa: PTH112 - paths are plain text here
        yield file_part(label, root, root, read_named)
        return
    for path, names in mailboxes(root):
        if names is not None:
            yield from (Part(label, root, maildir.message, (path, name)) for name in names)
        else:
            yield file_part(label, root, path, read_found)


def file_part(label: str, root: str, path: str, reader: Callable[[str], SourcesAndMessages]) -> Part:
    """Return the part of one file, which may be an archive."""
    if mail_file.is_archive(path):
        return Part(label, root, read_archive, (path,), "archive")
    return Part(label, root, reader, (path,), "file")


def count(root: str) -> int:
    """Count the messages below a folder, or in a file. Of a file that is one message, only the head is read."""
    if is_address(root):
        raise CorpusError(f"{root} cannot be counted before it is read; copy it here to count it")
    if not os.path.isdir(root):  # noqa: PTH112
        return _count(root, is_named=True)
    n_messages = 0
    for path, names in mailboxes(root):
        with suppress(FileNotFoundError):
            n_messages += _count(path, is_named=False) if names is None else len(names)
    return n_messages


def mailboxes(folder: str) -> Iterator[tuple[str, list[str] | None]]:
    """Yield the files below a folder with None, and the Maildirs with the names of their messages."""
    if maildir.is_maildir(folder):
        yield folder, maildir.message_names(folder)
        return
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in visible:
        path = entry.path.removeprefix("./") if folder == "." else entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from mailboxes(path)
        elif entry.is_file():
            yield path, None


def read_named(path: str) -> SourcesAndMessages:
    """Yield the messages of an mbox or message file that the user named."""
    with open_file(path) as stream:
        yield from mail_file.read_named(stream, path, path)


def read_found(path: str) -> SourcesAndMessages:
    """Yield the messages of an mbox or message file in a folder; none if it was deleted meanwhile."""
    with suppress(FileNotFoundError), open_file(path) as stream:
        yield from mail_file.read_found(stream, path)


def read_archive(path: str) -> SourcesAndMessages:
    """Yield the messages of an archive."""
    from priory.corpus import archive  # noqa: PLC0415 - tarfile slows down the start

    yield from archive.read(path)


def _count(path: str, *, is_named: bool) -> int:
    """Count the messages of an archive, mbox or message file."""
    if mail_file.is_archive(path):
        from priory.corpus import archive  # noqa: PLC0415

        return archive.count(path)
    with open_file(path) as stream:
        return mail_file.count_named(stream, path) if is_named else mail_file.count_found(stream)


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
