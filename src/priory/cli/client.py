"""The client of the daemon: `priory filter` and `priory check FILE`, answered by a running daemon if there is one.

Loading the filter takes many times as long as asking a process that has it loaded. So this module imports next to
nothing, and handles only requests for which the output is certain to be the same, byte for byte, as that of the
ordinary command. The ordinary command does everything else, also if the daemon does not answer in time or as expected.
"""

import _socket  # without the wrapper `socket`, which takes longer to load than the daemon takes to answer
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
MOST_BYTES = 16 * 1024 * 1024  # of a file; the ordinary command reads only a part of much larger ones
_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz")


def run_by_daemon(arguments: "Sequence[str]") -> int | None:
    """Let the daemon run a command; return the exit status, or None if the ordinary command has to run."""
    command, *rest = arguments or [""]
    if command == "filter":
        return _filter([argument for argument in rest if argument != "--strict"])  # it is only about errors
    return _check(rest) if command == "check" else None


def _filter(arguments: list[str]) -> int | None:
    home, user_field, others = _parse_arguments(arguments)
    if others or sys.stdin is None or not os.path.exists(f"{home}/socket"):  # noqa: PTH110 - no pathlib here
        return None
    raw = read_standard_input()
    if raw is None:
        return TRY_AGAIN
    answer = request("PROCESS", raw, home, user_field)
    if answer is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(raw))  # the ordinary command reads it again
        return None
    return write_message(answer[1])


def read_standard_input() -> bytes | None:
    """Read a message from standard input; if that fails, print why and return None."""
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        sys.stderr.write(f"priory: the message cannot be read: {error.strerror}\n")
        return None


def write_message(message: bytes) -> int:
    """Write a message to standard output; return the exit status."""
    try:
        sys.stdout.buffer.write(message)
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stderr.write(f"priory: the message cannot be written: {error.strerror}\n")
        return TRY_AGAIN
    return 0


def _check(arguments: list[str]) -> int | None:
    home, user_field, others = _parse_arguments(arguments)
    if len(others) != 1 or not os.path.exists(f"{home}/socket"):  # noqa: PTH110
        return None
    path = others[0].removeprefix("./")
    raw = _read_message(path)
    answer = raw and request("HEADERS", raw, home, user_field + b"Only-asks: yes\r\n")
    text = answer and _line_from_answer(*answer, path)
    if not text:
        return None
    sys.stdout.write(text)
    return 0


def _parse_arguments(arguments: list[str]) -> tuple[str, bytes, list[str]]:
    """Return the home, the request field that names the user, and the remaining arguments."""
    options = {"--home": os.environ.get("PRIORY_HOME") or "~/.priory", "--user": ""}
    others = []
    rest = iter(arguments)
    for argument in rest:
        option, equals, text = argument.partition("=")
        value = text if equals else next(rest, None) if option in options else None
        if option in options and value is not None:
            options[option] = value
        else:
            others.append(argument)
    user = options["--user"]
    if not (user.isascii() and user.isprintable() and user == user.strip()):
        others.append("--user")  # a field cannot carry this name
    field = b"User: %s\r\n" % user.encode("ascii", "replace") if user else b""
    return os.path.expanduser(options["--home"]) or ".", field, others  # noqa: PTH111


def _read_message(path: str) -> bytes | None:
    """Return the content of a file if it is certainly one message and its name needs no escaping."""
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
    return raw if colon and name.replace(b"-", b"").isalpha() else None  # neither an mbox nor an image begins like this


def request(verb: str, raw: bytes, home: str, field: bytes = b"") -> tuple[list[str], bytes] | None:
    """Send a message to the daemon; return the fields and the body of its answer, None if there is no valid one."""
    received = bytearray()
    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            end = time.monotonic() + PATIENCE_S
            connection.settimeout(PATIENCE_S)
            connection.connect(f"{home}/socket")
            connection.settimeout(_seconds_left(end))
            head = b"%s SPAMC/1.5\r\n%sContent-length: %d\r\n\r\n" % (verb.encode(), field, len(raw))
            connection.sendall(head + raw)
            connection.settimeout(_seconds_left(end))
            while piece := connection.recv(1 << 20):
                received += piece
                connection.settimeout(_seconds_left(end))
        finally:
            connection.close()
    except OSError:
        return None
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    fields = head.decode("latin-1").split("\r\n")
    if fields[0] != "SPAMD/1.1 0 EX_OK" or f"Content-length: {len(body)}" not in fields:
        return None
    return (fields, body) if f"Version: {__version__}" in fields else None  # another version may answer differently


def _seconds_left(end: float) -> float:
    return max(end - time.monotonic(), 0.001)


def _line_from_answer(fields: list[str], headers: bytes, path: str) -> str | None:
    """Return the line that `check` prints for these headers, None if `check` would print more."""
    verdict = headers.decode("latin-1").partition("\n")[0]
    label, _, claim = verdict.strip().removeprefix("X-Priory-Verdict: ").partition("; ")
    if not claim or "Taught: yes" not in fields:  # `check` also prints the reason why nothing can be said
        return None
    about, _, probability = claim.partition("=")
    widest = next((field.removeprefix("Widest: ") for field in fields if field.startswith("Widest: ")), "")
    if not widest.isdecimal():
        return None
    return verdict_line(label, probability, "" if "Labels: 2" in fields else about, path, int(widest))


def verdict_line(label: str, probability: str, about: str, source: str, widest: int) -> str:
    """Return the line that `check` prints for a message, in columns wide enough for the longest label.

    With more than two labels, `about` is the label that the probability belongs to.

    >>> verdict_line("ham", "0.0123", "", "lunch.eml", widest=4)
    'ham      0.0123       lunch.eml\\n'
    >>> verdict_line("ham", "0.9123", "ham", "lunch.eml", widest=10)
    'ham        0.9123      ham         lunch.eml\\n'
    """
    return f"{label:{max(widest, 8)}} {probability:11}{about and f' {about:{widest}}'}  {source}\n"
