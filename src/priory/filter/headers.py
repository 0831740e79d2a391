"""Verdict headers: written into a message in place of any that the sender forged, and read back."""

import re
from itertools import pairwise
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

_LONGEST_LINE: Final = 78

_MARK: Final = re.compile(rb"^(X-Priory-Verdict|X-Spam-Flag):[ \t]*([\w-]{1,40})", re.MULTILINE | re.IGNORECASE)


def fields(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the header fields of a verdict: ours, and those that recipes for SpamAssassin read.

    Long values are folded, with bare line feeds.
    """
    rating = rating_of(verdict)
    spam, flag = ("Yes", "YES") if rating.is_spam else ("No", "NO")
    status = f"{spam}, score={rating.points:.1f} required={rating.threshold:.1f}"
    ours = [(name, fold(value, _LONGEST_LINE - len(name) - 2)) for name, value in verdict.headers()]
    return [*ours, ("X-Spam-Flag", flag), ("X-Spam-Status", status)]


def fold(value: str, first: int) -> str:
    r"""Break a value before spaces, into lines that fit; the first has room for `first` characters.

    >>> fold("it says one and two", first=10)
    'it says\n one and two'
    """
    spaces = [i for i, character in enumerate(value) if character == " " and i]
    start, room, parts = 0, first, []
    for space, following in pairwise([*spaces, len(value)]):
        if following - start > room and space > start:
            parts.append(value[start:space])
            start, room = space, _LONGEST_LINE
    return "\n".join([*parts, value[start:]])


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
