"""Writes a drawn letter as an RFC 5322 message, with its attachments.

The `email` package takes ten times as long; the tests use it to read back every form written here. Attached archives
are stored without compression: compressed bytes may differ between versions of zlib, and a seed must draw the same
bytes.
"""

import io
import zipfile
from base64 import b64encode, encodebytes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from html import escape
from quopri import encodestring
from random import Random
from string import ascii_letters, digits
from urllib.parse import quote

from priory.demo.grammar import between

STAMP = (2025, 1, 1, 0, 0, 0)
TYPES = {
    "pdf": "application/pdf",
    "zip": "application/zip",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that is attached to a letter."""

    filename: str
    content_type: str
    content: bytes


def attachment(kind: str, stem: str, text: str, rng: Random) -> AttachedFile:
    """Make a file of a kind (pdf, zip, docx) with the text in it.

    >>> attachment("pdf", "invoice-417", "Total: 20 euros", Random(0)).content[:8]
    b'%PDF-1.4'
    """
    padding = rng.randbytes(between(64, 700, rng))
    content = {"pdf": pdf, "zip": archive, "docx": document}[kind](text, padding)
    return AttachedFile(f"{stem}.{kind}", TYPES[kind], content)


def pdf(text: str, padding: bytes) -> bytes:
    """Write a page with the first line of the text, and random bytes as its picture."""
    line = text.split("\n", maxsplit=1)[0][:80].encode("latin-1", "replace")
    page = b"BT /F1 12 Tf 72 720 Td (" + line.translate(None, b"()\\") + b") Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(page), page),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(padding), padding),
    )
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % numbered for numbered in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer << /Size 6 /Root 1 0 R >>\n%%EOF\n"


def zip_archive(files: dict[str, bytes]) -> bytes:
    """Pack the files into a zip archive, uncompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, content in files.items():
            target.writestr(zipfile.ZipInfo(name, STAMP), content)
    return buffer.getvalue()


def archive(text: str, padding: bytes) -> bytes:
    """Pack the text and random bytes into a zip archive."""
    return zip_archive({"note.txt": text.encode(), "scan.dat": padding})


def document(text: str, padding: bytes) -> bytes:
    """Write a minimal word processor document."""
    runs = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in text.split("\n")[:3])
    body = f"<?xml version='1.0' encoding='UTF-8'?><w:document><w:body>{runs}</w:body></w:document>"
    return zip_archive(
        {"[Content_Types].xml": b"<Types/>", "word/document.xml": body.encode(), "word/media/image1.png": padding}
    )


def calendar(title: str, organizer: str, identifier: str, when: datetime) -> str:
    """Write the invitation to a meeting of one hour (RFC 5545)."""
    ends = when + timedelta(hours=1)
    return "\n".join(
        (
            "BEGIN:VCALENDAR",
            "PRODID:-//Tidebook//Calendar//EN",
            "VERSION:2.0",
            "METHOD:REQUEST",
            "BEGIN:VEVENT",
            f"UID:{identifier.strip('<>')}",
            f"DTSTART:{when:%Y%m%dT%H%M00Z}",
            f"DTEND:{ends:%Y%m%dT%H%M00Z}",
            f"SUMMARY:{title}",
            f"ORGANIZER:mailto:{organizer}",
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        )
    )


WORD_CHARACTERS = 75  # the longest encoded word RFC 2047 allows
SAFE = frozenset((ascii_letters + digits).encode())


@dataclass(frozen=True, slots=True)
class Body:
    """A text part: its words, subtype (plain, html, calendar), charset and transfer encoding."""

    text: str
    subtype: str
    charset: str
    encoding: str


