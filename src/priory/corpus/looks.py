r"""Tells mail from what lies beside it, by its first bytes: notes, lists, pictures, compressed files.

Among other files, only what begins like mail is taken for mail. A file that someone named is mail because they say
so, however odd it looks, unless it is unmistakably something else. Archives are told by their names.
"""

import re

from priory.corpus.error import CorpusError

HEAD = 512
"""Bytes that are enough to tell."""

# A field's name may hold any visible character but a colon (RFC 5322, 3.6.8). No mail program begins one with a
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
NOT_MAIL = re.compile(b"|".join(each.pattern for each in (*PACKED.values(), *FOREIGN.values())))

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
    """Raise if a file that someone named as mail begins like something else.

    >>> refuse_foreign(b"%PDF-1.7", "bill.pdf")
    Traceback (most recent call last):
    priory.corpus.error.CorpusError: bill.pdf is a PDF, not mail
    """
    if not NOT_MAIL.match(head):
        return
    for kinds, advice in ((PACKED, "; unpack it first"), (FOREIGN, "")):
        for kind, beginning in kinds.items():
            if beginning.match(head):
                raise CorpusError(f"{name} is {kind}, not mail{advice}")
