r"""The protocol that SpamAssassin's clients speak to its daemon, SPAMC/1.2 to 1.5: `spamc`, Exim, mail programs.

A connection carries one request and one answer. After the first line come fields, an empty line, and a body:

    PROCESS SPAMC/1.5            SPAMD/1.1 0 EX_OK
    User: ann                    Content-length: 1300
    Content-length: 1234         Spam: True ; 7.9 / 5.0

    …the message…                …the message with a verdict…

The body of a request has as many bytes as Content-length says, or, without that field, all bytes until the client
stops sending. PING and SKIP have none, and before 1.5 no fields either. Fields that nobody knows are ignored, and
what follows the body is not read; lines may end in a bare line feed.

Whatever else is wrong is the client's error. It is answered in the words of the original, with a status of sysexits.h,
by one line: `SPAMD/1.0 76 Bad header line: (EOF during headers)`.

>>> incoming = Incoming(most_bytes=1000)
>>> incoming.receive(b"CHECK SPAMC/1.5\r\nUser: ann\r\nContent-le")
>>> request = incoming.receive(b"ngth: 15\r\n\r\nSubject: lunch?")
>>> request.verb, request.user, request.body
('CHECK', 'ann', b'Subject: lunch?')
>>> rated(request, Rating(is_spam=False, points=-2.31, threshold=5.0))
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
    """A request that is not done: `answer` tells the client why, and may quote it; the text is fit for a log."""

    def __init__(self, status: int, text: str, quoted: bytes = b"") -> None:
        super().__init__(text)
        self.status = status
        shown = quoted[:80].decode("ascii", "replace").translate(dict.fromkeys((*range(32), 127, 0xFFFD), "?"))
        self.answer = f"SPAMD/1.0 {status} {text}{shown}\r\n".encode("ascii", "backslashreplace")

    @classmethod
    def bad(cls, what: str, quoted: bytes = b"") -> "Refused":
        """The request breaks the protocol."""
        return cls(EX_PROTOCOL, f"Bad header line: {what}", quoted)

    @classmethod
    def unavailable(cls, why: str) -> "Refused":
        """What is asked for cannot be done."""
        return cls(EX_UNAVAILABLE, f"Service Unavailable: {why}")


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for."""

    verb: str
    minor: int  #: of the version: 5 if it speaks SPAMC/1.5
    length: int | None = None  #: of the body as it is sent
    is_compressed: bool = False
    user: str = ""
    message_class: str = ""  #: what a message is told to be: ham, spam
    set_local: bool = False  #: it is to be learned
    remove_local: bool = False  #: it is to be forgotten
    only_asks: bool = False  #: nothing is to be learned of it, not even automatically: a field of ours
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Rating:
    """A verdict in SpamAssassin's terms."""

    is_spam: bool
    points: float
    threshold: float


class Incoming:
    """One request, as far as it has come; what it makes of the bytes does not depend on how they were cut."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._unread = bytearray()
        self._request: Request | None = None
        self._n_fields = 0
        self._is_body = False

    @property
    def has_begun(self) -> bool:
        """Whether anything has come."""
        return self._request is not None or bool(self._unread)

    def receive(self, data: bytes) -> Request | None:
        """Take what the client has sent; return the request when it is complete. Raises Refused."""
        self._unread += data
        while not self._is_body:
            line = self._line()
            if line is None:
                return None
            self._take(line)
        return self._complete()

    def finish(self) -> Request:
        """Return the request, which ends here, as the client sends no more. Raises Refused if it is not complete."""
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
        return replace(request, body=_inflated(body, self._most_bytes) if request.is_compressed else body)


def rated(request: Request, rating: Rating, body: bytes = b"", extra: Sequence[tuple[str, str]] = ()) -> bytes:
    """Return the answer to a request that asks about a message; the fields that a version knows differ."""
    yes, no = ("Yes", "No") if request.verb == "REPORT_IFSPAM" else ("True", "False")
    spam = ("Spam", f"{yes if rating.is_spam else no} ; {rating.points:.1f} / {rating.threshold:.1f}")
    if request.verb == "CHECK":
        return _ok([spam])
    if request.minor >= 3:
        return _ok([("Content-length", str(len(body))), spam, *extra]) + body
    if request.verb in {"PROCESS", "HEADERS"}:
        return _ok([("Content-length", str(len(body)))]) + body
    return _ok([spam]) + body + (b"\r\n" if request.verb == "SYMBOLS" else b"")


def told(*, did_set: bool, did_remove: bool) -> bytes:
    r"""Return the answer to TELL: what was done, if anything was.

    >>> told(did_set=True, did_remove=False)
    b'SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n\r\n\r\n'
    """
    done = [("DidSet", "local")] * did_set + [("DidRemove", "local")] * did_remove
    return _ok(done) + b"\r\n"


def _ok(fields: Sequence[tuple[str, str]]) -> bytes:
    lines = ["SPAMD/1.1 0 EX_OK", *(f"{name}: {value}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("ascii")


def _first(line: bytes) -> Request:
    found = _FIRST_LINE.fullmatch(line)
    verb = found[1].decode("ascii") if found else ""
    if found is None or verb not in VERBS:
        raise Refused.bad("", line)
    return Request(verb, int(found[2]))


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


def _inflated(data: bytes, most_bytes: int) -> bytes:
    """Decompress, but never to more than is allowed: a few bytes may stand for gigabytes."""
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
