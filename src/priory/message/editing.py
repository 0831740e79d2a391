"""Take things out of a message and write the rest as it was: headers, words, links, the text.

This shows what a verdict would be without them, because the changed message can be read and scored like any other. The
parts of the body that change are decoded, edited and encoded as before; a message that cannot be written again comes
back unchanged.
"""

import base64
import quopri
import re
from collections.abc import Callable, Sequence
from email import message_from_bytes, policy
from email.generator import BytesGenerator
from email.header import Header, decode_header
from email.message import Message as EmailMessage
from io import BytesIO
from typing import Final

_FIELD: Final = re.compile(rb"([^\s:]+)[ \t]*:(?:.*)(?:\r?\n[ \t].*)*(?:\r?\n|\Z)")
_POLICY: Final = policy.compat32.clone(max_line_length=None, mangle_from_=False)
#: What may stand between two words of a phrase: anything but letters and digits, and markup.
_BETWEEN: Final = r"(?:[^\w<&]|<[^>]{0,500}>|&\w+;)*"
_MOST_SUBJECT: Final = 2_000  # characters; the standard library takes quadratic time to decode a longer one


def without_headers(raw: bytes, headers: Sequence[tuple[str, int]]) -> bytes:
    """Remove headers, each given by its name in lower case and by which of that name it is, counted from 0.

    >>> without_headers(b"Received: one\\nReceived: two\\n three\\nSubject: hi\\n\\nText", [("received", 1)])
    b'Received: one\\nSubject: hi\\n\\nText'
    """
    gone, seen, kept, at = set(headers), dict[str, int](), list[bytes](), 0
    while field := _FIELD.match(raw, at):
        name = field[1].decode("ascii", "replace").lower()
        which = seen.get(name, 0)
        seen[name] = which + 1
        if (name, which) not in gone:
            kept.append(field[0])
        at = field.end()
    return b"".join(kept) + raw[at:]


def without_phrases(raw: bytes, phrases: Sequence[Sequence[str]]) -> bytes:
    """Remove phrases, each given by its words, wherever they stand in the text or in the subject.

    >>> without_phrases(b"Subject: A limited offer\\n\\nTake this <b>limited</b> offer.", [["limited", "offer"]])
    b'Subject: A \\n\\nTake this <b>.'
    """
    patterns = [re.compile(_phrase(words), re.IGNORECASE) for words in phrases if words]

    def edit(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("", text)
        return text

    return _edited(raw, edit, edit)


def _phrase(words: Sequence[str]) -> str:
    return rf"(?<!\w){_BETWEEN.join(map(re.escape, words))}(?!\w)"


def without_links(raw: bytes, targets: Sequence[str]) -> bytes:
    """Remove the targets of links from the text, wherever they stand.

    >>> without_links(b"Subject: hi\\n\\nSee http://shop.example/a now", ["http://shop.example/a"])
    b'Subject: hi\\n\\nSee  now'
    """

    def edit(text: str) -> str:
        for target in targets:
            for written in (target, target.replace("&", "&amp;")):
                text = text.replace(written, "")
        return text

    return _edited(raw, edit, None)


def without_text(raw: bytes) -> bytes:
    """Remove the text of a message, and leave its headers and attachments.

    >>> without_text(b"Subject: hi\\n\\nSee http://shop.example/a now")
    b'Subject: hi\\n\\n'
    """
    return _edited(raw, lambda _: "", None)


def _edited(raw: bytes, edit_text: Callable[[str], str], edit_subject: Callable[[str], str] | None) -> bytes:
    try:
        return _rewritten(raw, edit_text, edit_subject)
    except RecursionError:  # its parts are nested too deeply for the standard library
        return raw


def _rewritten(raw: bytes, edit_text: Callable[[str], str], edit_subject: Callable[[str], str] | None) -> bytes:
    message = message_from_bytes(raw, policy=_POLICY)
    has_changed = edit_subject is not None and _edit_subject(message, edit_subject)
    for part in message.walk():
        if part.get_content_maintype() == "text" and not part.is_multipart() and not part.get_filename():
            has_changed |= _edit_part(part, edit_text)
    return _written(message, raw) if has_changed else raw


def _edit_subject(message: "EmailMessage[str, str]", edit: Callable[[str], str]) -> bool:
    written = str(message.get("Subject", ""))
    if len(written) > _MOST_SUBJECT:
        return False
    try:
        subject = "".join(
            text.decode(charset or "ascii", "replace") if isinstance(text, bytes) else text
            for text, charset in decode_header(written)
        )
    except (LookupError, ValueError):
        return False
    edited = edit(subject)
    if edited == subject:
        return False
    message.replace_header("Subject", edited if edited.isascii() else Header(edited, "utf-8").encode())
    return True


def _edit_part(part: "EmailMessage[str, str]", edit: Callable[[str], str]) -> bool:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return False
    charset = part.get_content_charset() or "utf-8"
    try:
        text = payload.decode(charset, "surrogateescape")
        edited = edit(text)
        data = edited.encode(charset, "surrogateescape")
    except (LookupError, UnicodeError):
        return False
    if edited == text:
        return False
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    encoders: dict[str, Callable[[bytes], bytes]] = {
        "base64": base64.encodebytes,
        "quoted-printable": quopri.encodestring,
    }
    part.set_payload(encoders.get(encoding, bytes)(data).decode("ascii", "surrogateescape"))
    return True


def _written(message: "EmailMessage[str, str]", raw: bytes) -> bytes:
    """Return the bytes of a message; the original ones if it cannot be written."""
    out = BytesIO()
    try:
        BytesGenerator(out, mangle_from_=False, maxheaderlen=0, policy=_POLICY).flatten(message)
    except (LookupError, UnicodeError, ValueError, TypeError, AttributeError):
        return raw
    return out.getvalue()
