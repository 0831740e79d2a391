"""What the daemon counts: the names of the numbers on its scoreboard (`priory.server.scoreboard`).

`priory.server.http.metrics` gives each the name and the words with which it is shown.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from priory.decision import UNSURE, Costs
from priory.server.scoreboard import Durations, Key, Scoreboard
from priory.wire.spamd import EX_PROTOCOL, EX_SOFTWARE, EX_TEMPFAIL, EX_TIMEOUT, EX_TOOBIG, EX_UNAVAILABLE, VERBS

PROTOCOLS: Final = ("spamd", "milter")
WORKER, HTTP = "worker", "http"
ASKED: Final = (*PROTOCOLS, HTTP)  #: the ways by which messages come
ROLES: Final = (WORKER, HTTP)  #: of the processes of a crew
OUTCOMES: Final = ("learned", "known", "relearned", "forgotten", "unknown", "kept", "nothing")
ACTIONS: Final = ("mark", "quarantine", "reject")
#: Why a request is not done, by the status with which its client is told so.
REASONS: Final = {
    EX_PROTOCOL: "malformed",
    EX_TOOBIG: "too_large",
    EX_TIMEOUT: "timeout",
    EX_UNAVAILABLE: "unavailable",
    EX_SOFTWARE: "error",
    EX_TEMPFAIL: "busy",
}
#: The same over HTTP.
HTTP_REASONS: Final = {
    401: "unauthorized",
    403: "forbidden",
    408: "timeout",
    413: "too_large",
    415: "unsupported",
    421: "misdirected",
    422: "invalid",
    429: "too_often",
}
CHECK_TIMES: Final = {protocol: Durations("check_seconds", protocol) for protocol in ASKED}
LESSON_TIMES: Final = Durations("lesson_seconds")
COSTS: Final[Key] = ("costs",)  #: a number that tells which costs are in force: `number_of`
READY: Final[Key] = ("workers_ready",)
CONNECTED: Final[dict[str, Key]] = {protocol: ("connected", protocol) for protocol in PROTOCOLS}

_FIXED: Final[tuple[Key, ...]] = (
    *(("requests", verb) for verb in sorted(VERBS)),
    *(("lessons", outcome) for outcome in OUTCOMES),
    *(("actions", action) for action in ACTIONS),
    ("unchecked", "spamd", "error"),
    ("unchecked", "milter", "error"),
    ("unchecked", "milter", "authenticated"),
    *(("refused", "spamd", reason) for reason in REASONS.values()),
    *(("refused", HTTP, reason) for reason in HTTP_REASONS.values()),
    ("refused", "milter", "malformed"),
    ("refused", "milter", "timeout"),
    *(("errors", where) for where in ("check", "lesson", "connection")),
    *(("bytes", protocol) for protocol in ASKED),
    *(("connections", protocol) for protocol in PROTOCOLS),
    *(key for durations in (*CHECK_TIMES.values(), LESSON_TIMES) for key in durations.keys),
    *(("restarts", role) for role in ROLES),
    *(("reloads", outcome) for outcome in ("done", "failed")),
    COSTS,
)


def scoreboard() -> Scoreboard:
    """Return a scoreboard for a daemon."""
    board = Scoreboard(momentary=(READY, *CONNECTED.values()))
    board.allot(_FIXED)
    return board


def number_of(costs: Costs) -> int:
    """Return a number that other costs do not have.

    >>> number_of(Costs()) == number_of(Costs(unsure=4.0)), number_of(Costs()) == number_of(Costs(unsure=3))
    (True, False)
    """
    said = [costs.labels, [[float(cost) for cost in row] for row in costs.matrix], float(costs.unsure)]
    return int.from_bytes(sha256(repr(said).encode()).digest()[:8])


def know(board: Scoreboard, labels: Iterable[str]) -> None:
    """Have a scoreboard count messages that are said to be of these labels, or learned as such automatically."""
    known = tuple(labels)
    board.allot(("checked", protocol, label) for label in (*known, UNSURE) for protocol in ASKED)
    board.allot(("autolearned", label) for label in known)
