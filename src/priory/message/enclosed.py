"""The messages that a message carries as attachments, byte for byte as they were attached."""

from collections.abc import Iterator

from priory.message.mime import MOST_DECODED_BYTES, Enclosing, Part, body
from priory.message.reading import envelope_end


def enclosed(raw: bytes) -> list[bytes]:
    r"""Return whole messages within a message, in their order; what these carry themselves is part of them.

    Mail programs attach a message as what it is, as RFC 2046 wants it, some encode it all the same, and some call it a
    file of whatever kind, by its ending `.eml`.

    >>> raw = b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: message/rfc822\n\nSubject: hi\n\n--x--"
    >>> enclosed(raw)
    [b'Subject: hi\n']
    """
    found = Enclosing(raw, envelope_end(raw))
    whole = {start: raw[start:end] for start, end in found.enclosed}
    whole |= {part.start: data for part, data in _decoded(raw, found.parts)}
    return [data for _, data in sorted(whole.items()) if data.strip()]


def _decoded(raw: bytes, parts: list[Part]) -> Iterator[tuple[Part, bytes]]:
    for part in parts:
        if part.content_type == "message/rfc822" or part.kind.filename.lower().endswith(".eml"):
            yield part, body(raw, part, MOST_DECODED_BYTES)[0]
