"""Any bytes in, a Message out: what a mail says, where it links to, what it carries, and what is wrong with it.

`parse` never raises and never takes long. What is broken, lying or too large becomes an entry in `defects`, which is
evidence like everything else.
"""

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from priory.message import mime
from priory.message.charset import decode, without_invisible
from priory.message.headers import Fields, Header, header
from priory.message.scanner import Scan

__all__ = ["Attachment", "Header", "Link", "Message", "Text", "parse"]

MOST_TEXT_BYTES: Final = 256 * 1024  #: decoded text that is read, of all parts together
MOST_SKELETON_BYTES: Final = 8 * 1024
MOST_LINKS: Final = 500

_PLAIN_LINK = re.compile(r"(?:https?|ftp)://[^\s<>\"']{3,500}", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<=[^\s<>@\"(),;:])@([\w.-]{1,255})")
_ENDLESS_NUMBER = re.compile("&#[0-9]{4000,};?")


@dataclass(frozen=True, slots=True)
class Text:
    """One text part, as a person sees it, HTML without its markup; and its source, which for plain text is the same."""

    content_type: str
    charset: str | None
    text: str
    source: str


class Link(NamedTuple):
    """Where a link leads, and the words it is shown as (for a bare address in the text, the address)."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part that is no text, or a text that is offered as a file."""

    content_type: str
    filename: str
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class Message:
    """What was found in a mail.

    `digest` names the message: it is the same with LF and CRLF, in a mailbox and on standard input, with and without
    the headers that filters and mailboxes add.
    """

    headers: tuple[Header, ...]
    first: Mapping[str, str]  #: the value of the first header of each name, names in lower case
    sender_domain: str  #: of the address in From
    part_headers: tuple[Header, ...]
    texts: tuple[Text, ...]
    links: tuple[Link, ...]
    skeleton: str
    attachments: tuple[Attachment, ...]
    defects: tuple[str, ...]
    digest: bytes

    def header(self, name: str) -> str:
        """Return the first header of this name on one line, or an empty text.

        >>> parse(b"Subject: lunch\\n  on Friday?\\n\\n").header("subject")
        'lunch on Friday?'
        """
        return " ".join(self.first.get(name.lower(), "").split())

    @property
    def text(self) -> str:
        """All visible text."""
        return "\n".join(part.text for part in self.texts)


def parse(raw: bytes) -> Message:
    """Return what is in a message, whatever its bytes are.

    >>> message = parse(b"Subject: =?utf-8?q?Caf=C3=A9?=\\nContent-Type: text/html\\n\\n<p>See <a href='http://a.example'>it</a>")
    >>> message.header("Subject"), message.text, message.links
    ('Café', 'See it', (Link(target='http://a.example', text='it'),))
    """
    start = envelope_end(raw)
    found = mime.structure(raw, start)
    own = found.outer[0] if found.outer else found.parts[0].fields
    reading = _Reading(raw, found.defects)
    if not own:
        reading.defects.append("no headers")
    headers = reading.headers(own)
    first = {h.name.lower(): h.value for h in reversed(headers)}
    inner = [fields for fields in (*found.outer, *(part.fields for part in found.parts)) if fields is not own]
    part_headers = tuple(h for fields in inner for h in reading.headers(fields))
    for part in found.parts:
        reading.part(part)
    return Message(
        headers=headers,
        first=first,
        sender_domain=_domain(first.get("from", "")),
        part_headers=part_headers,
        texts=tuple(reading.texts),
        links=tuple(reading.links[:MOST_LINKS]),
        skeleton="".join(reading.skeletons)[:MOST_SKELETON_BYTES],
        attachments=tuple(reading.attachments),
        defects=tuple(dict.fromkeys(reading.defects)),
        digest=_digest(own, raw[found.body :]),
    )


def _domain(sender: str) -> str:
    """Return the domain of the last address in a From header.

    >>> _domain("Ann <ann@Mail.Example>")
    'mail.example'
    """
    addresses = _ADDRESS.findall(sender)
    return str(addresses[-1]).lower().strip(".") if addresses else ""


def envelope_end(raw: bytes) -> int:
    """Return where the message begins: an mbox's `From ` line is not part of it."""
    if not raw.startswith(b"From "):
        return 0
    end = raw.find(b"\n")
    return end + 1 if end >= 0 else len(raw)


def _digest(own: Fields, body: bytes) -> bytes:
    """Name the message by its own headers and body; line ends and an empty end do not count."""
    head = "".join(f"{name}:{value.rstrip()}\n" for name, value in own)
    sha = hashlib.sha256(head.encode("latin-1"))
    sha.update(b"\n" + body.replace(b"\r\n", b"\n").rstrip(b"\r\n"))
    return sha.digest()


class _Reading:
    """What has been read of one message so far."""

    def __init__(self, raw: bytes, defects: list[str]) -> None:
        self.raw = raw
        self.defects = defects
        self.texts: list[Text] = []
        self.links: list[Link] = []
        self.skeletons: list[str] = []
        self.attachments: list[Attachment] = []
        self.room = MOST_TEXT_BYTES

    def headers(self, fields: Fields) -> tuple[Header, ...]:
        return tuple(
            Header(name, value) if value.isascii() and "=?" not in value else self.decoded(name, value)
            for name, value in fields
        )

    def decoded(self, name: str, value: str) -> Header:
        field, defect = header(name, value)
        if defect:
            self.defects.append(defect)
        return field

    def part(self, part: mime.Part) -> None:
        is_text = part.content_type.startswith("text/")
        if is_text:
            self.text(part)
        if not is_text or part.filename or part.disposition == "attachment":
            data, _ = mime.body(self.raw, part, mime.MOST_DECODED_BYTES)
            digest = hashlib.sha256(data).hexdigest()[:32]
            self.attachments.append(Attachment(part.content_type, part.filename, len(data), digest))

    def text(self, part: mime.Part) -> None:
        data, defect = mime.body(self.raw, part, self.room + 1)
        room, self.room = self.room, max(self.room - len(data), 0)
        if len(data) > room:
            self.defects.append("too much text")
            data = _whole_words(data[:room])
        charset = " ".join(part.parameters.get("charset", "").split()) or None
        source, lie = decode(data, charset)
        self.defects.extend(filter(None, (defect, lie)))
        text = self.visible(part.content_type, source)
        self.texts.append(Text(part.content_type, charset, text, source if part.content_type == "text/html" else text))

    def visible(self, content_type: str, text: str) -> str:
        if content_type == "text/html":
            scan = Scan(text.encode("utf-8", "replace"), MOST_SKELETON_BYTES)
            self.skeletons.append(scan.skeleton.decode("utf-8", "replace"))
            self.links += [Link(_unescaped(target), _unescaped(shown)) for target, shown in scan.links]
            text = _unescaped(scan.visible)
        elif "://" in text:
            self.links += [Link(target, target) for target in _PLAIN_LINK.findall(text)]
        if "\0" in text:
            self.defects.append("zero bytes in text")
            text = text.replace("\0", " ")
        text, had_invisible = without_invisible(text)
        if had_invisible:
            self.defects.append("invisible characters")
        return text


def _whole_words(data: bytes) -> bytes:
    """Cut to the last space or line end, if one is near: elsewhere the cut may go through a character."""
    near = max(len(data) - 1000, 0)
    return data[: max(data.rfind(b" ", near), data.rfind(b"\n", near)) + 1] or data


def _unescaped(data: bytes) -> str:
    """Return text with its entities decoded."""
    text = data.decode("utf-8", "replace")
    try:
        return html.unescape(text)
    except ValueError:  # Python reads no number of more than 4,300 digits
        return html.unescape(_ENDLESS_NUMBER.sub("\ufffd", text))
