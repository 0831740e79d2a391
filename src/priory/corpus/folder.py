"""Finds the mail below a folder, or in one file: messages, mboxes, Maildirs and archives.

Folders are searched in sorted order. Hidden files and folders (names beginning with a dot, such as .DS_Store or the
Maildir++ subfolder .Junk) are left out unless the user names them. So are linked folders, pipes and devices. A file
that does not look like mail is passed over, unless the user names it or it lies in a Maildir.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from priory.corpus import mail_file, maildir
from priory.corpus.part import Part, SourcesAndMessages
from priory.corpus.storage import CorpusError, files_at, is_address, open_file


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
