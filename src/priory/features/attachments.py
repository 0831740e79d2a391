"""What a message carries: types, endings, sizes and digests of its attachments."""

from collections.abc import Iterator

from priory.features.hashing import Keys
from priory.features.listing import Listing
from priory.features.sections import Sections
from priory.message import Attachment

_MOST = 30


def attachments(sections: Sections, keys: Keys) -> None:
    """Find what describes each attachment.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> message = parse(b'Content-Type: application/zip; name="bill.pdf.exe"\\n\\nPK')
    >>> found, = extract(message, Spec(kinds=frozenset({"attachment"}))).found[8]
    >>> [found.value(i) for i in range(len(found.buckets))][:3]
    ['application/zip', 'ends in .exe', 'ends in .pdf.exe']
    """
    listing = Listing("attachments", keys)
    for attachment in sections.message.attachments[:_MOST]:
        line = _one_line(f"{attachment.filename or 'no name'} ({attachment.content_type})")
        for value in _values(attachment):
            listing.add(line, _one_line(value))
    if keys.located:
        listing.close()


def _values(attachment: Attachment) -> Iterator[str]:
    yield attachment.content_type
    endings = attachment.filename.lower().split(".")[1:][-2:]
    if endings:
        yield f"ends in .{endings[-1][:10]}"
    if len(endings) == 2 and all(0 < len(ending) <= 4 for ending in endings):
        yield f"ends in .{endings[0]}.{endings[1]}"
    yield f"size about {1 << attachment.size_bytes.bit_length()}"
    yield f"digest {attachment.digest[:16]}"


def _one_line(text: str) -> bytes:
    """A file's name may hold line ends."""
    return text.replace("\n", " ").encode("utf-8", "replace")
