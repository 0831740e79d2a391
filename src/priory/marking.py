"""Writes a verdict into the headers of its message, in place of any that a sender forged."""

import re
from typing import Final

from priory.message import envelope_end
from priory.message.mime import header_end
from priory.points import rating_of
from priory.verdict import Verdict

#: How the names of fields begin, in lower case, that only a filter may have written.
OURS: Final = (b"x-priory-", b"x-spam-")
_OURS: Final = re.compile(
    rb"^(?:%s)[^\n]*\n?(?:[ \t][^\n]*\n?)*" % b"|".join(map(re.escape, OURS)), re.MULTILINE | re.IGNORECASE
)

_MARK: Final = re.compile(rb"^(X-Priory-Verdict|X-Spam-Flag):[ \t]*([\w-]{1,40})", re.MULTILINE | re.IGNORECASE)


def fields(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the fields that carry a verdict, ours and those that recipes made for SpamAssassin look at.

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


def mark_of(raw: bytes) -> str:
    """Return the label that the fields of an earlier verdict say, ours or SpamAssassin's; nothing if there are none.

    >>> mark_of(b"X-Priory-Verdict: unsure; spam=0.5000\\nX-Spam-Flag: NO\\n\\nhello")
    'unsure'
    >>> mark_of(b"X-Spam-Flag: YES\\n\\nhello"), mark_of(b"Subject: hello\\n\\nX-Spam-Flag: YES")
    ('spam', '')
    """
    start = envelope_end(raw)
    found = dict(_MARK.findall(raw, start, header_end(raw, start, len(raw))[0])[::-1])  # the first counts
    said: dict[bytes, str] = {name.lower(): value.decode("ascii", "replace").lower() for name, value in found.items()}
    flagged = {"yes": "spam", "no": "ham"}.get(said.get(b"x-spam-flag", ""), "")
    return said.get(b"x-priory-verdict", flagged)


def marked(raw: bytes, verdict: Verdict) -> bytes:
    """Return the message with the fields of this verdict, and of no other."""
    head, end, _ = _marked(raw, verdict)
    return head + raw[end:]


def marked_head(raw: bytes, verdict: Verdict) -> bytes:
    """Return the marked message without its body: the headers, and the empty line after them."""
    head, end, body = _marked(raw, verdict)
    return head + raw[end:body]


def _marked(raw: bytes, verdict: Verdict) -> tuple[bytes, int, int]:
    """Return the marked headers, where in the message they ended, and where its body begins."""
    start = envelope_end(raw)
    end, body = header_end(raw, start, len(raw))
    line_end = b"\r\n" if raw[start:end].endswith(b"\r\n") else b"\n"
    lines = "".join(f"{name}: {value}\n" for name, value in fields(verdict)).encode("ascii").replace(b"\n", line_end)
    return raw[:start] + lines + _OURS.sub(b"", raw[start:end]), end, body
