"""From raw bytes to the parts of a message, for any bytes, within limits that no message can talk us out of.

One reader for all mail, written for hostile mail: it works with positions in one buffer, never copies what it does
not return, and never goes back. The alternatives were measured in docs/decisions/parsing.md.
"""

import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from priory.message.headers import Fields, base64_bytes, decoded, fields, leading_fields_end, parameters

DEEPEST: Final = 25  #: multipart inside multipart
MOST_PARTS: Final = 250
MOST_BOUNDARY_LINES: Final = 20_000  #: that begin like a boundary and are none
MOST_HEADER_BYTES: Final = 256 * 1024  #: of one header block
MOST_DECODED_BYTES: Final = 32 * 1024 * 1024  #: of one part
#: How to decode, and the most encoded bytes that are read for a decoded one.
_DECODERS: Final[dict[str, tuple[Callable[[bytes], bytes], int]]] = {
    "base64": (base64_bytes, 2),
    "quoted-printable": (binascii.a2b_qp, 4),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf of the message: its own header fields, as found, and where its encoded body lies."""

    fields: Fields
    content_type: str
    parameters: dict[str, str]
    encoding: str
    disposition: str
    filename: str
    start: int
    end: int


@dataclass(slots=True)
class Structure:
    """All parts of a message, the header fields of the containers on the way to them, and what was wrong."""

    body: int = 0  #: where the body of the message begins
    parts: list[Part] = field(default_factory=list)
    outer: list[Fields] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)


def structure(raw: bytes, start: int) -> Structure:
    """Return the parts of the message that begins at `start`.

    >>> raw = b"Content-Type: multipart/mixed; boundary=x\\n\\n--x\\n\\nhello\\n--x--\\n"
    >>> [(part.content_type, raw[part.start:part.end]) for part in structure(raw, 0).parts]
    [('text/plain', b'hello')]
    """
    found = Structure()
    found.body = _read(raw, start, len(raw), 0, found)
    return found


def header_end(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """Return where the header block ends and where the body begins."""
    if raw.startswith(b"\n", start, end):
        return start, start + 1
    if raw.startswith(b"\r\n", start, end):
        return start, start + 2
    unix = raw.find(b"\n\n", start, end)
    dos = raw.find(b"\n\r\n", start, unix if unix >= 0 else end)
    if dos >= 0:
        return dos + 1, dos + 3
    return (unix + 1, unix + 2) if unix >= 0 else (end, end)


def _read(raw: bytes, start: int, end: int, depth: int, found: Structure) -> int:
    """Add what stands between `start` and `end` to what was found; return where its body begins."""
    block_end, body = header_end(raw, start, end)
    if block_end - start > MOST_HEADER_BYTES:
        found.defects.append("headers too long")
        block_end = start + MOST_HEADER_BYTES
    own = fields(raw[start:block_end])
    if not own:  # text without headers: what stands where they should is text, too
        text = leading_fields_end(raw, start, block_end)
        body = text if text < block_end else body
    part = _part(own, body, end, found)
    if part.content_type.startswith("multipart/"):
        _read_multipart(raw, part, depth, found)
    elif part.content_type == "message/rfc822" and part.encoding not in ("base64", "quoted-printable"):
        _descend(raw, part, [(body, end)], depth, found)
    else:
        found.parts.append(part)
    return body


def _part(own: Fields, start: int, end: int, found: Structure) -> Part:
    values = {"content-type": "", "content-transfer-encoding": "", "content-disposition": ""}
    for name, value in own:
        if name[:1] in "cC" and (lowered := name.lower()) in values and not values[lowered]:
            values[lowered] = value.strip()
    content_type, given = parameters(values["content-type"])
    if content_type.count("/") != 1 or " " in content_type:
        if content_type:
            found.defects.append("malformed content type")
        first = content_type.partition(" ")[0]
        content_type = first if first.count("/") == 1 else "text/plain"
    disposition, named = parameters(values["content-disposition"])
    filename = named.get("filename") or given.get("name") or ""
    encoding = values["content-transfer-encoding"].lower().partition(";")[0].strip()
    return Part(own, content_type, given, encoding, disposition, decoded(filename), start, end)


def _read_multipart(raw: bytes, part: Part, depth: int, found: Structure) -> None:
    boundary = part.parameters.get("boundary", "")
    line = boundary.rstrip().encode("latin-1", "replace")
    pieces = list(_pieces(raw, part.start, part.end, line, found)) if line else []
    if pieces:
        _descend(raw, part, pieces, depth, found)
        return
    found.defects.append("multipart without parts")
    found.parts.append(
        Part(part.fields, "text/plain", {}, part.encoding, part.disposition, part.filename, part.start, part.end)
    )


def _descend(raw: bytes, part: Part, pieces: list[tuple[int, int]], depth: int, found: Structure) -> None:
    found.outer.append(part.fields)
    if depth >= DEEPEST:
        found.defects.append("nested too deeply")
        return
    for start, end in pieces:
        if len(found.parts) + len(found.outer) >= MOST_PARTS:
            found.defects.append("too many parts")
            return
        _read(raw, start, end, depth + 1, found)


def _pieces(raw: bytes, start: int, end: int, boundary: bytes, found: Structure) -> Iterator[tuple[int, int]]:
    """Yield where each piece between two boundary lines lies (RFC 2046, 5.1.1)."""
    delimiter = b"\n--" + boundary
    begin, at, n = -1, raw.find(delimiter, max(start - 1, 0), end), 0
    for _ in range(MOST_BOUNDARY_LINES):
        if at < 0 or n > MOST_PARTS:
            break
        after = at + len(delimiter)
        line_end = raw.find(b"\n", after, end)
        line_end = line_end if line_end >= 0 else end
        rest = raw[after : min(line_end, after + 80)].strip()
        if rest in (b"", b"--"):
            if begin >= 0:
                yield begin, at - (raw[at - 1 : at] == b"\r")
                n += 1
            if rest:
                return
            begin = min(line_end + 1, end)
        at = raw.find(delimiter, line_end, end)
    if begin >= 0 and n <= MOST_PARTS:
        found.defects.append("multipart without end")
        yield begin, end


def body(raw: bytes, part: Part, most: int) -> tuple[bytes, str | None]:
    """Return up to `most` bytes of a part's decoded body, and what was wrong with its encoding."""
    decoder, longest = _DECODERS.get(part.encoding, (bytes, 1))
    stop = part.start + most * longest + 1024
    data = decoder(raw[part.start : min(part.end, stop)])[:most]
    if len(data) < most and stop < part.end:
        return data, "transfer encoding out of proportion"
    known = part.encoding in ("", "7bit", "8bit", "binary") or part.encoding in _DECODERS
    return data, None if known else "unknown transfer encoding"
