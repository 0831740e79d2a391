"""Verdict headers: written into a message in place of any that the sender forged, and read back."""

import re
from typing import Final

from priory.filter.spamassassin import rating_of
from priory.filter.verdict import Verdict
from priory.message import envelope_end
from priory.message.mime import header_end

#: Prefixes, in lower case, of the header fields that only a filter may write.
OURS: Final = (b"x-priory-", b"x-spam-")
_OURS: Final = re.compile(
    rb"^(?:%s)[^\n]*\n?(?:[ \t][^\n]*\n?)*" % b"|".join(map(re.escape, OURS)), re.MULTILINE | re.IGNORECASE
)

_MARK: Final = re.compile(rb"^(X-Priory-Verdict|X-Spam-Flag):[ \t]*([\w-]{1,40})", re.MULTILINE | re.IGNORECASE)


def fields(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the header fields of a verdict: ours, and those that recipes for SpamAssassin read.

    Long values are folded, with bare line feeds.
    """
    rating = rating_of(verdict)
    spam, flag = ("Yes", "YES") if rating.is_spam else ("No", "NO")
    status = f"{spam}, score={rating.points:.1f} required={rating.threshold:.1f}"
    ours = [
        (name, value.replace("; ", ";\n\t") if name.endswith("Evidence") else value)
        for name, value in verdict.headers()
    ]
    return [*ours, ("X-Spam-Flag", flag), ("X-Spam-Status", status)]


def label_in_headers(raw: bytes) -> str:
    """Return the label in the headers of an earlier verdict, ours or SpamAssassin's; empty if there is none.

    >>> label_in_headers(b"X-Priory-Verdict: unsure; spam=0.5000\\nX-Spam-Flag: NO\\n\\nhello")
    'unsure'
    >>> label_in_headers(b"X-Spam-Flag: YES\\n\\nhello"), label_in_headers(b"Subject: hello\\n\\nX-Spam-Flag: YES")
    ('spam', '')
    """
    start = envelope_end(raw)
    matches: dict[bytes, bytes] = dict(
        _MARK.findall(raw, start, header_end(raw, start, len(raw))[0])[::-1]
    )  # the first field counts
    values = {name.lower(): value.decode("ascii", "replace").lower() for name, value in matches.items()}
    flagged = {"yes": "spam", "no": "ham"}.get(values.get(b"x-spam-flag", ""), "")
    return values.get(b"x-priory-verdict", flagged)


def mark(raw: bytes, verdict: Verdict) -> bytes:
    """Return the message with the headers of this verdict; remove verdict headers that it already has."""
    head, end, _ = _mark(raw, verdict)
    return head + raw[end:]


def mark_head(raw: bytes, verdict: Verdict) -> bytes:
    """Return only the headers of the marked message, and the empty line after them."""
    head, end, body = _mark(raw, verdict)
    return head + raw[end:body]


def _mark(raw: bytes, verdict: Verdict) -> tuple[bytes, int, int]:
    """Return the marked headers, the offset of their end in the message, and that of its body."""
    start = envelope_end(raw)
    end, body = header_end(raw, start, len(raw))
    line_end = b"\r\n" if raw[start:end].endswith(b"\r\n") else b"\n"
    lines = "".join(f"{name}: {value}\n" for name, value in fields(verdict)).encode("ascii").replace(b"\n", line_end)
    return raw[:start] + lines + _OURS.sub(b"", raw[start:end]), end, body
