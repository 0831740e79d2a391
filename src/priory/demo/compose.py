"""Turn a drawn letter into the bytes of an RFC 5322 message, with the standard library's coders and no more.

The `email` package could do it, at a tenth of the speed; the tests let it read back every form written here.
"""

from base64 import b64encode, encodebytes
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from quopri import encodestring
from string import ascii_letters, digits
from urllib.parse import quote

from .attachments import Attachment

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
    """Everything a message is made of."""

    message_id: str
    date: datetime
    sender: tuple[str, str]  # name and address
    recipient: tuple[str, str]
    subject: str
    trace: tuple[str, ...]
    bodies: tuple[Body, ...]  # alternatives of one text, the plainest first
    attachments: tuple[Attachment, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    word_coding: str = "B"  # of encoded words in headers
    boundary: str = "part"


def fitting(charset: str, text: str) -> str:
    """Return the charset if it can write the text, UTF-8 otherwise.

    >>> fitting("iso-8859-1", "Grüße"), fitting("iso-8859-1", "привет")
    ('iso-8859-1', 'utf-8')
    """
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return "utf-8"
    return charset


def encoded_words(text: str, charset: str, coding: str) -> str:
    """Write the text as RFC 2047 encoded words, a line each, if it needs them.

    >>> encoded_words("Bill for May", "utf-8", "B"), encoded_words("Grüße", "iso-8859-1", "Q")
    ('Bill for May', '=?iso-8859-1?Q?Gr=FC=DFe?=')
    """
    return text if text.isascii() else "\n ".join(words(text, charset, coding))


def words(text: str, charset: str, coding: str) -> Iterator[str]:
    """Yield one encoded word, or those of the two halves where it would be too long."""
    word = f"=?{charset}?{coding}?{word_text(text.encode(charset), coding)}?="
    if len(word) <= WORD_CHARACTERS:
        yield word
        return
    middle = len(text) // 2
    yield from words(text[:middle], charset, coding)
    yield from words(text[middle:], charset, coding)


def word_text(raw: bytes, coding: str) -> str:
    """Write the inside of an encoded word."""
    if coding == "B":
        return b64encode(raw).decode()
    return "".join("_" if byte == 32 else chr(byte) if byte in SAFE else f"={byte:02X}" for byte in raw)


def mailbox(name: str, address: str, charset: str, coding: str) -> str:
    """Write a name and address as From and To have them.

    >>> mailbox("Fernway Bicycles, Ltd.", "news@fernway.example", "utf-8", "B")
    '"Fernway Bicycles, Ltd." <news@fernway.example>'
    """
    if not name:
        return address
    if name.isascii() and not name.replace(" ", "").isalnum():
        return f'"{name}" <{address}>'
    # Base64 keeps a name in one word; readers set a blank between two, which a name must not have.
    return f"{encoded_words(name, fitting(charset, name), coding if len(name) < 8 else 'B')} <{address}>"


def unchanged(raw: bytes) -> bytes:
    """Return the bytes as they are: 7bit and 8bit."""
    return raw


CODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "7bit": unchanged,
    "8bit": unchanged,
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


def file_part(file: Attachment) -> bytes:
    """Write an attachment, its name by RFC 2231 where it is not ASCII."""
    name = f'filename="{file.filename}"' if file.filename.isascii() else f"filename*=utf-8''{quote(file.filename)}"
    head = f"Content-Type: {file.content_type}\nContent-Disposition: attachment; {name}\n"
    return f"{head}Content-Transfer-Encoding: base64\n\n".encode() + encodebytes(file.content)


def multipart(kind: str, parts: tuple[bytes, ...], boundary: str) -> bytes:
    """Join several parts into one."""
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode()
    line = f"--{boundary}\n".encode()
    return b"".join((head, *(line + part + b"\n" for part in parts), f"--{boundary}--\n".encode()))


def is_bare(letter: Letter) -> bool:
    """Say whether the message is plain ASCII alone, which needs no MIME header."""
    lone = len(letter.bodies) == 1 and not letter.attachments
    body = letter.bodies[0]
    return lone and (body.subtype, body.charset, body.encoding) == ("plain", "us-ascii", "7bit")


def content(letter: Letter) -> bytes:
    """Write the MIME tree: the text, or its alternatives, or one of these with files."""
    if is_bare(letter):
        return b"\n" + letter.bodies[0].text.encode("ascii")
    texts = tuple(text_part(body) for body in letter.bodies)
    inner = texts[0] if len(texts) == 1 else multipart("alternative", texts, f"=_{letter.boundary}_a")
    if not letter.attachments:
        return inner
    files = tuple(file_part(file) for file in letter.attachments)
    return multipart("mixed", (inner, *files), f"=_{letter.boundary}_m")


def header_lines(letter: Letter) -> Iterator[str]:
    """Yield the header, line by line."""
    charset, coding = letter.bodies[0].charset, letter.word_coding
    yield from (f"Received: {line}" for line in letter.trace)
    yield f"Message-ID: {letter.message_id}"
    yield f"Date: {format_datetime(letter.date)}"
    yield f"From: {mailbox(*letter.sender, charset, coding)}"
    yield f"To: {mailbox(*letter.recipient, charset, coding)}"
    yield f"Subject: {encoded_words(letter.subject, fitting(charset, letter.subject), coding)}"
    yield from (f"{name}: {value}" for name, value in letter.headers)
    if not is_bare(letter):
        yield "MIME-Version: 1.0"


def compose(letter: Letter) -> bytes:
    """Write the message as it lies on disk, with LF at the end of lines."""
    return "".join(f"{line}\n" for line in header_lines(letter)).encode("ascii") + content(letter)
