"""Parses mail: any bytes in, a `Message` with texts, links, attachments and defects out.

`parse` never raises, and its limits bound the time it takes. Anything malformed, falsely declared or too large becomes
an entry in `defects`, which is evidence like everything else. Four functions build on it: `has_usual_headers` tells
mail from copied text, `identity` recognises the same message in several mailboxes, `receipt_time` tells when it
arrived, and `attached_messages` returns the messages inside a message.
"""

import hashlib
import math
from contextlib import suppress
from typing import Final

from priory.message.mime import MOST_DECODED_BYTES, OuterStructure, body
from priory.message.parser import (
    MOST_LINKS,
    MOST_SKELETON_BYTES,
    MOST_TEXT_BYTES,
    Message,
    Text,
    envelope_end,
    parse,
)
from priory.message.values import Attachment, Header, Link

__all__ = [
    "MOST_LINKS",
    "MOST_SKELETON_BYTES",
    "MOST_TEXT_BYTES",
    "Attachment",
    "Header",
    "Link",
    "Message",
    "Text",
    "attached_messages",
    "envelope_end",
    "has_usual_headers",
    "identity",
    "parse",
    "receipt_time",
]

_USUAL_HEADERS: Final = frozenset(
    ("from", "to", "cc", "subject", "date", "message-id", "received", "return-path", "mime-version", "content-type")
)
_SENDERS_HEADERS: Final = ("message-id", "date", "from", "subject")


def has_usual_headers(message: Message) -> bool:
    """Tell whether a message has any of the headers that nearly all mail has; a text that was copied has none.

    >>> has_usual_headers(parse(b"Subject: lunch?\\n\\nAt noon?")), has_usual_headers(parse(b"Ann wrote: lunch?\\n"))
    (True, False)
    """
    return any(header.name.lower() in _USUAL_HEADERS for header in message.headers)


def identity(message: Message) -> bytes:
    """Return a hash that is the same for all copies of a message, whichever way they were delivered.

    It covers only what the sender wrote: Message-ID, date, sender and subject. The digest of a message differs between
    copies, because servers add headers: a mail server asks the filter before it has added its own, and copies for two
    recipients name different recipients.

    >>> raw = b"From: ann@mail.example\\nSubject: lunch?\\n\\nAt noon?"
    >>> identity(parse(b"Received: by mx.home.example\\n" + raw)) == identity(parse(raw))
    True
    """
    headers = "\n".join([message.header(name) for name in _SENDERS_HEADERS])
    return hashlib.sha256(headers.encode("utf-8", "replace")).digest()


def receipt_time(message: Message) -> float:
    """Return when the last server received a message, in seconds; else its date, which is forged more often; else NaN.

    >>> raw = b"Received: by mx.home.example; Mon, 6 Jan 2025 08:00:00 +0000\\nDate: Fri, 1 Jan 1999 00:00:00 +0000"
    >>> receipt_time(parse(raw))
    1736150400.0
    """
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - a quick start where no time is read

    for stamp in (message.header("Received").rpartition(";")[2], message.header("Date")):
        with suppress(ValueError, TypeError, OverflowError, IndexError):  # the headers may hold any text
            return parsedate_to_datetime(stamp[:100].strip()).timestamp()
    return math.nan


def attached_messages(raw: bytes) -> list[bytes]:
    r"""Return the messages that are attached to a message, in order and byte for byte.

    A message inside an attached message is not listed by itself. Attachments count as messages if they have the type
    message/rfc822, encoded or not, or a file name that ends in `.eml`.

    >>> raw = b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n\nSubject: hi\n\n--x--"
    >>> attached_messages(raw)
    [b'Subject: hi\n']
    """
    structure = OuterStructure(raw, envelope_end(raw))
    by_position = {start: raw[start:end] for start, end in structure.attached}
    for part in structure.parts:
        if part.content_type == "message/rfc822" or part.kind.filename.lower().endswith(".eml"):
            by_position[part.start] = body(raw, part, MOST_DECODED_BYTES)[0]
    return [attached for _, attached in sorted(by_position.items()) if attached.strip()]
