"""One message by a fresh process, as a delivery agent runs a filter: whole processes, in turns."""

import sys
from collections.abc import Callable
from pathlib import Path

from mail import Mail
from peers import PRIORY, Bogofilter, Priory, SpamAssassin
from report import Table, between
from rounds import Run, ratios, run, spread

LEARNED = 1_000
START = "python -c pass"


def contenders(mail: Mail, message: Path, folder: Path, missing: set[str]) -> dict[str, Callable[[], Run]]:
    """Teach each filter, and return how it checks the message."""
    priory = folder / "single-priory"
    Priory().learn(mail, priory)
    commands: dict[str, Callable[[], Run]] = {
        START: lambda: run([sys.executable, "-c", "pass"]),
        "priory check FILE": lambda: run([PRIORY, "check", str(message), "--home", str(priory)]),
    }
    if "bogofilter-bdb" not in missing:
        home = folder / "single-bogofilter"
        Bogofilter("bogofilter-bdb").learn(mail, home)
        command = ["bogofilter-bdb", "-d", str(home), "-T", "-I", str(message)]
        commands["bogofilter-bdb"] = lambda: run(command, answers=(0, 1, 2))
    if "sa-learn" not in missing:
        assassin = folder / "single-spamassassin"
        SpamAssassin(every=1).learn(mail, assassin)
        with (assassin / "rules" / "bayes.cf").open("a") as rules:
            rules.write(f"bayes_path {assassin}/store/bayes\n")
        options = SpamAssassin.options(assassin)
        commands["spamassassin, Bayes only"] = lambda: run(["spamassassin", *options, "-t"], stdin=message)
    return commands


def measured(mail: Mail, folder: Path, rounds: int, missing: set[str]) -> tuple[Table, dict[str, object]]:
    """Return milliseconds per message; the median message in size is checked."""
    unseen = mail[LEARNED : 2 * LEARNED].names()
    message = mail.folder / sorted(unseen, key=lambda name: (mail.folder / name).stat().st_size)[len(unseen) // 2]
    commands = contenders(mail[:LEARNED], message, folder, missing)
    times: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(command())
    seconds = {name: [each.seconds for each in several] for name, several in times.items()}
    rows, figures = [], {}
    for name, several in times.items():
        own = spread(1000 * each.seconds for each in several)
        cpu = spread(1000 * each.cpu_seconds for each in several)
        against = ratios(seconds["priory check FILE"], seconds[name])
        figures[name] = {"ms": own.as_dict(), "cpu_ms": cpu.as_dict(), "times_of_priory": against.as_dict()}
        rows.append([name, between(own, 0), between(cpu, 0), between(against)])
    note = f"{rounds} rounds; {LEARNED:,} messages learned before; a message of {message.stat().st_size:,} bytes."
    title = "One message by a fresh process"
    return Table("one", title, ["", "ms", "CPU ms", "times the time of Priory"], rows, [note]), figures
