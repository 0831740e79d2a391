r"""Recognises mail files by their first bytes, and reads them.

A file is *named* if the user passed its path, and *found* if it lies in a folder or an archive that the user passed. A
found file is mail only if it begins like mail. A named file is always read as mail, however odd it looks, unless it is
unmistakably something else, such as a picture. Archives are recognised by their names.
"""

import re
from collections.abc import Iterator
from typing import IO

from priory.corpus import mbox
from priory.corpus.storage import FIRST_STEP, CorpusError

HEAD = 512
"""Bytes that are enough to recognise a file."""

# A field's name may contain any visible character but a colon (RFC 5322, 3.6.8). No mail program begins one with a
# bracket or a quotation mark, but JSON and XML do.
MAIL = re.compile(rb"From |(?![{\[\"<])[!-9;-~]+[ \t]*:")

PACKED = {
    "a gzip file": re.compile(rb"\x1f\x8b"),
    "a bzip2 file": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "an xz file": re.compile(rb"\xfd7zXZ\0"),
    "a zip file": re.compile(rb"PK(?:\x03\x04|\x05\x06)"),
    "a 7z file": re.compile(rb"7z\xbc\xaf\x27\x1c"),
}
FOREIGN = {
    "a PNG image": re.compile(rb"\x89PNG\r\n"),
    "a JPEG image": re.compile(rb"\xff\xd8\xff"),
    "a GIF image": re.compile(rb"GIF8[79]a"),
    "a PDF": re.compile(rb"%PDF-"),
    "an ELF program": re.compile(rb"\x7fELF"),
    "an SQLite database": re.compile(rb"SQLite format 3\0"),
}
NOT_MAIL = re.compile(b"|".join(kind.pattern for kind in (*PACKED.values(), *FOREIGN.values())))

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def is_archive(path: str) -> bool:
    """Tell by its name whether a file is an archive.

    >>> is_archive("20030228_spam.tar.bz2"), is_archive("inbox.mbox")
    (True, False)
    """
    return path.lower().endswith(ARCHIVES)


def is_mail(head: bytes) -> bool:
    r"""Tell whether a file begins like mail: with a header field or the envelope line of an mbox.

    >>> is_mail(b"Subject: lunch?\n"), is_mail(b"From ann@example.org\n"), is_mail(b"Buy milk\n"), is_mail(b"")
    (True, True, False, False)
    """
    return MAIL.match(head[:HEAD]) is not None


def refuse_foreign(head: bytes, name: str) -> None:
    """Raise CorpusError if a named file begins like a known format other than mail.

    >>> refuse_foreign(b"%PDF-1.7", "bill.pdf")
    Traceback (most recent call last):
    priory.corpus.storage.CorpusError: bill.pdf is a PDF, not mail
    """
    if not NOT_MAIL.match(head):
        return
    for kinds, advice in ((PACKED, "; unpack it first"), (FOREIGN, "")):
        for kind, beginning in kinds.items():
            if beginning.match(head):
                raise CorpusError(f"{name} is {kind}, not mail{advice}")


def read_found(stream: IO[bytes], source: str) -> Iterator[tuple[str, bytes | None]]:
    r"""Yield source and raw bytes of each message in a found file; None for bytes if it does not look like mail.

    >>> import io
    >>> list(read_found(io.BytesIO(b"Subject: lunch?\n"), "1.eml"))
    [('1.eml', b'Subject: lunch?\n')]
    >>> list(read_found(io.BytesIO(b"Buy milk\n"), "notes.txt"))
    [('notes.txt', None)]
    """
    head = stream.read(FIRST_STEP)
    if is_mail(head):
        yield from mbox.read(stream, source, head)
    else:
        yield source, None


def count_found(stream: IO[bytes]) -> int:
    """Count the messages that `read_found` would yield."""
    head = stream.read(HEAD)
    return mbox.count(stream, head) if is_mail(head) else 0


def read_named(stream: IO[bytes], source: str, name: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield source and raw bytes of each message in a named file; None for bytes if it is empty.

    Raise CorpusError if the file is unmistakably not mail.
    """
    head = stream.read(FIRST_STEP)
    refuse_foreign(head, name)
    if head:
        yield from mbox.read(stream, source, head)
    else:
        yield source, None


def count_named(stream: IO[bytes], name: str) -> int:
    """Count the messages that `read_named` would yield, or raise as it would."""
    head = stream.read(HEAD)
    refuse_foreign(head, name)
    return mbox.count(stream, head)
