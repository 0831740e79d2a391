"""Measures what hostile mail costs, and honest clients of a daemon while hostile clients attack it.

    python benchmarks/hostile.py mail                 # a minute: the cost of each kind of hostile mail
    python benchmarks/hostile.py mail --search 600    # search ten minutes for worse
    python benchmarks/hostile.py clients              # some minutes: a million tiny requests take most of them
    python benchmarks/hostile.py clients --tiny 20000    # less

Each kind of mail is measured in a process of its own. Ten clients check drawn mail all the time, first alone, then
beside one kind of hostile clients after the other, which run in a process of their own on the same machine.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import clients
import daemons
import hostile_mail
from load import family, memory_mb
from peers import PRIORY
from priory.demo import draw
from priory.filter.filter import Filter
from progress import progressed
from report import Table

HONEST = 10
ASKED = 3_000  #: honest requests beside each kind, at least
FLOODING = 20  #: connections at a time that send tiny requests
HOLDING = 1_000  #: connections at a time that are held
HELD_S = 15.0
MAIL = list(draw(600, seed=1))

Hostile = Callable[[str], Awaitable[None]]


def kinds(n_tiny: int) -> dict[str, Hostile | None]:
    """Return the kinds of hostile clients by name; the first has none."""
    huge = b"CHECK SPAMC/1.5\r\nContent-length: 100000000\r\n\r\n"
    return {
        "nobody": None,
        f"{n_tiny:,} tiny requests, {FLOODING} at a time": lambda path: flood(path, n_tiny),
        f"{HOLDING:,} who connect and say nothing": lambda path: hold(path, b"", b""),
        f"{HOLDING:,} who send a byte a second": lambda path: hold(path, b"CHECK SPAMC/1.5\r\n", b"a"),
        f"{HOLDING:,} who declare 100 MB": lambda path: hold(path, huge, b"a" * 1000),
        f"{HOLDING:,} whose header does not end": lambda path: hold(path, b"CHECK SPAMC/1.5\r\n", b"a" * 100_000),
    }


async def flood(path: str, n: int) -> None:
    """Send tiny requests as fast as they are answered: valid, empty, malformed, and none at all."""
    said = [b"PING SPAMC/1.5\r\n\r\n", b"CHECK SPAMC/1.5\r\n\r\n", b"X\r\n\r\n", b"\0", b"PING SPAMC/9.9\r\n\r\n", b""]
    left = iter(range(n))

    async def keep_asking() -> None:
        for i in left:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(said[i % len(said)])
                writer.write_eof()
                await reader.read()
                writer.close()

    await asyncio.gather(*(keep_asking() for _ in range(FLOODING)))


async def hold(path: str, first: bytes, then: bytes) -> None:
    """Hold connections: send a little every second, and reconnect immediately when disconnected."""

    async def keep_holding() -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(first)
                end = asyncio.create_task(reader.read())
                while not end.done():
                    await asyncio.wait([end], timeout=1)
                    writer.write(then)
                writer.close()
                await end
            await asyncio.sleep(random.random())  # noqa: S311

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(keep_holding() for _ in range(HOLDING))), HELD_S)


def asked_beside(hostile: Hostile | None, path: Path) -> tuple[list[clients.Answer], float]:
    """Return the outcomes of honest requests during an attack, and their number per second."""
    requests = [clients.request("CHECK", drawn.raw) for drawn in MAIL]
    answers: list[clients.Answer] = []
    process = multiprocessing.get_context("fork").Process(target=_be, args=(hostile, str(path)))
    process.start()
    start = time.perf_counter()
    while process.is_alive() or len(answers) < ASKED:
        answers += clients.ask_all(path, requests, HONEST)
    process.join()
    return answers, len(answers) / (time.perf_counter() - start)


def _be(hostile: Hostile | None, path: str) -> None:
    if hostile is not None:
        asyncio.run(hostile(path))


def mail_table(home: Path, seconds: float) -> Table:
    """Return what each kind of hostile mail costs, then the worst that a search of this time finds."""
    kinds = dict(hostile_mail.KINDS)
    if seconds:
        with Filter.open(home) as filter_:
            for i, (_, kind) in enumerate(hostile_mail.search(filter_, seconds, hostile_mail.MEGABYTE, seed=1)[:5], 1):
                progressed(f"found: {kind}")
                kinds[f"found by the search, {i}"] = kind
    rows = []
    for name, kind in kinds.items():
        progressed(name)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            cost = pool.apply(_cost_in_child, (home, kind))
        figures = [f"{n:.2f}" for n in (cost.check_s, cost.s_per_mb, cost.json_s, cost.explain_s)]
        rows.append([name, f"{cost.size / hostile_mail.MEGABYTE:.1f}", *figures, f"{cost.memory_mb:.0f}"])
    columns = ["mail", "MB", "check, s", "s/MB", "check --json, s", "explain, s", "memory, MB"]
    return Table("hostile-mail", "processor time and memory for hostile mail", columns, rows)


def _cost_in_child(home: Path, kind: hostile_mail.HostileKind) -> hostile_mail.Cost:
    with Filter.open(home) as filter_:
        for drawn in MAIL[500:520]:  # loads what is loaded on first use
            filter_.explain(drawn.raw).as_dict()
            filter_.check(drawn.raw, located=True).to_json()
        return hostile_mail.cost_of(filter_, kind.message())


def client_table(home: Path, n_tiny: int) -> Table:
    """Return how honest clients fare beside each kind of hostile clients."""
    rows = []
    with daemons.running([PRIORY, "serve", "--home", str(home)], home / "socket") as daemon:
        for name, hostile in kinds(n_tiny).items():
            progressed(f"beside {name}")
            answers, per_s = asked_beside(hostile, home / "socket")
            took = statistics.quantiles([1000 * answer.seconds for answer in answers], n=100)
            lost = sum(not answer.is_whole for answer in answers)
            figures = [f"{len(answers):,}", str(lost), f"{per_s:,.0f}", f"{took[49]:.1f}", f"{took[98]:.1f}"]
            rows.append([name, *figures, f"{sum(map(memory_mb, family(daemon.pid))):,.0f}"])
    columns = ["beside", "requests", "lost", "requests/s", "ms, p50", "p99", "MB after it"]
    return Table("hostile", f"{HONEST} clients who have mail checked, beside others", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mail", "clients"))
    parser.add_argument("--tiny", type=int, default=1_000_000, help="how many tiny requests; a million if not said")
    parser.add_argument("--search", type=float, default=0, metavar="SECONDS", help="how long to search for worse mail")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="priory-hostile-") as folder:
        home = Path(folder)
        with Filter.open(home) as filter_:
            for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:500]):
                pass
        is_mail = arguments.what == "mail"
        table = mail_table(home, arguments.search) if is_mail else client_table(home, arguments.tiny)
    print(table.as_text())
    print()
    print(table.as_markdown())


if __name__ == "__main__":
    main()
