"""Measures how soon a node has the lessons of another, and what following costs, on its own PostgreSQL or on yours.

    python benchmarks/nodes.py                                     # starts a server in a folder of its own
    python benchmarks/nodes.py --store postgresql://… --elsewhere postgresql://…   # two existing empty databases

A process learns 200 messages per second, durably; messages that arrive during a write are written together. This
process checks mail all the time, as a worker of the daemon does. In turns the learner uses the journal that this node
follows and an unrelated one. The processor and the server have the same work either way, so the ratio of the speeds is
the cost of following. Lag is the time from the acknowledgement of a lesson there until a check includes it here.
"""

import argparse
import bisect
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

HERE, ELSEWHERE = "here", "elsewhere"  #: the journal that the node follows, and another
RATE = 200.0  #: lessons a second
TURN_S = 3.0
WARM_S = 1.0  #: seconds of warm-up before each turn
MESSAGES = 2_000


def learn(url: str, elsewhere: str, home: str, rate: float) -> None:
    """Learn at a rate, here or elsewhere, as standard input says; report when each lesson here was acknowledged."""
    import select

    from priory.demo import draw
    from priory.filter.filter import Filter
    from priory.filter.options import Options
    from priory.journal import StoreAddress

    mail = list(draw(MESSAGES, seed=5))
    with ExitStack() as stack:
        filters = [
            stack.enter_context(Filter.open(Path(home) / name, Options(store=StoreAddress(address, "learner"))))
            for name, address in ((HERE, url), (ELSEWHERE, elsewhere))
        ]
        for filter_ in filters:
            for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[: MESSAGES // 2]):
                pass
        read = [(filters[0].prepare(drawn.raw), drawn.label) for drawn in mail]
        print(json.dumps("ready"), flush=True)
        filter_, n, due = filters[1], 0, time.monotonic()
        while True:
            if select.select([sys.stdin], [], [], max(due - time.monotonic(), 0.0))[0]:
                line = sys.stdin.readline()
                if not line:
                    return
                filter_ = filters[(HERE, ELSEWHERE).index(line.strip())]
                continue
            n_due = max(round((time.monotonic() - due) * rate), 1)
            some = [(i, *read[i % MESSAGES]) for i in range(n, n + n_due)]
            for _ in filter_.learn_many((each._replace(digest=i.to_bytes(32)), label, "") for i, each, label in some):
                now, last = time.monotonic(), filter_.change
            if filter_ is filters[0]:
                for change in range(last - n_due + 1, last + 1):
                    print(json.dumps([now, change]), flush=True)
            n += n_due
            due += n_due / rate


@contextmanager
def server(named: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield the addresses of two empty databases: the given ones, or those of a temporary server."""
    if named is not None:
        yield named
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from real_postgres import postgres

    with postgres(settings=()) as started, started.database() as here, started.database() as elsewhere:
        yield started.url(here), started.url(elsewhere)  # it waits for the disk, as servers do


@contextmanager
def learner(urls: tuple[str, str], home: Path, rate: float, acknowledged: Path) -> Iterator[IO[str]]:
    """Run the learning process; yield its standard input."""
    command = [sys.executable, __file__, "--learn", *urls, str(home), "--rate", str(rate)]
    with (
        acknowledged.open("w") as out,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, text=True) as process,
    ):
        assert process.stdin is not None
        try:
            while not acknowledged.read_text().endswith('"ready"\n'):
                assert process.poll() is None, "the learner has ended"
                time.sleep(0.05)
            yield process.stdin
        finally:
            process.stdin.close()


class Checking:
    """A node that checks mail without a pause, and records when it has applied each change."""

    def __init__(self, url: str, home: Path) -> None:
        from priory.demo import draw
        from priory.filter.filter import Filter
        from priory.filter.options import Options
        from priory.journal import StoreAddress

        self._mail = [drawn.raw for drawn in draw(1_000, seed=6)]
        self._filter = Filter.open(home, Options(store=StoreAddress(url, "checker")))
        self._filter.follow()
        self.seen: list[tuple[int, float]] = []  #: (change, when)
        self._n = 0

    def check(self, seconds: float) -> tuple[float, float]:
        """Check for a while; return messages per second of elapsed time and of processor time."""
        begun, spent, n = time.monotonic(), time.process_time(), 0
        while (now := time.monotonic()) < begun + seconds:
            self._filter.check(self._mail[self._n % len(self._mail)])
            if not self.seen or self._filter.change > self.seen[-1][0]:
                self.seen.append((self._filter.change, now))
            self._n += 1
            n += 1
        return n / (time.monotonic() - begun), n / (time.process_time() - spent)

    def close(self) -> None:
        self._filter.close()


def lags(acknowledged: Path, seen: list[tuple[int, float]]) -> list[float]:
    """Return the time from the acknowledgement of each lesson until it was applied."""
    changes = [change for change, _ in seen]
    found = []
    for line in acknowledged.read_text().splitlines()[1:]:
        when, change = json.loads(line)
        at = bisect.bisect_left(changes, change)
        if at < len(seen):
            found.append(max(seen[at][1] - when, 0.0))
    return found


def measured(urls: tuple[str, str], folder: Path, turns: int, rate: float) -> dict[str, float]:
    """Return the figures."""
    from priory.features import VERSION, Spec
    from priory.journal import StoreAddress
    from priory.journal.shared.store import prepare_store

    for url in urls:
        prepare_store(StoreAddress(url), VERSION, Spec().bits)
    following: list[tuple[float, float]] = []
    unaffected: list[tuple[float, float]] = []
    checking = Checking(urls[0], folder / "checker")
    try:
        with learner(urls, folder / "learner", rate, folder / "acknowledged") as told:
            for _ in range(turns):
                for order, speeds in ((HERE, following), (ELSEWHERE, unaffected)):
                    told.write(f"{order}\n")
                    told.flush()
                    checking.check(WARM_S)
                    speeds.append(checking.check(TURN_S))
    finally:
        checking.close()
    found = sorted(lags(folder / "acknowledged", checking.seen))
    pairs = list(zip(following, unaffected, strict=True))
    return {
        "lessons": len(found),
        "lessons/s": len(found) / (turns * (TURN_S + WARM_S)),
        "lag p50 ms": 1e3 * statistics.median(found),
        "lag p99 ms": 1e3 * found[int(0.99 * len(found))],
        "lag most ms": 1e3 * found[-1],
        "checks/s, not affected": statistics.median(speed for speed, _ in unaffected),
        "checks/s, following": statistics.median(speed for speed, _ in following),
        "ratio": statistics.median(one[0] / other[0] for one, other in pairs),
        "ratio, per processor second": statistics.median(one[1] / other[1] for one, other in pairs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="the address of an empty database")
    parser.add_argument("--elsewhere", help="the address of another")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--learn", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.learn:
        learn(*asked.learn, asked.rate)
        return
    named = (asked.store, asked.elsewhere) if asked.store else None
    with server(named) as urls, tempfile.TemporaryDirectory() as folder:
        figures = measured(urls, Path(folder), asked.turns, asked.rate)
    for name, figure in figures.items():
        print(f"{name:28} {figure:10.2f}")
    if asked.json:
        asked.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
