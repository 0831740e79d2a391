# cython: language_level=3
"""Facts about a message that no single word of it shows: what is missing, what does not fit, what is broken."""

import re

from priory.features.hashing cimport Keys
from priory.features.sections cimport Sections
from priory.message.fields cimport Field, is_named
from priory.message.reading cimport Message, Text

from priory.features.listing import Listing

_ADDRESS_DOMAIN = re.compile(r"@([\w.-]+)")
_ZONE = re.compile(r"[+-]\d{4}")
cdef list _EXPECTED = [
    (name, b"no " + name) for name in (b"from", b"to", b"subject", b"date", b"message-id", b"received")
]
# Counts, rounded to powers of two, so that like sizes share a feature.
cdef list _ABOUT = [b"0", b"1", b"2"] + [b"%d to %d" % (1 << n, (2 << n) - 1) for n in range(1, 64)]


def facts(Sections sections, Keys keys):
    """Find what the headers and the parts say together.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> message = parse(b"From: a@x.example\\nReply-To: b@y.example\\nSubject: HELLO YOU\\n\\n")
    >>> found, = extract(message, Spec(kinds=frozenset({"fact"}))).found[5]
    >>> [found.value(i) for i in range(len(found.buckets))][:4]
    ['no to', 'no date', 'no message-id', 'no received']
    """
    cdef list lines = []
    _header_facts(sections.message, lines)
    _shape(sections.message, lines)
    cdef bytes line
    if keys.located:
        listing = Listing("facts", keys)
        for line in lines:
            listing.add(line, line)
        listing.close()
    else:
        for line in lines:
            keys.value(line)


cdef bytes _about(Py_ssize_t n):
    return _ABOUT[n] if n < 3 else _ABOUT[n.bit_length() + 1]


cdef int _header_facts(Message message, list lines) except -1:
    cdef Py_ssize_t i, received = 0
    for name, line in _EXPECTED:
        if message.own.first(name) == NULL:
            lines.append(line)
    cdef str sender = message.sender_domain, subject
    reply = _ADDRESS_DOMAIN.search(message._value(b"reply-to"))
    if reply and reply[1].lower() != sender:
        lines.append(b"replies go elsewhere")
    identity = _ADDRESS_DOMAIN.search(message._value(b"message-id"))
    if identity and sender:
        is_theirs = f".{identity[1].lower()}".endswith(f".{sender}")
        lines.append(b"message-id of the sender's domain" if is_theirs else b"message-id not of the sender's domain")
    zone = _ZONE.search(message._value(b"date"))
    if zone:
        lines.append(b"time zone " + zone[0].encode())
    lines.append(_about(message._value(b"to").count("@") + message._value(b"cc").count("@")) + b" recipients")
    for i in range(message.own.n):
        received += is_named(&message.own.field[i], b"received")
    lines.append(_about(received) + b" received lines")
    subject = " ".join(message._value(b"subject").split())
    if subject.isupper():
        lines.append(b"subject in capitals")
    if subject[:3].lower() == "re:" and (
        message.own.first(b"references") == NULL and message.own.first(b"in-reply-to") == NULL
    ):
        lines.append(b"a reply to nothing")
    if not subject.isascii():
        lines.append(b"subject beyond ASCII")
    return 0


cdef int _shape(Message message, list lines) except -1:
    cdef Py_ssize_t characters = 0
    cdef Text part
    cdef set types = set()
    for part in message.bodies:
        types.add(part.content_type)
        characters += len(part.visible) if part.visible.isascii() else len(part.text)
    lines.append(_line("text as " + (" and ".join(sorted(types)) if types else "nothing")))
    lines.append(_about(characters) + b" characters")
    lines.append(_about(len(message.targets)) + b" links")
    lines.append(_about(len(message.attachments)) + b" attachments")
    for part in message.bodies:
        if part.charset is not None:
            lines.append(_line("charset " + part.charset.lower()[:40]))
    for defect in message.defects:
        lines.append(_line("defect: " + defect))
    return 0


cdef bytes _line(str text):
    return text.replace("\n", " ").encode("utf-8", "replace")
