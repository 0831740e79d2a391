"""Finds the mail below a folder, or in one file: messages, mboxes, Maildirs and archives, each told by its looks.

Folders are searched in sorted order. Hidden files and folders (names beginning with a dot, such as .DS_Store or the
Maildir++ subfolder .Junk) are left out unless they are named themselves, as are linked folders, pipes and devices.
A file that does not look like mail is passed over, unless it is named itself or lies in a Maildir.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from priory.corpus import address, file, looks, maildir
from priory.corpus.error import CorpusError
from priory.corpus.part import Part, Several
from priory.corpus.raw import opened


def parts(root: str, label: str) -> Iterator[Part]:
    r"""Yield the files below a folder, or the one file, for each to be read when it is its turn.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "inbox.mbox").write_bytes(b"From ann@example.org\nSubject: lunch?\n")
    ...     _ = Path(folder, "win.eml").write_bytes(b"Subject: You won\n")
    ...     [(source.removeprefix(folder), raw) for part in parts(folder, "ham") for source, raw in part.read()]
    [('/inbox.mbox:1', b'Subject: lunch?\n'), ('/win.eml', b'Subject: You won\n')]
    """
    if address.is_address(root):
        several = address.listing(root)
        yield from (in_one(label, root, each, named if several == [root] else found) for each in several)
        return
    if not os.path.isdir(root):  # noqa: PTH112 - paths are plain text here
        yield in_one(label, root, root, named)
        return
    for path, names in mailboxes(root):
        if names is not None:
            yield from (Part(label, root, maildir.message, (path, name)) for name in names)
        else:
            yield in_one(label, root, path, found)


def in_one(label: str, root: str, path: str, reader: Callable[[str], Several]) -> Part:
    """Return the mail of one file, which may be an archive."""
    if looks.is_archive(path):
        return Part(label, root, in_archive, (path,), "archive")
    return Part(label, root, reader, (path,), "file")


def count(root: str) -> int:
    """Count the messages below a folder, or in a file; of a file that is one message, only the head is read."""
    if address.is_address(root):
        raise CorpusError(f"{root} cannot be counted before it is read; copy it here to count it")
    if not os.path.isdir(root):  # noqa: PTH112
        return n_named(root)
    n_messages = 0
    for path, names in mailboxes(root):
        with suppress(FileNotFoundError):
            n_messages += n_found(path) if names is None else len(names)
    return n_messages


def mailboxes(folder: str) -> Iterator[tuple[str, list[str] | None]]:
    """Yield the files below a folder, and the Maildirs, each of these with the names of its messages."""
    if maildir.is_maildir(folder):
        yield folder, maildir.listing(folder)
        return
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in visible:
        path = entry.path.removeprefix("./") if folder == "." else entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from mailboxes(path)
        elif entry.is_file():
            yield path, None


def named(path: str) -> Several:
    """Yield the messages of an mbox or message file that someone named."""
    with opened(path) as stream:
        yield from file.named(stream, path, path)


def found(path: str) -> Several:
    """Yield the messages of an mbox or message file in a folder; one that vanished meanwhile has none."""
    with suppress(FileNotFoundError), opened(path) as stream:
        yield from file.found(stream, path)


def in_archive(path: str) -> Several:
    """Yield the messages of an archive."""
    from priory.corpus import archive  # noqa: PLC0415 - a quick start where there is none

    yield from archive.read(path)


def n_named(path: str) -> int:
    """Count the messages of an archive, mbox or message file that someone named."""
    if looks.is_archive(path):
        return n_in_archive(path)
    with opened(path) as stream:
        return file.n_named(stream, path)


def n_found(path: str) -> int:
    """Count the messages of an archive, mbox or message file in a folder."""
    if looks.is_archive(path):
        return n_in_archive(path)
    with opened(path) as stream:
        return file.n_found(stream)


def n_in_archive(path: str) -> int:
    """Count the messages of an archive."""
    from priory.corpus import archive  # noqa: PLC0415

    return archive.count(path)
