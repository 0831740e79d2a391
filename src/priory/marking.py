"""Writes a verdict into the headers of its message, in place of any that a sender forged."""

import re
from typing import Final

from priory.message import envelope_end
from priory.message.mime import header_end
from priory.verdict import Verdict

_OURS: Final = re.compile(rb"^X-Priory-[^\n]*\n?(?:[ \t][^\n]*\n?)*", re.MULTILINE | re.IGNORECASE)


def marked(raw: bytes, verdict: Verdict) -> bytes:
    """Return the message with this verdict's headers, and no others of ours."""
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
    fold = b";" + line_end + b"\t"
    ours = b"".join(
        f"{name}: {value}".encode("ascii").replace(b"; ", fold if name.endswith("Evidence") else b"; ") + line_end
        for name, value in verdict.headers()
    )
    return raw[:start] + ours + _OURS.sub(b"", raw[start:end]), end, body
