"""The thin client: `priory filter` and `priory check FILE`, answered by a running daemon if there is one.

To load the filter takes many times as long as to ask who has it loaded. So this module loads next to nothing, and takes
only what it is sure to answer, byte for byte, as the ordinary command would; all else is left to that one. So is
everything if no daemon answers in time, or not as expected: nothing depends on the daemon being well.
"""

import _socket  # what `socket` wraps: to load the wrapping takes longer than to be answered
import io
import os
import stat
import sys
import time

from priory import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: the mail server keeps the message and tries again later
PATIENCE_S = 2.0
MOST_BYTES = 16 * 1024 * 1024  # of a file: of much larger ones the ordinary command reads only a part
_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz")


def answered(arguments: "Sequence[str]") -> int | None:
    """Run a command by the daemon; return its exit status, or None if the ordinary command has to do it."""
    command, *rest = arguments or [""]
    if command == "filter":
        return _filter([each for each in rest if each != "--strict"])  # which is about errors, and here are none
    return _check(rest) if command == "check" else None


def _filter(arguments: list[str]) -> int | None:
    home, field, others = _home(arguments)
    if others or sys.stdin is None or not os.path.exists(f"{home}/socket"):  # noqa: PTH110 - no pathlib here
        return None
    raw = taken_in()
    if raw is None:
        return TRY_AGAIN
    answer = asked("PROCESS", raw, home, field)
    if answer is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(raw))  # for the ordinary command to read again
        return None
    return passed_on(answer[1])


def taken_in() -> bytes | None:
    """Read a message from standard input; None, and a word about it, if it cannot be read."""
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        sys.stderr.write(f"priory: the message cannot be read: {error.strerror}\n")
        return None


def passed_on(out: bytes) -> int:
    """Write a message to standard output; return the exit status that follows."""
    try:
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stderr.write(f"priory: the message cannot be passed on: {error.strerror}\n")
        return TRY_AGAIN
    return 0


def _check(arguments: list[str]) -> int | None:
    home, field, others = _home(arguments)
    if len(others) != 1 or not os.path.exists(f"{home}/socket"):  # noqa: PTH110
        return None
    path = others[0].removeprefix("./")
    raw = _one_message(path)
    answer = raw and asked("HEADERS", raw, home, field + b"Only-asks: yes\r\n")
    text = answer and _line(*answer, path)
    if not text:
        return None
    sys.stdout.write(text)
    return 0


def _home(arguments: list[str]) -> tuple[str, bytes, list[str]]:
    """Return the home that is meant, the field that says whose mail it is, and the other arguments."""
    meant = {"--home": os.environ.get("PRIORY_HOME") or "~/.priory", "--user": ""}
    others = []
    rest = iter(arguments)
    for each in rest:
        option, equals, value = each.partition("=")
        given = value if equals else next(rest, None) if option in meant else None
        if option in meant and given is not None:
            meant[option] = given
        else:
            others.append(each)
    user = meant["--user"]
    if not (user.isascii() and user.isprintable() and user == user.strip()):
        others.append("--user")  # no field can carry it
    field = b"User: %s\r\n" % user.encode("ascii", "replace") if user else b""
    return os.path.expanduser(meant["--home"]) or ".", field, others  # noqa: PTH111


def _one_message(path: str) -> bytes | None:
    """Return what is in a file if it is one message beyond doubt, and its name is printed as it is."""
    parts = path.removeprefix("/").split("/")
    if path.startswith("-") or not (path.isascii() and path.isprintable()) or "" in parts or "." in parts:
        return None
    try:
        status = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES or path.lower().endswith(_ARCHIVES):
            return None
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            raw = file.read()
    except OSError:
        return None
    name, colon, _ = raw[:80].partition(b":")
    return raw if colon and name.replace(b"-", b"").isalpha() else None  # no mbox, no picture begins like this


def asked(verb: str, raw: bytes, home: str, field: bytes = b"") -> tuple[list[str], bytes] | None:
    """Ask the daemon about a message; return the fields and the body of its answer, None if it has no good one."""
    received = bytearray()
    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            end = time.monotonic() + PATIENCE_S
            connection.settimeout(PATIENCE_S)
            connection.connect(f"{home}/socket")
            connection.settimeout(_left(end))
            head = b"%s SPAMC/1.5\r\n%sContent-length: %d\r\n\r\n" % (verb.encode(), field, len(raw))
            connection.sendall(head + raw)
            connection.settimeout(_left(end))
            while piece := connection.recv(1 << 20):
                received += piece
                connection.settimeout(_left(end))
        finally:
            connection.close()
    except OSError:
        return None
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    fields = head.decode("latin-1").split("\r\n")
    if fields[0] != "SPAMD/1.1 0 EX_OK" or f"Content-length: {len(body)}" not in fields:
        return None
    return (fields, body) if f"Version: {__version__}" in fields else None  # another version may say something else


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.001)


def _line(fields: list[str], headers: bytes, path: str) -> str | None:
    """Return what `check` prints for a message that has these headers, None if it would print more."""
    verdict, _, rest = headers.decode("latin-1").partition("\n")
    label, _, said = verdict.strip().removeprefix("X-Priory-Verdict: ").partition("; ")
    if not said or "\nX-Priory-Reason: " in rest:  # then there is more to be told
        return None
    about, _, probability = said.partition("=")
    widest = next((each.removeprefix("Widest: ") for each in fields if each.startswith("Widest: ")), "")
    if not widest.isdecimal():
        return None
    return line(label, probability, "" if "Labels: 2" in fields else about, path, int(widest))


def line(label: str, probability: str, about: str, source: str, widest: int) -> str:
    """Return what `check` prints for a message, in columns with room for the widest label there is.

    With more than two labels it says which one the probability is of.

    >>> line("ham", "0.0123", "", "lunch.eml", widest=4)
    'ham      0.0123       lunch.eml\\n'
    >>> line("ham", "0.9123", "ham", "lunch.eml", widest=10)
    'ham        0.9123      ham         lunch.eml\\n'
    """
    return f"{label:{max(widest, 8)}} {probability:11}{about and f' {about:{widest}}'}  {source}\n"
