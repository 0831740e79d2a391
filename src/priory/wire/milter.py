r"""The milter protocol, versions 2 to 6, with which Postfix and Sendmail ask about mail while it arrives.

A packet is its length in four bytes, a letter for its type, and its data. The mail server reports each step of a
message, and waits for an answer after each step unless both sides agreed at the start to skip it. One table has all
states: which step may come in which state, and which state follows.

    server                              milter
    O version, actions, steps           O version, actions, steps        both agree on what both support
    D macros, M sender                  c                                a message begins: go on
    R recipient …                       (nothing: agreed)
    L field …                           (nothing: agreed)
    B some of the body …                c, or s: no more, please
    E                                   i m q … then a, c or y           insert, change, quarantine; then the decision
    A                                                                    the message is aborted; the connection stays
    Q                                                                    the connection ends

>>> milter = Milter(most_bytes=1000)
>>> offer = packet("O", (6).to_bytes(4) + (0x1FF).to_bytes(4) + (0x1FFFFF).to_bytes(4))
>>> answer, _ = milter.receive(offer)
>>> answer[4:5]
b'O'
>>> milter.receive(packet("D", b"Mi\x004XyZ\x00") + packet("M", b"<ann@mail.example>\x00"))[1]
Begun(macros={'i': '4XyZ'})
>>> milter.receive(packet("L", b"Subject\x00 lunch?\x00") + packet("B", b"At noon.\r\n"))
(b'\x00\x00\x00\x01c', None)
>>> _, message = milter.receive(packet("E"))
>>> message.raw
b'Subject: lunch?\n\nAt noon.\n'
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

VERSION: Final = 6
LONGEST_PACKET: Final = 1024 * 1024  #: servers send bodies in pieces of 64 kB
MOST_WATCHED: Final = 10_000
LONGEST_WATCHED: Final = 100  #: bytes of the name of a watched field
MOST_MACRO_BYTES: Final = 64 * 1024  #: of all steps together; Postfix and Sendmail send a few kB
LONGEST_ADDRESS: Final = 320

ADD_FIELDS, CHANGE_FIELDS, QUARANTINE = 0x01, 0x10, 0x20
_ACTIONS: Final = ADD_FIELDS | CHANGE_FIELDS | QUARANTINE
#: Steps that the server need not report: connection, greeting, end of the fields, unknown commands, DATA.
_LEFT_OUT: Final = 0x01 | 0x02 | 0x40 | 0x100 | 0x200
#: Steps that need an answer, unless both sides agreed otherwise.
_SILENT: Final = {
    "C": 0x1000,
    "H": 0x2000,
    "M": 0x4000,
    "R": 0x8000,
    "L": 0x80,
    "N": 0x40000,
    "T": 0x10000,
    "U": 0x20000,
}
_SKIP: Final = 0x400  #: the server can skip the rest of a body
_LEADING_SPACE: Final = 0x100000  #: values of fields include the space after the colon
_WANTED: Final = _LEFT_OUT | _SILENT["R"] | _SILENT["L"] | _SKIP | _LEADING_SPACE

_START, _READY, _ENVELOPE, _FIELDS, _BODY, _END = "start", "ready", "envelope", "fields", "body", "end"
_ANYWHERE: Final = (_READY, _ENVELOPE, _FIELDS, _BODY)
#: The state that follows a state and a step; other steps are not allowed.
_NEXT: Final = {
    (_START, "O"): _READY,
    (_READY, "C"): _READY,
    (_READY, "H"): _READY,
    (_ENVELOPE, "R"): _ENVELOPE,
    (_ENVELOPE, "T"): _ENVELOPE,
    **{(state, "L"): _FIELDS for state in (_ENVELOPE, _FIELDS)},
    **{(state, "N"): _BODY for state in (_ENVELOPE, _FIELDS)},
    **{(state, "B"): _BODY for state in (_ENVELOPE, _FIELDS, _BODY)},
    **{(state, "E"): _READY for state in (_ENVELOPE, _FIELDS, _BODY)},
    **{(state, "M"): _ENVELOPE for state in _ANYWHERE},
    **{(state, "A"): _READY for state in _ANYWHERE},
    **{(state, "K"): _READY for state in _ANYWHERE},  # another SMTP connection over the same milter connection
    **{(state, "U"): state for state in _ANYWHERE},
    **{(state, "D"): state for state in (_START, *_ANYWHERE)},
    **{(state, "Q"): _END for state in (_START, *_ANYWHERE)},
}


class BrokenError(Exception):
    """The server has broken the protocol; the only answer is to close the connection."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A message begins; its macros include the queue number (`i`) and the authenticated user (`auth_authen`)."""

    macros: dict[str, str]


