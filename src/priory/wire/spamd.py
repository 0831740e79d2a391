r"""The protocol of SpamAssassin's daemon, SPAMC/1.2 to 1.5, which `spamc`, Exim and mail programs speak.

A connection carries one request and one answer. After the first line come fields, an empty line, and a body:

    PROCESS SPAMC/1.5            SPAMD/1.1 0 EX_OK
    User: ann                    Content-length: 1300
    Content-length: 1234         Spam: True ; 7.9 / 5.0

    …the message…                …the message with a verdict…

Content-length gives the number of bytes in the body of a request. Without that field the body ends when the client
stops sending. PING and SKIP have no body, and before 1.5 no fields either. Unknown fields are ignored, and bytes after
the body are not read. Lines may end in a bare line feed.

Any other irregularity is the client's error. The answer is one line in SpamAssassin's own words, with a status of
sysexits.h: `SPAMD/1.0 76 Bad header line: (EOF during headers)`.

>>> incoming = Incoming(most_bytes=1000)
>>> incoming.receive(b"CHECK SPAMC/1.5\r\nUser: ann\r\nContent-le")
>>> request = incoming.receive(b"ngth: 15\r\n\r\nSubject: lunch?")
>>> request.verb, request.user, request.body
('CHECK', 'ann', b'Subject: lunch?')
>>> rating_answer(request, Rating(is_spam=False, points=-2.31, threshold=5.0))
b'SPAMD/1.1 0 EX_OK\r\nSpam: False ; -2.3 / 5.0\r\n\r\n'
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

LONGEST_LINE: Final = 1024
MOST_FIELDS: Final = 255
EX_UNAVAILABLE, EX_SOFTWARE, EX_TEMPFAIL, EX_PROTOCOL, EX_TIMEOUT, EX_TOOBIG = 69, 70, 75, 76, 79, 98
RATING_VERBS: Final = frozenset(("CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS"))
PONG: Final = b"SPAMD/1.5 0 PONG\r\n"
_EMPTY_VERBS: Final = frozenset(("PING", "SKIP"))
VERBS: Final = RATING_VERBS | _EMPTY_VERBS | {"TELL"}
_FIRST_LINE: Final = re.compile(rb"([A-Z_]+) SPAMC/1\.([2-9])")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class Refused(Exception):  # noqa: N818 - the client's error, not ours
    """A refused request. `answer` tells the client why and may quote its bytes; the text is safe for a log."""

    def __init__(self, status: int, text: str, quoted: bytes = b"") -> None:
        super().__init__(text)
        self._arguments = (status, text, quoted)
        self.status = status
        shown = quoted[:80].decode("ascii", "replace").translate(dict.fromkeys((*range(32), 127, 0xFFFD), "?"))
        self.answer = f"SPAMD/1.0 {status} {text}{shown}\r\n".encode("ascii", "backslashreplace")

    def __reduce__(self) -> tuple[type["Refused"], tuple[int, str, bytes]]:
        """Return how to make a copy in another process."""
        return Refused, self._arguments

    @classmethod
    def bad(cls, what: str, quoted: bytes = b"") -> "Refused":
        """Return the refusal of a request that breaks the protocol."""
        return cls(EX_PROTOCOL, f"Bad header line: {what}", quoted)

    @classmethod
    def unavailable(cls, why: str) -> "Refused":
        """Return the refusal of a request that cannot be served."""
        return cls(EX_UNAVAILABLE, f"Service Unavailable: {why}")


@dataclass(frozen=True, slots=True)
class Request:
    """A complete request of a client."""

    verb: str
    minor: int  #: the minor version: 5 for SPAMC/1.5
    length: int | None = None  #: bytes of the body as it is sent, before decompression
    is_compressed: bool = False
    user: str = ""
    message_class: str = ""  #: the label to learn: ham, spam
    set_local: bool = False  #: learn the message
    remove_local: bool = False  #: forget the message
    only_asks: bool = False  #: learn nothing, not even automatically (Priory's own field Only-asks)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Rating:
    """A verdict on SpamAssassin's scale."""

    is_spam: bool
    points: float
    threshold: float


