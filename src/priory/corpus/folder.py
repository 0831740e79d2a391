"""Finds the mail below a folder, or in one file: messages, mboxes, Maildirs and archives, each told by its looks.

Folders are searched in sorted order. Hidden files and folders (names beginning with a dot, such as .DS_Store or the
Maildir++ subfolder .Junk) are left out unless they are named themselves, as are linked folders, pipes and devices.
A file that does not look like mail is passed over, unless it is named itself or lies in a Maildir.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from priory.corpus import archive, file, maildir


def read(root: Path) -> Iterator[tuple[str, bytes | None]]:
    r"""Yield source and raw bytes of each message below a folder, or in a file.

    A file that vanishes before it is read is left out; one that is passed over has no bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "inbox.mbox").write_bytes(b"From ann@example.org\nSubject: lunch?\n")
    ...     _ = Path(folder, "win.eml").write_bytes(b"Subject: You won\n")
    ...     [(source.removeprefix(folder), raw) for source, raw in read(Path(folder))]
    [('/inbox.mbox:1', b'Subject: lunch?\n'), ('/win.eml', b'Subject: You won\n')]
    """
    if not root.is_dir():
        yield from named_file(root)
        return
    for path in mailboxes(root):
        with suppress(FileNotFoundError):
            yield from contents(path)


def count(root: Path) -> int:
    """Count the messages below a folder, or in a file; of a file that is one message, only the head is read."""
    if not root.is_dir():
        return n_named_file(root)
    n_messages = 0
    for path in mailboxes(root):
        with suppress(FileNotFoundError):
            n_messages += n_contents(path)
    return n_messages


def named_file(path: Path) -> Iterator[tuple[str, bytes | None]]:
    """Yield the messages of an archive, mbox or message file that someone named."""
    if archive.is_archive(path):
        yield from archive.read(path)
    else:
        with path.open("rb") as stream:
            yield from file.named(stream, str(path), str(path))


def n_named_file(path: Path) -> int:
    """Count the messages of an archive, mbox or message file that someone named."""
    if archive.is_archive(path):
        return archive.count(path)
    with path.open("rb") as stream:
        return file.n_named(stream, str(path))


def mailboxes(folder: Path) -> Iterator[Path]:
    """Yield the Maildirs and the files below a folder."""
    if maildir.is_maildir(folder):
        yield folder
        return
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in visible:
        if entry.is_dir(follow_symlinks=False):
            yield from mailboxes(Path(entry))
        elif entry.is_file():
            yield Path(entry)


def contents(path: Path) -> Iterator[tuple[str, bytes | None]]:
    """Yield the messages of one Maildir, archive, mbox or message file in a folder."""
    if path.is_dir():
        yield from ((str(path / source), raw) for source, raw in maildir.read(path))
    elif archive.is_archive(path):
        yield from archive.read(path)
    else:
        with path.open("rb") as stream:
            yield from file.found(stream, str(path))


def n_contents(path: Path) -> int:
    """Count the messages of one Maildir, archive, mbox or message file in a folder."""
    if path.is_dir():
        return maildir.count(path)
    if archive.is_archive(path):
        return archive.count(path)
    with path.open("rb") as stream:
        return file.n_found(stream)