@dataclass(slots=True)
class MilterMessage:
    """A message that has arrived completely."""

    macros: dict[str, str] = field(default_factory=dict)
    watched: list[bytes] = field(default_factory=list)  #: names of the watched fields that it has, in lower case
    head: bytes = b""
    body: bytes = b""
    is_cut: bool = False  #: the message was longer than `most_bytes`
    recipient: str = ""  #: the address of the recipient in lower case, if there is only one
    n_recipients: int = 0

    @property
    def n_bytes(self) -> int:
        """The length of `raw`."""
        return len(self.head) + 1 + len(self.body) - self.body.count(b"\r\n")

    @property
    def raw(self) -> bytes:
        """The message with the line endings that it will have in a mailbox."""
        return self.head + b"\n" + self.body.replace(b"\r\n", b"\n")


class Milter:
    """The milter's side of one connection. The result does not depend on how the bytes are split."""

    def __init__(self, most_bytes: int, watched: tuple[bytes, ...] = ()) -> None:
        """Read up to `most_bytes` of a message, and collect the names of fields that begin with one of `watched`."""
        self._most_bytes = most_bytes
        self._watched = watched
        self._unread = bytearray()
        self._state = _START
        self._agreed = 0
        self._macros: dict[int, bytes] = {}  # by step, as they were sent: few are read
        self._message = MilterMessage()
        self._head = bytearray()
        self._body = bytearray()
        self._room = most_bytes
        self.actions = 0  #: the actions that the server allows

    @property
    def is_over(self) -> bool:
        """Whether the server has ended the connection."""
        return self._state == _END

    @property
    def has_negotiated(self) -> bool:
        """Whether the server has begun as a mail server does."""
        return self._state != _START

    @property
    def is_between_messages(self) -> bool:
        """Whether the negotiation is done and no message is in progress."""
        return self._state == _READY

    def receive(self, data: bytes) -> tuple[bytes, Begun | MilterMessage | None]:
        """Process bytes from the server; return the bytes to send at once, and the event that the caller must answer.

        The server waits for that answer, so nothing follows the event in the same bytes.
        """
        self._unread += data
        answers: list[bytes] = []
        while (step := self._step()) is not None:
            name, content = step
            following = _NEXT.get((self._state, name))
            if following is None:
                raise BrokenError(f"step {name!r} is not allowed here (state {self._state})")
            answer, decision = self._take(name, content)
            self._state = following
            answers.append(answer)
            if decision is not None:
                return b"".join(answers), decision
        return b"".join(answers), None

    def insert_fields(self, fields: Iterable[tuple[str, str]]) -> bytes:
        """Return packets that insert fields before all others, if the server allows it. Folds are bare line feeds."""
        if not self.actions & ADD_FIELDS:
            return b""
        space = " " if self._agreed & _LEADING_SPACE else ""
        return b"".join(
            packet("i", at.to_bytes(4) + f"{name}\0{space}{value}\0".encode())
            for at, (name, value) in enumerate(fields)
        )

    def remove_fields(self, names: Iterable[bytes]) -> bytes:
        """Return packets that remove one field per name given, if the server allows it.

        The server numbers the fields of each name. The last is removed first, so that the numbers stay valid.
        """
        n_named = Counter(names) if self.actions & CHANGE_FIELDS else Counter()
        return b"".join(
            packet("m", at.to_bytes(4) + name + b"\0\0") for name, n in n_named.items() for at in range(n, 0, -1)
        )

    def quarantine(self, reason: str) -> bytes:
        """Return the packet that quarantines the message, if the server allows it."""
        return packet("q", reason.encode() + b"\0") if self.actions & QUARANTINE else b""

    def _step(self) -> tuple[str, bytes] | None:
        if len(self._unread) < 4:
            return None
        length = int.from_bytes(self._unread[:4])
        if not 1 <= length <= LONGEST_PACKET:
            raise BrokenError(f"packet of {length} bytes; 1 to {LONGEST_PACKET} are allowed")
        if len(self._unread) < 4 + length:
            return None
        content = bytes(self._unread[5 : 4 + length])
        name = chr(self._unread[4])
        del self._unread[: 4 + length]
        return name, content

    def _take(self, name: str, content: bytes) -> tuple[bytes, Begun | MilterMessage | None]:
        answer = b""
        decision: Begun | MilterMessage | None = None
        match name:
            case "O":
                answer = self._negotiate(content)
            case "D":
                self._take_macros(content)
            case "M":
                self._start_anew(known=b"CHM")
                decision = Begun(self._all_macros())
            case "R":
                self._take_recipient(content)
            case "L":
                self._take_field(content)
            case "B":
                answer = self._take_body(content)
            case "E":
                self._take_body(content)
                decision = self._complete()
            case "A":
                self._start_anew(known=b"CH")
            case "K" | "Q":
                self._start_anew(known=b"")
        if name in _SILENT and decision is None and not self._agreed & _SILENT[name]:
            answer = CONTINUE
        return answer, decision

    def _negotiate(self, content: bytes) -> bytes:
        if len(content) < 12:
            raise BrokenError("negotiation without version, actions and steps")
        version, actions, steps = (int.from_bytes(content[i : i + 4]) for i in (0, 4, 8))
        if version < 2:
            raise BrokenError(f"version {version} of the protocol is not supported")
        self.actions, self._agreed = actions & _ACTIONS, steps & _WANTED
        return packet("O", b"".join(n.to_bytes(4) for n in (min(version, VERSION), self.actions, self._agreed)))

    def _take_macros(self, content: bytes) -> None:
        """Store the macros of a step in place of those that it had. A server may send them as often as it likes."""
        if content:
            self._macros[content[0]] = content[1:]
        if sum(map(len, self._macros.values())) > MOST_MACRO_BYTES:
            raise BrokenError(f"more than {MOST_MACRO_BYTES} bytes of macros")

    def _all_macros(self) -> dict[str, str]:
        """Return all macros of the message so far."""
        return {name: value for content in self._macros.values() for name, value in _pairs(content)}

    def _complete(self) -> MilterMessage:
        message, message.macros = self._message, self._all_macros()
        message.head, message.body = bytes(self._head), bytes(self._body)
        self._start_anew(known=b"CH")
        return message

    def _start_anew(self, known: bytes) -> None:
        """Drop the message, and the macros of all steps except `known`."""
        self._macros = {step: macros for step, macros in self._macros.items() if step in known}
        self._message, self._head, self._body, self._room = MilterMessage(), bytearray(), bytearray(), self._most_bytes

    def _take_recipient(self, content: bytes) -> None:
        """Store the address of the recipient if it is the only one. SMTP parameters follow it."""
        address = content.partition(b"\0")[0].strip(b"<>").decode("utf-8", "backslashreplace").lower()
        is_plain = len(address) <= LONGEST_ADDRESS and address.isprintable()
        self._message.n_recipients += 1
        self._message.recipient = address if is_plain and self._message.n_recipients == 1 else ""

    def _take_field(self, content: bytes) -> None:
        name, _, value = content.partition(b"\0")
        value = value.removesuffix(b"\0")
        line = name + (b":" if self._agreed & _LEADING_SPACE else b": ") + value + b"\n"
        is_watched = len(name) <= LONGEST_WATCHED and name.lower().startswith(self._watched)
        if is_watched and len(self._message.watched) < MOST_WATCHED:
            self._message.watched.append(name.lower())
        self._room -= len(line)
        if self._room < 0:
            self._room, self._message.is_cut = 0, True
        else:
            self._head += line

    def _take_body(self, content: bytes) -> bytes:
        self._body += content[: self._room]
        if len(content) > self._room:
            self._message.is_cut = True
        self._room = max(self._room - len(content), 0)
        return SKIP if self._agreed & _SKIP and not self._room else CONTINUE


def _pairs(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the names and values of macros, without the braces around long names."""
    texts = [text.decode("utf-8", "backslashreplace") for text in content.split(b"\0")]
    return ((name.strip("{}"), value) for name, value in zip(texts[::2], texts[1::2], strict=False))


def packet(name: str, content: bytes = b"") -> bytes:
    """Return the bytes of a packet."""
    return (len(content) + 1).to_bytes(4) + name.encode("ascii") + content


CONTINUE: Final = packet("c")
ACCEPT: Final = packet("a")
SKIP: Final = packet("s")


def reject_packet(text: str) -> bytes:
    """Return the packet that rejects the message during the SMTP session."""
    return packet("y", f"550 5.7.1 {text}".replace("%", "%%").encode() + b"\0")
