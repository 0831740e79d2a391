"""Mail that is made to be dear: its kinds, what each costs, and a search for worse.

A kind is a beginning and a piece that is repeated. Both are made of tokens, so that the search can change them: it
replaces, inserts, deletes and doubles tokens, and keeps what takes the most processor time for its size.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from priory.filter.filter import Filter

MEGABYTE: Final = 1_000_000
SIZE: Final = 10 * MEGABYTE  #: of each message
POOL: Final = 24  #: of candidates that the search changes
_MULTIPART: Final = b"Content-Type: multipart/mixed; boundary=x\n\n"

TOKENS: Final = (
    b"\n", b"\r\n", b"\n\n", b" ", b"\n ", b"a", b"a:", b"x-a:", b"s", b"Subject:", b"From:", b"To:", b"Reply-To:",
    b"Date:", b"Message-ID:", b"Content-Type: text/plain", b"Content-Type: text/html", b"Content-Type: a/b",
    b"\nContent-Type: ", b"Content-Type: message/rfc822\n\n", b"Content-Type: multipart/mixed; boundary=x\n\n",
    b"; charset=", b"utf-7", b"utf-16", b"utf-8", b"iso-2022-jp", b"gb18030", b"hz", b"big5", b"euc-kr", b"cp1251",
    b"x-unknown", b"; boundary=", b"; name=", b"; filename=", b"Content-Disposition: attachment",
    b"Content-Transfer-Encoding: base64", b"Content-Transfer-Encoding: quoted-printable", b"\x81", b"\xc3\xa9",
    b"\xe7\x89\xb9", b"\xe2\x80\x8b", b"\xc4\xb0", b"\xf0\x9f\x8e\x81", b"\xff", b"\x00", b"=?utf-8?q?", b"=?x?q?",
    b"=?y?b?", b"=?gb2312?b?", b"?=", b"=81", b"=?", b"?", b"*", b";", b"=", b";a=", b";a*=", b";a*1*=", b"%81", b'"',
    b"\\", b"'", b"--x", b"--x--", b"--xx", b"--", b"<", b">", b"</", b"<a href=", b"<p ", b"<title>", b"<script>",
    b"<style>", b"<!--", b"-->", b"<b>", b"&", b"&lt;", b"&#1", b"&#x", b"&notit;", b"&abcdefghijklmnopqrstuvwxyz",
    b"http://", b"://", b"@", b".", b"-", b"1", b"+1200", b"a.b", b"A", b"!", b"AAAA", b"=41", b"=\n", b"=4",
    b"+2AA-", b"\x1b$B", b"~{", b"word ", b"$9",
)  # fmt: skip


@dataclass(frozen=True)
class HostileKind:
    """A kind of message: in each of its parts, a beginning and then a piece again and again."""

    beginning: tuple[bytes, ...]
    piece: tuple[bytes, ...]
    n_parts: int = 1
    is_numbered: bool = False  #: the pieces have numbers in place of `%d`

    def message(self, size: int = SIZE) -> bytes:
        """Return a message of this size."""
        beginning, piece = b"".join(self.beginning), b"".join(self.piece)
        room = max(size // self.n_parts - len(beginning) - 10, len(piece), 1)
        if self.is_numbered:
            filling = b"".join(piece.replace(b"%d", b"%d" % i) for i in range(room // (len(piece) + 3)))
        else:
            filling = (piece * (room // max(len(piece), 1) + 1))[:room]
        if self.n_parts == 1:
            return beginning + filling
        return _MULTIPART + (b"--x\n" + beginning + filling + b"\n\n") * self.n_parts + b"--x--\n"


def _nested(names: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(b"Content-Type: multipart/mixed; boundary=%b\n\n--%b\n" % (name, name) for name in names)


_DISPOSITION: Final = (b"Content-Disposition: attachment",)
_BASE64: Final = (b"Content-Type: a/b\n", b"Content-Transfer-Encoding: base64", b"\n\n")
_HTML: Final = (b"Content-Type: text/html", b"\n\n")
KINDS: Final = {
    "header lines with a byte beyond ASCII": HostileKind((), (b"a:", b"\x81", b"\n"), 40),
    "the same, in one header": HostileKind((), (b"a:", b"\x81", b"\n")),
    "the same, with CR LF": HostileKind((), (b"a:", b"\x81", b"\r\n"), 40),
    "empty header lines": HostileKind((), (b"a:", b"\n"), 40),
    "names of headers that may be ignored": HostileKind((), (b"s%d:", b"\n"), 40, is_numbered=True),
    "percent-encoded parameters": HostileKind(_DISPOSITION, (b";a%d*=%%81",), 40, is_numbered=True),
    "segments of one parameter": HostileKind(_DISPOSITION, (b";a*%d*=%%81",), 40, is_numbered=True),
    "parameters beyond ASCII": HostileKind(_DISPOSITION, (b";a%d=\x81",), 40, is_numbered=True),
    "encoded words": HostileKind((b"Subject:",), (b"=?utf-8?q?", b"=81", b"?=", b" "), 40),
    "encoded words in two charsets": HostileKind((b"Subject:",), (b"=?x?q?a?= =?y?q?a?= ",), 40),
    "encoded words in unknown charsets": HostileKind((b"Subject:",), (b"=?x%d?q?a?= ",), 40, is_numbered=True),
    "a file's name of encoded words": HostileKind(
        (b'Content-Disposition: attachment; filename="',), (b"=?x%d?q?a?= ",), 40, is_numbered=True
    ),
    "boundaries that are prefixes": HostileKind(_nested([b"a" * n for n in range(1, 26)]), (b"\n--" + b"a" * 26,)),
    "boundaries of one letter, nested": HostileKind(_nested([bytes([65 + n]) for n in range(25)]), (b"\n--",)),
    "boundary lines with a long name": HostileKind(_nested([b"a" * 30_000]), (b"\n--" + b"a" * 30_000 + b"x",)),
    "tiny parts": HostileKind((_MULTIPART,), (b"--x", b"\n\n")),
    "messages in messages": HostileKind((), (b"Content-Type: message/rfc822\n\n",)),
    "base64 with junk between its letters": HostileKind(_BASE64, (b"A", b"!")),
    "base64": HostileKind(_BASE64, (b"AAAA",)),
    "broken quoted-printable": HostileKind(
        (b"Content-Type: a/b\n", b"Content-Transfer-Encoding: quoted-printable", b"\n\n"), (b"=4", b"=\n", b"=")
    ),
    "CR LF": HostileKind((b"Subject:", b"\r\n\r\n"), (b"\r\n",)),
    "attributes": HostileKind(_HTML, (b"<p ", b"a", b"=", b"a", b">")),
    "links": HostileKind(_HTML, (b"<a href=", b"a", b">", b"a.b", b"</", b"a", b">")),
    "nested tags": HostileKind(_HTML, (b"<b>",)),
    "entities": HostileKind(_HTML, (b"&lt;",)),
    "unknown entities": HostileKind(_HTML, (b"&abcdefghijklmnopqrstuvwxyz",)),
    "addresses": HostileKind((b"\n",), (b"http://", b"a.b", b" ")),
    "surrogates in UTF-7": HostileKind((b"Content-Type: text/plain", b"; charset=", b"utf-7", b"\n\n"), (b"+2AA-",)),
    "zeros": HostileKind((b"\n",), (b"\0",)),
}


@dataclass(frozen=True)
class Cost:
    """What a message costs: processor time of each act, and memory beyond that of the process before."""

    size: int
    check_s: float
    explain_s: float
    json_s: float
    memory_mb: float
    defects: tuple[str, ...]

    @property
    def s_per_mb(self) -> float:
        """The seconds of a check for each megabyte."""
        return self.check_s / (self.size / MEGABYTE)


def cost_of(filter_: Filter, raw: bytes) -> Cost:
    """Return what a message costs. Call in a process of its own: the peak of its memory is then that of the message."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _peak_mb()
    check_s = seconds_of(lambda: filter_.check(raw))
    memory_mb = _peak_mb() - before
    json_s = seconds_of(lambda: filter_.check(raw, located=True).to_json())
    explain_s = seconds_of(lambda: filter_.explain(raw).as_dict())
    prepared = filter_.prepare(raw)
    return Cost(len(raw), check_s, explain_s, json_s, memory_mb, prepared.message.defects)


