"""Features of attachments: their types, extensions, sizes and digests.

Such features do not occur in the message as text, so an explanation shows them in a section of their own, one line
each. `LineSection` builds such a section.
"""

from collections.abc import Iterator

from priory.features.hashing import Keys
from priory.features.sections import Section, Sections
from priory.message import Attachment

_MOST = 30


class LineSection:
    """A section built from lines, each with the values of the features it stands for."""

    def __init__(self, name: str, keys: Keys) -> None:
        self._name = name
        self._keys = keys
        self._lines: dict[bytes, tuple[int, int]] = {}
        self._end = 0

    def add(self, line: bytes, value: bytes) -> None:
        """Add a feature; features with the same line share it."""
        if line not in self._lines:
            self._lines[line] = (self._end, self._end + len(line))
            self._end += len(line) + 1
        self._keys.value(value, *self._lines[line])

    def close(self) -> None:
        """Finish the section after the last feature."""
        shown = b"\n".join(self._lines)
        self._keys.close(Section(self._name, shown, shown))


def attachments(sections: Sections, keys: Keys) -> None:
    """Add the features of each attachment.

    >>> from priory.features import Spec, extract
    >>> from priory.message import parse
    >>> message = parse(b'Content-Type: application/zip; name="bill.pdf.exe"\\n\\nPK')
    >>> occurrences, = extract(message, Spec(kinds=frozenset({"attachment"}))).occurrences[8]
    >>> [occurrences.value(i) for i in range(len(occurrences.buckets))][:3]
    ['application/zip', 'ends in .exe', 'ends in .pdf.exe']
    """
    lines = LineSection("attachments", keys)
    for attachment in sections.message.attachments[:_MOST]:
        line = _one_line(f"{attachment.filename or 'no name'} ({attachment.content_type})")
        for value in _values(attachment):
            lines.add(line, _one_line(value))
    if keys.located:
        lines.close()


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
    """Encode a text with its line ends replaced: a file's name may contain some."""
    return text.replace("\n", " ").encode("utf-8", "replace")
