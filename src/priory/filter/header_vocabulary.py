"""Words of headers that say nothing about where mail was received: dates, and the ordinary vocabulary of any mailbox.

A journal stores no words, but the buckets of known words can be computed. So the month in which the mail of a lesson
was received can be read from its features, too.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Final

from priory.features import KINDS
from priory.features.hashing import Keys, Tokens, kind_seed

HEADER: Final = KINDS.index("header")
_YEARS: Final = range(1990, 2050)
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS: Final = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_NUMBERS: Final = [f"{number:02}" for number in range(60)]  # of days, hours, minutes and seconds
_DATED: Final = ("received", "date", "x-received", "delivery-date", "resent-date", "x-originalarrivaltime")
# A word that is missing here can only keep a warning back.
_ZONES: Final = (
    "0000 0100 0200 0300 0400 0500 0530 0600 0700 0800 0900 1000 1100 1200 "
    "utc gmt est edt cst cdt mst mdt pst pdt cet cest bst ist msk jst"
)
_ORDINARY: Final = {
    "received": "from by with for id via smtp esmtp esmtps esmtpa esmtpsa lmtp http https local localhost 127.0.0.1 "
    "localhost.localdomain unknown helo ehlo may be forged envelope-from envelope-sender authenticated sender postfix "
    "userid exim qmail sendmail invoked network version using tls tlsv1 tlsv1.2 tlsv1.3 tls1_2 tls1_3 cipher bits 128 "
    "256 verify no not ok client certificate requested verified " + _ZONES,
    "date": _ZONES,
    "return-path": "",
    "delivered-to": "",
    "x-original-to": "",
    "envelope-to": "",
    "from": "",
    "to": "",
    "cc": "",
    "reply-to": "",
    "sender": "",
    "errors-to": "",
    "subject": "re fw fwd the you your for and to of in",
    "message-id": "",
    "in-reply-to": "",
    "references": "",
    "mime-version": "1.0",
    "content-type": "text plain html charset us-ascii iso-8859-1 utf-8 windows-1252 format flowed multipart boundary "
    "alternative mixed related signed nextpart",
    "content-transfer-encoding": "7bit 8bit quoted-printable base64",
    "content-language": "en en-us",
    "content-length": "",
    "lines": "",
    "organization": "",
    "x-mailer": "microsoft outlook express",
    "x-mimeole": "produced by microsoft mimeole",
    "x-priority": "normal",
    "x-msmail-priority": "normal",
    "importance": "normal",
    "user-agent": "mozilla 5.0",
    "thread-index": "",
    "thread-topic": "",
    "x-originating-ip": "",
    "precedence": "bulk list",
    "list-id": "",
    "list-unsubscribe": "mailto subject unsubscribe http https",
    "list-unsubscribe-post": "list-unsubscribe one-click",
    "list-subscribe": "mailto subject subscribe",
    "list-help": "mailto subject help",
    "list-post": "mailto",
    "list-archive": "",
    "auto-submitted": "auto-generated",
    "feedback-id": "",
    "received-spf": "pass fail softfail none neutral designates as permitted sender domain of client-ip helo receiver",
    "authentication-results": "spf dkim dmarc arc pass fail none neutral softfail action smtp.mailfrom header.from "
    "header.d header.i header.b header.s message not signed signature was verified sender ip is bit key dis reason",
    "dkim-signature": "rsa-sha256 rsa-sha1 relaxed simple bh to from cc subject date message-id mime-version reply-to "
    "content-type content-transfer-encoding references in-reply-to list-id list-unsubscribe sender default",
    "domainkey-signature": "rsa-sha1 nofws",
    "arc-seal": "rsa-sha256 cv none pass",
    "arc-message-signature": "rsa-sha256 relaxed simple bh to from cc subject date message-id mime-version "
    "content-type",
    "arc-authentication-results": "spf dkim dmarc arc pass fail none smtp.mailfrom header.from header.d",
}


@lru_cache(maxsize=2)
def ordinary_buckets(bits: int) -> frozenset[int]:
    """Return the buckets of header words, and of pairs of them, that mail of any mailbox may have."""
    lines = [
        f"{field}:{one} {two}" for field, text in _ORDINARY.items() for one, two in product(text.split(), repeat=2)
    ]
    lines += [f"{field}:" for field in _ORDINARY]
    pairs = (
        *product(_WEEKDAYS, (*_NUMBERS[:32], *_MONTHS)),
        *product(_NUMBERS[:32], _MONTHS),
        *product(_MONTHS, _YEARS),
        *product(_YEARS, _NUMBERS[:24]),
        *product(_NUMBERS, (*_NUMBERS, *_ZONES.split())),
    )
    lines += [f"{field}:{one} {two}" for field in _DATED for one, two in pairs]
    return frozenset(_buckets(lines, (1, 2), bits))


@lru_cache(maxsize=2)
def month_buckets(bits: int) -> tuple[dict[int, str], ...]:
    """Return the months that buckets stand for in the Received headers of a message, and in its Date header."""
    months = [(name, f"{year}-{number:02}") for year in _YEARS for number, name in enumerate(_MONTHS, 1)]
    return tuple(
        {bucket: month for name, month in months for bucket in _buckets([f"{field}:{name} {month[:4]}"], (2,), bits)}
        for field in ("received", "date")
    )


def _buckets(lines: Iterable[str], lengths: tuple[int, ...], bits: int) -> Iterable[int]:
    """Return the buckets of runs of words, of these lengths, in lines of headers."""
    keys, tokens = Keys(bits, named=0), Tokens("\n".join(lines).encode(), True)
    keys.begin(HEADER, kind_seed(b"header"))
    for n in lengths:
        keys.runs(tokens, n)
    return keys.distinct(len(KINDS))[0]
