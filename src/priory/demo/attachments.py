"""Small files to attach: PDF, zip, a word processor's document, a calendar entry. Their content is invented.

Archives are stored, not deflated: compressed bytes may differ between versions of zlib, and a seed must not.
"""

import io
import zipfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from random import Random

from .grammar import between

STAMP = (2025, 1, 1, 0, 0, 0)
TYPES = {
    "pdf": "application/pdf",
    "zip": "application/zip",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in a mail."""

    filename: str
    content_type: str
    content: bytes


def attachment(kind: str, stem: str, text: str, rng: Random) -> Attachment:
    """Make a file of that kind (pdf, zip, docx) that holds the text.

    >>> attachment("pdf", "invoice-417", "Total: 20 euros", Random(0)).content[:8]
    b'%PDF-1.4'
    """
    padding = rng.randbytes(between(64, 700, rng))
    content = {"pdf": pdf, "zip": archive, "docx": document}[kind](text, padding)
    return Attachment(f"{stem}.{kind}", TYPES[kind], content)


def pdf(text: str, padding: bytes) -> bytes:
    """Print the text's first line on a page, with a stream of noise where a picture would be."""
    line = text.split("\n", maxsplit=1)[0][:80].encode("latin-1", "replace")
    page = b"BT /F1 12 Tf 72 720 Td (" + line.translate(None, b"()\\") + b") Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(page), page),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(padding), padding),
    )
    body = b"".join(b"%d 0 obj\n%b\nendobj\n" % numbered for numbered in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + body + b"trailer << /Size 6 /Root 1 0 R >>\n%%EOF\n"


def stored(files: dict[str, bytes]) -> bytes:
    """Pack the files into a zip archive, uncompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, content in files.items():
            target.writestr(zipfile.ZipInfo(name, STAMP), content)
    return buffer.getvalue()


def archive(text: str, padding: bytes) -> bytes:
    """Pack a note and a scan."""
    return stored({"note.txt": text.encode(), "scan.dat": padding})


def document(text: str, padding: bytes) -> bytes:
    """Write what a word processor saves, in outline."""
    runs = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in text.split("\n")[:3])
    body = f"<?xml version='1.0' encoding='UTF-8'?><w:document><w:body>{runs}</w:body></w:document>"
    return stored(
        {"[Content_Types].xml": b"<Types/>", "word/document.xml": body.encode(), "word/media/image1.png": padding}
    )


def calendar(title: str, organizer: str, identifier: str, when: datetime) -> str:
    """Write the invitation to a meeting of one hour (RFC 5545)."""
    ends = when + timedelta(hours=1)
    return "\n".join(
        (
            "BEGIN:VCALENDAR",
            "PRODID:-//Tidebook//Calendar//EN",
            "VERSION:2.0",
            "METHOD:REQUEST",
            "BEGIN:VEVENT",
            f"UID:{identifier.strip('<>')}",
            f"DTSTART:{when:%Y%m%dT%H%M00Z}",
            f"DTEND:{ends:%Y%m%dT%H%M00Z}",
            f"SUMMARY:{title}",
            f"ORGANIZER:mailto:{organizer}",
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        )
    )
