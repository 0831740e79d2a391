"""The keys of everything that the daemon counts on its scoreboard.

`priory.server.http.prometheus` gives each its Prometheus name and description.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from priory.decision import UNSURE, Costs
from priory.server.metrics.scoreboard import Durations, Key, Scoreboard
from priory.server.options import Action
from priory.wire.spamd import EX_PROTOCOL, EX_SOFTWARE, EX_TEMPFAIL, EX_TIMEOUT, EX_TOOBIG, EX_UNAVAILABLE, VERBS

PROTOCOLS: Final = ("spamd", "milter")
WORKER, HTTP, LONG = "worker", "http", "long"
CHANNELS: Final = (*PROTOCOLS, HTTP)  #: the ways in which messages arrive
ROLES: Final = (WORKER, HTTP, LONG)  #: of the master's children; one reads long messages
OUTCOMES: Final = ("learned", "known", "relearned", "forgotten", "unknown", "kept", "nothing")
#: Why a request was refused, by the status that the spamd protocol answers.
REASONS: Final = {
    EX_PROTOCOL: "malformed",
    EX_TOOBIG: "too_large",
    EX_TIMEOUT: "timeout",
    EX_UNAVAILABLE: "unavailable",
    EX_SOFTWARE: "error",
    EX_TEMPFAIL: "busy",
}
#: The same by the status that HTTP answers.
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
CHECK_TIMES: Final = {protocol: Durations("check_seconds", protocol) for protocol in CHANNELS}
LESSON_TIMES: Final = Durations("lesson_seconds")
COSTS: Final[Key] = ("costs",)  #: a gauge: the fingerprint of the costs in force
READY: Final[Key] = ("workers_ready",)
CONNECTED: Final[dict[str, Key]] = {protocol: ("connected", protocol) for protocol in PROTOCOLS}

_FIXED: Final[tuple[Key, ...]] = (
    *(("requests", verb) for verb in sorted(VERBS)),
    *(("lessons", outcome) for outcome in OUTCOMES),
    *(("actions", action) for action in Action),
    ("unchecked", "spamd", "error"),
    ("unchecked", "milter", "error"),
    ("unchecked", "milter", "authenticated"),
    *(("refused", "spamd", reason) for reason in REASONS.values()),
    *(("refused", HTTP, reason) for reason in HTTP_REASONS.values()),
    ("refused", "milter", "malformed"),
    ("refused", "milter", "timeout"),
    *(("errors", where) for where in ("check", "lesson", "connection")),
    *(("bytes", protocol) for protocol in CHANNELS),
    *(("connections", protocol) for protocol in PROTOCOLS),
    *(key for durations in (*CHECK_TIMES.values(), LESSON_TIMES) for key in durations.keys),
    *(("restarts", role) for role in ROLES),
    *(("reloads", outcome) for outcome in ("done", "failed")),
    COSTS,
)


def scoreboard() -> Scoreboard:
    """Return a scoreboard with all keys except the labels'."""
    board = Scoreboard(gauges=(READY, *CONNECTED.values()))
    board.allot(_FIXED)
    return board


def costs_fingerprint(costs: Costs) -> int:
    """Return a 64-bit hash of costs, by which processes can tell through the scoreboard which costs are in force.

    >>> costs_fingerprint(Costs()) == costs_fingerprint(Costs(unsure=4.0))
    True
    >>> costs_fingerprint(Costs()) == costs_fingerprint(Costs(unsure=3))
    False
    """
    values = [costs.labels, [[float(cost) for cost in row] for row in costs.matrix], float(costs.unsure)]
    return int.from_bytes(sha256(repr(values).encode()).digest()[:8])


def add_labels(board: Scoreboard, labels: Iterable[str]) -> None:
    """Let a scoreboard count verdicts and automatic lessons of these labels; call it before forking."""
    known = tuple(labels)
    board.allot(("checked", protocol, label) for label in (*known, UNSURE) for protocol in CHANNELS)
    board.allot(("autolearned", label) for label in known)
