"""Reads a mail file, message or mbox, after a look at how it begins: one that was found may turn out to be no mail.

A file is named if someone pointed at it, and found if it lies in a folder or an archive they pointed at.
"""

from collections.abc import Iterator
from typing import IO

from priory.corpus import looks, mbox
from priory.corpus.raw import FIRST_STEP


def found(stream: IO[bytes], source: str) -> Iterator[tuple[str, bytes | None]]:
    r"""Yield source and raw bytes of each message in a file; one that does not look like mail has no bytes.

    >>> import io
    >>> list(found(io.BytesIO(b"Subject: lunch?\n"), "1.eml"))
    [('1.eml', b'Subject: lunch?\n')]
    >>> list(found(io.BytesIO(b"Buy milk\n"), "notes.txt"))
    [('notes.txt', None)]
    """
    head = stream.read(FIRST_STEP)
    if looks.is_mail(head):
        yield from mbox.read(stream, source, head)
    else:
        yield source, None


def n_found(stream: IO[bytes]) -> int:
    """Count the messages `found` would yield."""
    head = stream.read(looks.HEAD)
    return mbox.count(stream, head) if looks.is_mail(head) else 0


def named(stream: IO[bytes], source: str, name: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield source and raw bytes of each message in a file, or raise if it is unmistakably no mail.

    One that is empty has no bytes.
    """
    head = stream.read(FIRST_STEP)
    looks.refuse_foreign(head, name)
    if head:
        yield from mbox.read(stream, source, head)
    else:
        yield source, None


def n_named(stream: IO[bytes], name: str) -> int:
    """Count the messages `named` would yield, or raise like it."""
    head = stream.read(looks.HEAD)
    looks.refuse_foreign(head, name)
    return mbox.count(stream, head)
