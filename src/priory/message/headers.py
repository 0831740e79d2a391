"""Decodes the values of header fields, and tells which fields are never evidence.

Verdict headers of other filters are removed before anything reads the message: senders forge them, and in a collection
of old mail they give the answer away. So are the notes of mailboxes (read, flagged, filed as junk): they record what a
person did, not what the message is.
"""

import binascii
import re
from functools import lru_cache
from itertools import groupby
from typing import Final
from urllib.parse import unquote_to_bytes

from priory.message.charset import decode
from priory.message.transfer import base64_bytes

#: Prefixes of the verdict headers of other filters (docs/headers.md lists them with their programs).
VERDICT_PREFIXES: Final = (
    "x-priory-", "x-spam", "x-bogosity", "x-dspam-", "x-crm114-", "x-spambayes", "x-osbf-", "x-sa-", "x-antispam",
    "x-anti-spam", "x-rspamd-", "x-rspam-", "x-amavis-", "x-virus-", "x-mailscanner", "x-scanned", "x-scanner",
    "x-barracuda-", "x-asg-", "x-ironport-", "x-proofpoint-", "x-pmx-", "x-tm-as-", "x-forefront-antispam",
    "x-microsoft-antispam", "x-ms-exchange-organization-scl", "x-ms-exchange-antispam", "x-ms-exchange-atpmessage",
    "x-exchange-antispam", "x-cloudmark-", "x-cmae-", "x-klms-", "x-kaspersky", "x-sophos", "x-canit", "x-dcc-",
    "x-pyzor", "x-razor", "x-junk", "x-ham-report", "x-mox-reason", "x-hmailserver-spam", "x-gm-spam", "x-gmail-spam",
    "x-yahoofilteredbulk", "x-policyd-", "x-postgrey", "x-greylist", "x-clx-", "x-vade", "x-vr-", "x-halon-",
    "x-mimedefang", "x-bayes", "x-text-classification", "x-popfile", "x-assp-", "x-trend-micro", "x-spf-scan",
)  # fmt: skip
#: Fields that mailboxes and mail programs add to a stored message.
BOOKKEEPING: Final = frozenset(
    ("status", "x-status", "x-keywords", "x-uid", "x-imap", "x-imapbase", "x-mozilla-status", "x-mozilla-status2",
     "x-mozilla-keys", "x-evolution", "x-evolution-source", "x-gmail-labels", "x-folder", "x-kmail-mdn-sent")
)  # fmt: skip

#: The parameters that are used, so that a value of thousands of others is not decoded.
READ_PARAMETERS: Final = frozenset(("boundary", "charset", "filename", "name"))

_ENCODED = r"=\?([^?*\s]+)(?:\*[^?\s]*)?\?([bBqQ])\?([^?]*)\?="
_ENCODED_WORD = re.compile(_ENCODED)
_ENCODED_RUN = re.compile(rf"{_ENCODED}(?:\s*{_ENCODED})*")
_PARAMETER = re.compile(r";\s*([\w!#$&+.^`|~-]+?)(?:\*(\d{1,4}))?(\*)?\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^;\s]*)")


@lru_cache(maxsize=4096)
def is_evidence(name: str) -> bool:
    """Tell whether a field may be read: it is neither a filter's verdict nor a mailbox's note.

    >>> is_evidence("Subject"), is_evidence("X-Spam-Status"), is_evidence("X-Priory-Verdict")
    (True, False, False)
    """
    lowered = name.lower()
    return lowered not in BOOKKEEPING and not lowered.startswith(VERDICT_PREFIXES)


def decode_value(raw: bytes) -> tuple[str, str | None]:
    """Decode a header value; return it and the defect of its bytes, or None.

    >>> decode_value(b" Gr\\xfc\\xdfe")
    (' Grüße', '8-bit text in a header')
    """
    text, defect = decode(raw, None)
    return decode_words(text), defect and "8-bit text in a header"


def decode_words(text: str) -> str:
    """Decode the encoded words in a text (RFC 2047). Words that cannot be decoded stay unchanged.

    >>> decode_words("=?utf-8?B?R3LDvMOfZQ==?= =?iso-8859-1?Q?_aus_K=F6ln?=")
    'Grüße aus Köln'
    """
    return _ENCODED_RUN.sub(lambda run: _decode_run(run[0]), text) if "=?" in text else text


def _decode_run(run: str) -> str:
    """Decode adjacent encoded words. Words of one charset are joined first: a character may be split across two."""
    words = _ENCODED_WORD.findall(run)
    by_charset = groupby(words, key=lambda word: str(word[0]).lower())
    text = "".join(
        decode(b"".join(_word_bytes(encoding, text) for _, encoding, text in group), charset)[0]
        for charset, group in by_charset
    )
    return text.replace("\r", " ").replace("\n", " ")  # an encoded line end could forge a header line in a section


def _word_bytes(encoding: str, text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return base64_bytes(data) if encoding in "bB" else binascii.a2b_qp(data, header=True)


def parameters(value: str) -> tuple[str, dict[str, str]]:
    """Split a structured value, such as Content-Type, into its first part and its parameters (RFC 2045, 2231).

    Parameters that have to be decoded are left out unless their names are in READ_PARAMETERS.

    >>> parameters('text/plain; charset="utf-8"; name*0*=utf-8\\'\\'a%20; name*1=b.txt')
    ('text/plain', {'charset': 'utf-8', 'name': 'a b.txt'})
    """
    if ";" not in value:
        return value.strip().lower(), {}
    values: dict[str, str] = {}
    segments: dict[str, dict[int, tuple[bool, str]]] = {}
    for name, index, star, text in _PARAMETER.findall(value):
        key = name.lower()
        plain = _unquote(text)
        if index or star:
            if key in READ_PARAMETERS:
                segments.setdefault(key, {}).setdefault(int(index or 0), (bool(star), plain))
        elif plain.isascii() or key == "boundary":
            values.setdefault(key, plain)
        elif key in READ_PARAMETERS and key not in values:
            values[key] = decode(plain.encode("latin-1", "replace"), None)[0]
    for key, numbered in segments.items():
        values[key] = _join_segments([numbered[i] for i in sorted(numbered)])
    return value.partition(";")[0].strip().lower(), values


def _unquote(text: str) -> str:
    """Remove the quotes around a text, also an opening quote that is never closed."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r'\\(["\\])', r"\1", text[1:-1]) if "\\" in text else text[1:-1]
    return text.lstrip('"')


def _join_segments(segments: list[tuple[bool, str]]) -> str:
    """Join the segments of a parameter. The first may name the charset; those with a star are percent-encoded."""
    starred, first = segments[0]
    charset = None
    if starred and first.count("'") > 1:
        charset, _, first = first.split("'", 2)
    pieces = [(starred, first), *segments[1:]]
    raw = [(is_encoded, text.encode("latin-1", "replace")) for is_encoded, text in pieces]
    return decode(b"".join(unquote_to_bytes(text) if is_encoded else text for is_encoded, text in raw), charset)[0]
