"""Measures the daemon and SpamAssassin's under load: fifty concurrent clients check mail and teach some of it."""

import contextlib
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import clients
import daemons
import spamd
from mail import Mail
from peers import PRIORY, Priory
from priory.filter.filter import Filter
from report import Table, between
from rounds import FailedError, ratios, spread
from single import median_message

LEARNED = 1_000
CLIENTS = 50
TURNS = 5
TEACHES = 20  #: one request in so many
FEWER = 10  #: requests that Priory gets for each that spamd gets, which takes longer
CHILDREN = 5  #: of spamd's, as many as it has by default
OURS, THEIRS = "priory serve", "spamd, Bayes only"


@dataclass
class Served:
    """A daemon and its results by turn."""

    socket: Path
    process: int
    answers: list[list[clients.Answer]] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)

    def take_turn(self, mail: Mail) -> None:
        """Check or teach all messages."""
        requests = [_request(mail, i) for i in range(len(mail))]
        start = time.perf_counter()
        self.answers.append(clients.ask_all(self.socket, requests, CLIENTS))
        self.per_s.append(len(mail) / (time.perf_counter() - start))
        self.memory_mb.append(sum(map(memory_mb, family(self.process))))

    def of(self, verb: str) -> list[clients.Answer]:
        """Return the outcomes of the requests with a verb."""
        return [answer for turn in self.answers for answer in turn if answer.verb == verb]

    def milliseconds(self, verb: str) -> tuple[float, float]:
        """Return the median and the 99th percentile of the requests with a verb."""
        percentiles = statistics.quantiles([1000 * answer.seconds for answer in self.of(verb)], n=100)
        return percentiles[49], percentiles[98]

    @property
    def n_lost(self) -> int:
        """The number of requests without a complete answer."""
        return sum(not answer.is_whole for turn in self.answers for answer in turn)


def measured(mail: Mail, folder: Path, n: int, missing: Mapping[str, str]) -> tuple[Table, dict[str, object]]:
    """Return requests per second, their durations, and the memory."""
    home = folder / "load"
    Priory().learn(mail[:LEARNED], home)
    asked = mail[LEARNED : LEARNED + n]
    mixed = f"PROCESS, and in one of {TEACHES} requests TELL, which is durable when it is answered"
    notes = [f"{CLIENTS} clients at once; {mixed}; {LEARNED:,} messages learned before; {TURNS} turns of both daemons."]
    with contextlib.ExitStack() as stack:
        command = [PRIORY, "serve", "--home", str(home)]
        process = stack.enter_context(daemons.running(command, home / "socket"))
        served = {OURS: Served(home / "socket", process.pid)}
        try:
            served[THEIRS] = _served_by_spamd(mail, folder, stack, missing)
        except FailedError as error:
            notes.append(f"Without {THEIRS}: {str(error).splitlines()[0]}")
        before = _n_lessons(home)
        for turn in range(TURNS):
            per_turn = n // TURNS
            some = asked[turn * per_turn : (turn + 1) * per_turn]
            for name, daemon in served.items():
                daemon.take_turn(some if name == OURS else some[: per_turn // FEWER])
        gained = _n_lessons(home) - before
    acknowledged = sum(answer.did_set for answer in served[OURS].of("TELL"))
    if gained != acknowledged:
        raise AssertionError(f"{acknowledged:,} lessons were acknowledged, {gained:,} are in the journal")
    notes.append(f"All {gained:,} lessons that Priory acknowledged are in its journal.")
    return _table(served, notes), {name: _figures(daemon, served[OURS]) for name, daemon in served.items()}


def _served_by_spamd(mail: Mail, folder: Path, stack: contextlib.ExitStack, missing: Mapping[str, str]) -> Served:
    if lacking := sorted({"sa-learn", "spamd", "spamc"} & missing.keys()):
        raise FailedError(", ".join(missing[program] for program in lacking))
    home = folder / "load-spamd"
    spamd.teach(mail[:LEARNED], home)
    message = median_message(mail[LEARNED : 2 * LEARNED], folder / "load.eml")
    process = stack.enter_context(spamd.serving(home, message, CHILDREN))
    return Served(home / "socket", process.pid)


def _request(mail: Mail, i: int) -> tuple[str, bytes]:
    """Return the request for a message: every n-th teaches it."""
    label, name = mail.entries[i]
    raw = (mail.folder / name).read_bytes()
    if i % TEACHES == 0:
        return clients.request("TELL", raw, f"Message-class: {label}", "Set: local")
    return clients.request("PROCESS", raw)


def _n_lessons(home: Path) -> int:
    with Filter.open(home) as filter_:
        return sum(filter_.stats().lessons.values())


def _table(served: Mapping[str, Served], notes: Sequence[str]) -> Table:
    rows = []
    for name, daemon in served.items():
        checks, lessons = (daemon.milliseconds(verb) for verb in ("PROCESS", "TELL"))
        rows.append(
            [
                name,
                f"{sum(map(len, daemon.answers)):,}",
                str(daemon.n_lost),
                between(spread(daemon.per_s), 0),
                *(f"{figure:,.0f}" for figure in (*checks, *lessons)),
                f"{daemon.memory_mb[0]:,.0f} to {daemon.memory_mb[-1]:,.0f}",
                between(ratios(daemon.per_s, served[OURS].per_s), 1),
            ]
        )
    columns = ["", "requests", "lost", "requests/s", "PROCESS ms, p50", "p99", "TELL ms, p50", "p99"]
    columns += ["MB after first and last turn", "times as slow as Priory"]
    return Table("load", f"{CLIENTS} clients at once, trec07p", columns, rows, notes)


def _figures(daemon: Served, ours: Served) -> dict[str, object]:
    return {
        "requests": sum(map(len, daemon.answers)),
        "lost": daemon.n_lost,
        "requests_per_s": spread(daemon.per_s).as_dict(),
        "process_ms": daemon.milliseconds("PROCESS"),
        "tell_ms": daemon.milliseconds("TELL"),
        "memory_mb": daemon.memory_mb,
        "priory_times_as_fast": ratios(daemon.per_s, ours.per_s).as_dict(),
    }


def family(process: int) -> list[int]:
    """Return a process and all its descendants; only itself if it has ended."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return [process]
    return [process, *(each for child in children for each in family(int(child)))]


def memory_mb(process: int) -> float:
    """Return the proportional memory of a process, 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