class Incoming:
    """A request while it arrives. The result does not depend on how the bytes are split."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._unread = bytearray()
        self._request: Request | None = None
        self._n_fields = 0
        self._is_body = False

    @property
    def has_begun(self) -> bool:
        """Whether any bytes have arrived."""
        return self._request is not None or bool(self._unread)

    def receive(self, data: bytes) -> Request | None:
        """Process bytes from the client; return the request once it is complete. Raises Refused."""
        self._unread += data
        while not self._is_body:
            line = self._line()
            if line is None:
                return None
            self._take(line)
        return self._complete()

    def finish(self) -> Request:
        """Return the request after the client has stopped sending. Raises Refused if it is incomplete."""
        if not self._is_body:
            raise Refused.bad("(EOF during headers)" if self.has_begun else "(closed before headers)")
        assert self._request is not None
        if self._request.length is not None:
            expected, got = self._request.length, len(self._unread)
            raise Refused.bad(f"(Content-Length mismatch: Expected {expected} bytes, got {got} bytes)")
        return replace(self._request, body=bytes(self._unread))

    def _line(self) -> bytes | None:
        end = self._unread.find(b"\n", 0, LONGEST_LINE + 1)
        if end >= 0:
            line = bytes(self._unread[:end])
            del self._unread[: end + 1]
            return line.removesuffix(b"\r")
        if len(self._unread) > LONGEST_LINE:
            raise Refused.bad(f"(line longer than {LONGEST_LINE} bytes)")
        return None

    def _take(self, line: bytes) -> None:
        if self._request is None:
            self._request = _first(line)
            self._is_body = self._request.verb in _EMPTY_VERBS and self._request.minor < 5
        elif line:
            self._n_fields += 1
            if self._n_fields > MOST_FIELDS:
                raise Refused.bad("(too many headers)")
            self._request = _with_field(self._request, line)
        else:
            self._refuse_wrong(self._request)
            self._is_body = True

    def _refuse_wrong(self, request: Request) -> None:
        if request.length is not None and request.length > self._most_bytes:
            raise _too_big(self._most_bytes)
        if request.is_compressed and request.length is None:
            raise Refused.unavailable("Compress requires Content-length header")
        if request.set_local and request.remove_local:
            raise Refused.bad("Unable to set local and remove local in the same operation.")
        if request.verb == "TELL" and request.set_local and not request.message_class:
            raise Refused.bad("(Set needs a Message-class)")

    def _complete(self) -> Request | None:
        request = self._request
        assert request is not None
        if request.verb in _EMPTY_VERBS:
            return request
        if request.length is None:
            if len(self._unread) > self._most_bytes:
                raise _too_big(self._most_bytes)
            return None
        if len(self._unread) < request.length:
            return None
        body = bytes(self._unread[: request.length])
        return replace(request, body=_inflate(body, self._most_bytes) if request.is_compressed else body)


def rating_answer(request: Request, rating: Rating, body: bytes = b"", extra: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return the answer to a request for a verdict, with the fields that the client's version knows."""
    yes, no = ("Yes", "No") if request.verb == "REPORT_IFSPAM" else ("True", "False")
    spam = ("Spam", f"{yes if rating.is_spam else no} ; {rating.points:.1f} / {rating.threshold:.1f}")
    if request.verb == "CHECK":
        return _ok([spam])
    if request.minor >= 3:
        return _ok([("Content-length", str(len(body))), spam, *extra]) + body
    if request.verb in {"PROCESS", "HEADERS"}:
        return _ok([("Content-length", str(len(body)))]) + body
    return _ok([spam]) + body + (b"\r\n" if request.verb == "SYMBOLS" else b"")


def tell_answer(*, did_set: bool, did_remove: bool) -> bytes:
    r"""Return the answer to TELL, which names the operations that were done.

    >>> tell_answer(did_set=True, did_remove=False)
    b'SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n\r\n\r\n'
    """
    done = [("DidSet", "local")] * did_set + [("DidRemove", "local")] * did_remove
    return _ok(done) + b"\r\n"


def _ok(fields: Sequence[tuple[str, str]]) -> bytes:
    lines = ["SPAMD/1.1 0 EX_OK", *(f"{name}: {value}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("ascii")


def _first(line: bytes) -> Request:
    match = _FIRST_LINE.fullmatch(line)
    verb = match[1].decode("ascii") if match else ""
    if match is None or verb not in VERBS:
        raise Refused.bad("", line)
    return Request(verb, int(match[2]))


def _with_field(request: Request, line: bytes) -> Request:
    name, colon, rest = line.partition(b":")
    if not colon:
        raise Refused.bad("(header not in 'Name: value' format)")
    value = rest.strip()
    lowered = value.lower()
    match name.lower():
        case b"content-length":
            if not value.isdigit():
                raise Refused.bad("(Content-Length contains non-numeric bytes)")
            request = replace(request, length=int(value))
        case b"user":
            user = value.decode("utf-8", "backslashreplace")
            if _CONTROL.search(user):
                raise Refused.bad("(User header contains control chars)")
            request = replace(request, user=user)
        case b"message-class":
            request = replace(request, message_class=lowered.decode("ascii", "backslashreplace"))
        case b"set":
            request = replace(request, set_local=b"local" in lowered)
        case b"remove":
            request = replace(request, remove_local=b"local" in lowered)
        case b"compress":
            if b"zlib" not in lowered:
                raise Refused.bad("(compression type not supported) ", value)
            request = replace(request, is_compressed=True)
        case b"only-asks":
            request = replace(request, only_asks=lowered == b"yes")
    return request


def _inflate(data: bytes, most_bytes: int) -> bytes:
    """Decompress to at most `most_bytes`, because a few bytes may expand to gigabytes."""
    inflater = zlib.decompressobj()
    try:
        whole = inflater.decompress(data, most_bytes + 1)
    except zlib.error:
        raise Refused.unavailable("zlib: the data are damaged") from None
    if len(whole) > most_bytes:
        raise _too_big(most_bytes)
    if not inflater.eof:
        raise Refused.unavailable("zlib: failed to find end of zlib stream")
    return whole


def _too_big(most_bytes: int) -> Refused:
    return Refused(EX_TOOBIG, f"Message too big: at most {most_bytes} bytes are taken")
