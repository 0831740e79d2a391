"""Measures one message as a delivery agent checks it: a new process each time, alone or as a client of a daemon."""

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import daemons
import spamd
from mail import Mail
from peers import PRIORY, Bogofilter, Priory, SpamAssassin
from report import Table, between
from rounds import FailedError, Run, Spread, ratios, run, spread

LEARNED = 1_000
ALONE = "priory check FILE"
SERVED = "priory check FILE, priory serve running"

Check = Callable[[], Run]


class Setting(NamedTuple):
    """The mail that a filter learns and checks, its folder, and the programs that run until the end."""

    mail: Mail
    message: Path
    home: Path
    running: contextlib.ExitStack


def _start(_: Setting) -> Check:
    return lambda: run([sys.executable, "-c", "pass"])


def _priory(setting: Setting) -> Check:
    Priory().learn(setting.mail, setting.home)
    return lambda: run([PRIORY, "check", str(setting.message), "--home", str(setting.home)])


def _served_priory(setting: Setting) -> Check:
    check = _priory(setting)
    _serve(setting)
    return check


def _spamc_and_priory(setting: Setting) -> Check:
    Priory().learn(setting.mail, setting.home)
    _serve(setting)
    return _spamc(setting)


def _spamc(setting: Setting) -> Check:
    return lambda: run(spamd.spamc(setting.home / "socket"), stdin=setting.message)


def _serve(setting: Setting) -> None:
    command = [PRIORY, "serve", "--home", str(setting.home)]
    setting.running.enter_context(daemons.running(command, setting.home / "socket"))


def _bogofilter(setting: Setting) -> Check:
    Bogofilter("bogofilter-bdb").learn(setting.mail, setting.home)
    command = ["bogofilter-bdb", "-d", str(setting.home), "-T", "-I", str(setting.message)]
    return lambda: run(command, answers=(0, 1, 2))


def _spamassassin(setting: Setting) -> Check:
    spamd.teach(setting.mail, setting.home)
    command = ["spamassassin", *SpamAssassin.options(setting.home), "-t"]
    return lambda: run(command, stdin=setting.message)


def _spamd(setting: Setting) -> Check:
    spamd.teach(setting.mail, setting.home)
    setting.running.enter_context(spamd.serving(setting.home, setting.message, children=1))
    return _spamc(setting)


#: The preparation of each row, and the programs it needs.
ROWS: dict[str, tuple[Callable[[Setting], Check], set[str]]] = {
    "python -c pass": (_start, set()),
    ALONE: (_priory, set()),
    SERVED: (_served_priory, set()),
    "spamc, priory serve running": (_spamc_and_priory, {"spamc"}),
    "bogofilter-bdb": (_bogofilter, {"bogofilter-bdb"}),
    "spamassassin, Bayes only": (_spamassassin, {"sa-learn"}),
    "spamc, spamd running, Bayes only": (_spamd, {"sa-learn", "spamd", "spamc"}),
}


def median_message(mail: Mail, path: Path) -> Path:
    """Write the message of median size to a file, without an mbox envelope line."""
    raws = sorted(((mail.folder / name).read_bytes() for name in mail.names()), key=len)
    raw = raws[len(raws) // 2]
    path.write_bytes(raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw)
    return path


def times_the_time_of(runs: Sequence[Mapping[str, Run]], name: str) -> dict[str, Spread]:
    """Return the ratio of a row's time to that of each measured way of Priory, within each round."""
    own = [each[name].seconds for each in runs]
    return {ours: ratios([each[ours].seconds for each in runs], own) for ours in (ALONE, SERVED) if ours in runs[0]}


def measured(mail: Mail, folder: Path, rounds: int, missing: Mapping[str, str]) -> tuple[Table, dict[str, object]]:
    """Return milliseconds per message."""
    message = median_message(mail[LEARNED : 2 * LEARNED], folder / "one.eml")
    said = f"{rounds} rounds; {LEARNED:,} messages learned before; a message of {message.stat().st_size:,} bytes."
    notes = [f"{said} CPU without that of a process that was running."]
    with contextlib.ExitStack() as running:
        checks = {}
        for i, (name, (ready, programs)) in enumerate(ROWS.items()):
            if lacking := sorted(programs & missing.keys()):
                notes.append(f"Without {name}: {', '.join(missing[program] for program in lacking)}")
                continue
            try:
                checks[name] = ready(Setting(mail[:LEARNED], message, folder / f"single-{i}", running))
            except FailedError as error:
                notes.append(f"Without {name}: {str(error).splitlines()[0]}")
        runs = [{name: check() for name, check in checks.items()} for _ in range(rounds)]
    rows, figures = [], {}
    for name in checks:
        own = spread(1000 * each[name].seconds for each in runs)
        cpu = spread(1000 * each[name].cpu_seconds for each in runs)
        against = times_the_time_of(runs, name)
        figures[name] = {
            "ms": own.as_dict(),
            "cpu_ms": cpu.as_dict(),
            "times_the_time_of": {ours: each.as_dict() for ours, each in against.items()},
        }
        rows.append([name, between(own, 1), between(cpu, 1), between(against[ALONE])])
    columns = ["", "ms", "CPU ms", f"times the time of {ALONE}"]
    return Table("one", "One message by a fresh process", columns, rows, notes), figures