def seconds_of(act: Callable[[], object]) -> float:
    """Return the processor time of an act."""
    start = time.process_time()
    act()
    return time.process_time() - start


def _peak_mb() -> float:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def search(filter_: Filter, seconds: float, size: int, seed: int) -> list[tuple[float, HostileKind]]:
    """Return the dearest kinds that were found within a time, with their processor time for a message of this size."""
    chance = random.Random(seed)  # noqa: S311
    until = time.monotonic() + seconds
    pool = sorted(((_dear(filter_, kind, size), kind) for kind in KINDS.values()), key=lambda pair: -pair[0])
    while time.monotonic() < until:
        parent = pool[int(len(pool) * chance.random() ** 2)][1]
        child = _changed(parent, pool[chance.randrange(len(pool))][1], chance)
        dear = _dear(filter_, child, size)
        if dear > pool[-1][0] and all(child != kind for _, kind in pool):
            pool = sorted([*pool, (dear, child)], key=lambda pair: -pair[0])[:POOL]
    return pool


def _dear(filter_: Filter, kind: HostileKind, size: int) -> float:
    raw = kind.message(size)
    return min(seconds_of(lambda: filter_.check(raw)) for _ in range(2))


def _changed(kind: HostileKind, other: HostileKind, chance: random.Random) -> HostileKind:
    """Return a kind with a few tokens changed, or with the piece or beginning of another."""
    beginning, piece, n_parts = list(kind.beginning), list(kind.piece), kind.n_parts
    for _ in range(chance.randint(1, 3)):
        tokens = piece if chance.random() < 0.6 else beginning
        at = chance.randrange(len(tokens) + 1)
        match chance.randrange(8):
            case 0 | 1:
                tokens.insert(at, chance.choice(TOKENS))
            case 2 if tokens:
                tokens[min(at, len(tokens) - 1)] = chance.choice(TOKENS)
            case 3 if len(tokens) > 1:
                del tokens[min(at, len(tokens) - 1)]
            case 4:
                tokens[at:at] = tokens[: chance.randint(1, 3)]
            case 5:
                tokens[at:at] = chance.choice((other.piece, other.beginning))
            case 6:
                n_parts = chance.choice((1, 2, 8, 40, 200))
            case _:
                tokens.insert(at, chance.choice(TOKENS) * chance.choice((2, 30, 1_000)))
    piece = piece[:40] or [b"a"]
    is_numbered = kind.is_numbered and b"%d" in b"".join(piece)
    return replace(kind, beginning=tuple(beginning[:60]), piece=tuple(piece), n_parts=n_parts, is_numbered=is_numbered)
