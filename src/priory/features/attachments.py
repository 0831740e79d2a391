"""What a message carries: types, endings, sizes and digests of its attachments."""

from collections.abc import Iterator

from priory.features.found import Found, listing
from priory.features.sections import Sections
from priory.message import Attachment

_MOST = 30


def attachments(sections: Sections, seed: int, bits: int) -> Iterator[Found]:
    """Find what describes each attachment.

    >>> from priory.message import parse
    >>> raw = b'Content-Type: application/zip; name="bill.pdf.exe"\\n\\nPK'
    >>> found, = attachments(Sections(parse(raw)), seed=1, bits=22)
    >>> [found.value(i) for i in range(len(found.buckets))][:3]
    ['application/zip', 'ends in .exe', 'ends in .pdf.exe']
    """
    carried = sections.message.attachments[:_MOST]
    if not carried:
        return
    entries = ((f"{a.filename or 'no name'} ({a.content_type})", value) for a in carried for value in _values(a))
    yield listing("attachments", entries, seed, bits)


def _values(attachment: Attachment) -> Iterator[str]:
    yield attachment.content_type
    endings = attachment.filename.lower().split(".")[1:][-2:]
    if endings:
        yield f"ends in .{endings[-1][:10]}"
    if len(endings) == 2 and all(0 < len(ending) <= 4 for ending in endings):
        yield f"ends in .{endings[0]}.{endings[1]}"
    yield f"size about {1 << attachment.size_bytes.bit_length()}"
    yield f"digest {attachment.digest[:16]}"
