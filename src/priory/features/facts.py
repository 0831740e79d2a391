"""Facts about a message that no single word of it shows: what is missing, what does not fit, what is broken."""

import re
from collections.abc import Iterator

from priory.features.found import Found, listing
from priory.features.sections import Sections
from priory.message import Message

_ADDRESS_DOMAIN = re.compile(r"@([\w.-]+)")
_ZONE = re.compile(r"[+-]\d{4}")
_EXPECTED = ("from", "to", "subject", "date", "message-id", "received")


def facts(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find what the headers and the parts say together.

    >>> from priory.message import parse
    >>> found, = facts(Sections(parse(b"From: a@x.example\\nReply-To: b@y.example\\nSubject: HELLO YOU\\n\\n")), 1, 22)
    >>> [found.value(i) for i in range(len(found.buckets))][:4]
    ['no to', 'no date', 'no message-id', 'no received']
    """
    message = sections.message
    lines = [*_header_facts(message), *_shape(message), *(f"defect: {defect}" for defect in message.defects)]
    yield listing("facts", ((line, line) for line in lines), seed, bits)


def _header_facts(message: Message) -> Iterator[str]:
    names = message.first
    yield from (f"no {name}" for name in _EXPECTED if name not in names)
    sender = message.sender_domain
    reply = _ADDRESS_DOMAIN.search(message.header("reply-to"))
    if reply and reply[1].lower() != sender:
        yield "replies go elsewhere"
    identity = _ADDRESS_DOMAIN.search(message.header("message-id"))
    if identity and sender:
        is_theirs = f".{identity[1].lower()}".endswith(f".{sender}")
        yield f"message-id {'of' if is_theirs else 'not of'} the sender's domain"
    zone = _ZONE.search(message.header("date"))
    if zone:
        yield f"time zone {zone[0]}"
    yield f"{_about(message.header('to').count('@') + message.header('cc').count('@'))} recipients"
    yield f"{_about(sum(h.name.lower() == 'received' for h in message.headers))} received lines"
    yield from _subject_facts(message.header("subject"), "references" in names or "in-reply-to" in names)


def _subject_facts(subject: str, is_reply: bool) -> Iterator[str]:
    if subject.isupper():
        yield "subject in capitals"
    if subject.lower().startswith("re:") and not is_reply:
        yield "a reply to nothing"
    if not subject.isascii():
        yield "subject beyond ASCII"


def _shape(message: Message) -> Iterator[str]:
    types = {part.content_type for part in message.texts}
    yield "text as " + (" and ".join(sorted(types)) if types else "nothing")
    yield f"{_about(sum(len(part.text) for part in message.texts))} characters"
    yield f"{_about(len(message.links))} links"
    yield f"{_about(len(message.attachments))} attachments"
    yield from (f"charset {part.charset.lower()[:40]}" for part in message.texts if part.charset)


def _about(n: int) -> str:
    """A count, rounded to powers of two, so that like sizes share a feature."""
    return str(n) if n < 3 else f"{1 << (n.bit_length() - 1)} to {(1 << n.bit_length()) - 1}"