@dataclass(frozen=True, slots=True)
class Letter:
    """All parts of a message."""

    message_id: str
    date: datetime
    sender: tuple[str, str]  # name and address
    recipient: tuple[str, str]
    subject: str
    trace: tuple[str, ...]
    bodies: tuple[Body, ...]  # alternatives of one text, the plainest first
    attachments: tuple[AttachedFile, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    word_coding: str = "B"  # of encoded words in headers
    boundary: str = "part"


def fitting_charset(charset: str, text: str) -> str:
    """Return the charset if it can encode the text, otherwise UTF-8.

    >>> fitting_charset("iso-8859-1", "Grüße"), fitting_charset("iso-8859-1", "привет")
    ('iso-8859-1', 'utf-8')
    """
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return "utf-8"
    return charset


def encoded_words(text: str, charset: str, coding: str) -> str:
    """Write the text as RFC 2047 encoded words, one per line, unless it is ASCII.

    >>> encoded_words("Bill for May", "utf-8", "B"), encoded_words("Grüße", "iso-8859-1", "Q")
    ('Bill for May', '=?iso-8859-1?Q?Gr=FC=DFe?=')
    """
    return text if text.isascii() else "\n ".join(words(text, charset, coding))


def words(text: str, charset: str, coding: str) -> Iterator[str]:
    """Yield one encoded word; if it would be too long, the words of its two halves."""
    word = f"=?{charset}?{coding}?{word_text(text.encode(charset), coding)}?="
    if len(word) <= WORD_CHARACTERS:
        yield word
        return
    middle = len(text) // 2
    yield from words(text[:middle], charset, coding)
    yield from words(text[middle:], charset, coding)


def word_text(raw: bytes, coding: str) -> str:
    """Encode the text between the last two question marks of an encoded word."""
    if coding == "B":
        return b64encode(raw).decode()
    return "".join("_" if byte == 32 else chr(byte) if byte in SAFE else f"={byte:02X}" for byte in raw)


def mailbox(name: str, address: str, charset: str, coding: str) -> str:
    """Write a name and address for From and To.

    >>> mailbox("Fernway Bicycles, Ltd.", "news@fernway.example", "utf-8", "B")
    '"Fernway Bicycles, Ltd." <news@fernway.example>'
    """
    if not name:
        return address
    if name.isascii() and not name.replace(" ", "").isalnum():
        return f'"{name}" <{address}>'
    # Base64 keeps a name in one encoded word: readers put a space between two, which would change the name.
    return f"{encoded_words(name, fitting_charset(charset, name), coding if len(name) < 8 else 'B')} <{address}>"


def no_coding(raw: bytes) -> bytes:
    """Return the bytes unchanged, for 7bit and 8bit."""
    return raw


CODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "7bit": no_coding,
    "8bit": no_coding,
    "quoted-printable": encodestring,
    "base64": encodebytes,
}


def text_part(body: Body) -> bytes:
    """Write header fields, an empty line and the encoded text."""
    method = "; method=REQUEST" if body.subtype == "calendar" else ""
    head = (
        f'Content-Type: text/{body.subtype}; charset="{body.charset}"{method}\n'
        f"Content-Transfer-Encoding: {body.encoding}\n\n"
    )
    return head.encode() + CODERS[body.encoding](body.text.encode(body.charset))


def file_part(file: AttachedFile) -> bytes:
    """Write an attachment; encode its name by RFC 2231 unless it is ASCII."""
    name = f'filename="{file.filename}"' if file.filename.isascii() else f"filename*=utf-8''{quote(file.filename)}"
    head = f"Content-Type: {file.content_type}\nContent-Disposition: attachment; {name}\n"
    return f"{head}Content-Transfer-Encoding: base64\n\n".encode() + encodebytes(file.content)


def multipart(kind: str, parts: tuple[bytes, ...], boundary: str) -> bytes:
    """Join several parts into one."""
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode()
    line = f"--{boundary}\n".encode()
    return b"".join((head, *(line + part + b"\n" for part in parts), f"--{boundary}--\n".encode()))


def is_bare(letter: Letter) -> bool:
    """Tell whether the message is only plain ASCII text, which needs no MIME headers."""
    lone = len(letter.bodies) == 1 and not letter.attachments
    body = letter.bodies[0]
    return lone and (body.subtype, body.charset, body.encoding) == ("plain", "us-ascii", "7bit")


def content(letter: Letter) -> bytes:
    """Write the MIME tree: the text or its alternatives, with the attachments if there are any."""
    if is_bare(letter):
        return b"\n" + letter.bodies[0].text.encode("ascii")
    texts = tuple(text_part(body) for body in letter.bodies)
    inner = texts[0] if len(texts) == 1 else multipart("alternative", texts, f"=_{letter.boundary}_a")
    if not letter.attachments:
        return inner
    files = tuple(file_part(file) for file in letter.attachments)
    return multipart("mixed", (inner, *files), f"=_{letter.boundary}_m")


def header_lines(letter: Letter) -> Iterator[str]:
    """Yield the header line by line."""
    charset, coding = letter.bodies[0].charset, letter.word_coding
    yield from (f"Received: {line}" for line in letter.trace)
    yield f"Message-ID: {letter.message_id}"
    yield f"Date: {format_datetime(letter.date)}"
    yield f"From: {mailbox(*letter.sender, charset, coding)}"
    yield f"To: {mailbox(*letter.recipient, charset, coding)}"
    yield f"Subject: {encoded_words(letter.subject, fitting_charset(charset, letter.subject), coding)}"
    yield from (f"{name}: {value}" for name, value in letter.headers)
    if not is_bare(letter):
        yield "MIME-Version: 1.0"


def compose(letter: Letter) -> bytes:
    """Write the message with LF line endings, as a file on disk has them."""
    return "".join(f"{line}\n" for line in header_lines(letter)).encode("ascii") + content(letter)
