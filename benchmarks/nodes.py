"""How soon a node knows what another has learned, and what that costs it: on a PostgreSQL of its own, or on yours.

    python benchmarks/nodes.py                          # starts a server in a folder of its own
    python benchmarks/nodes.py --store postgresql://…   # uses an empty database of a server that is there

A process learns 200 messages a second, durably: those together that came while the ones before were written. This one
checks mail all the while, as a worker of the daemon does, in turns beside the learner and alone. Lag is the time from
when a lesson was acknowledged there to when a check counts it here. The last figure is the ratio of messages per second
of this process's own time on the processor, its following included: it does not depend on how many cores there are for
the learner and the server.
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
from contextlib import contextmanager
from pathlib import Path
from typing import IO

RATE = 200.0  #: lessons a second
TURN_S = 3.0
WARM_S = 1.0  #: before each turn, of which nothing is counted
MESSAGES = 2_000


def learn(url: str, home: str, rate: float) -> None:
    """Learn at a rate whenever told to, until the end of standard input; say when each lesson was acknowledged."""
    import select

    from priory.demo import draw
    from priory.filter import Filter
    from priory.journal import Store
    from priory.options import Options

    mail = list(draw(MESSAGES, seed=5))
    is_learning, n, due = False, 0, 0.0
    with Filter.open(Path(home), Options(store=Store(url, "learner"))) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[: MESSAGES // 2]):
            pass
        read = [filter_.prepare(drawn.raw) for drawn in mail]
        print(json.dumps("ready"), flush=True)
        while True:
            wait_s = max(due - time.monotonic(), 0.0) if is_learning else None
            if select.select([sys.stdin], [], [], wait_s)[0]:
                line = sys.stdin.readline()
                if not line:
                    return
                is_learning, due = line == "learn\n", time.monotonic()
                continue
            n_due = max(round((time.monotonic() - due) * rate), 1)
            numbers = range(n, n + n_due)
            lessons = [
                (read[i % MESSAGES]._replace(digest=i.to_bytes(32)), mail[i % MESSAGES].label, "") for i in numbers
            ]
            for _ in filter_.learn_many(lessons):
                now, last = time.monotonic(), filter_.change
            for i in range(n_due):
                print(json.dumps([now, last - n_due + 1 + i]), flush=True)
            n += n_due
            due += n_due / rate


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """Give the address of an empty database: the one named, or one of a server that is started and ended here."""
    if url is not None:
        yield url
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from real_postgres import postgres

    with postgres(settings=()) as started, started.database() as name:  # it waits for the disk, as servers do
        yield started.url(name)


@contextmanager
def learner(url: str, home: Path, rate: float, acknowledged: Path) -> Iterator[IO[str]]:
    """Run the process that learns; give what it is told through."""
    command = [sys.executable, __file__, "--learn", url, str(home), "--rate", str(rate)]
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
    """A node that checks mail without a pause, and notes when it has taken in which change."""

    def __init__(self, url: str, home: Path) -> None:
        from priory.demo import draw
        from priory.filter import Filter
        from priory.journal import Store
        from priory.options import Options

        self._mail = [drawn.raw for drawn in draw(1_000, seed=6)]
        self._filter = Filter.open(home, Options(store=Store(url, "checker")))
        self._filter.follow()
        self.seen: list[tuple[int, float]] = []  #: (change, when)
        self._n = 0

    def check(self, seconds: float) -> tuple[float, float]:
        """Check for a while; return how many messages a second, and a second of the processor's time for all of it."""
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
    """Return how long after each lesson was acknowledged it was counted."""
    changes = [change for change, _ in seen]
    found = []
    for line in acknowledged.read_text().splitlines()[1:]:
        when, change = json.loads(line)
        at = bisect.bisect_left(changes, change)
        if at < len(seen):
            found.append(max(seen[at][1] - when, 0.0))
    return found


def measured(url: str, folder: Path, turns: int, rate: float) -> dict[str, float]:
    """Return the figures."""
    from priory.features import VERSION, Spec
    from priory.journal import Store
    from priory.journal.store import prepare_store

    prepare_store(Store(url), VERSION, Spec().bits)
    beside: list[tuple[float, float]] = []
    alone: list[tuple[float, float]] = []
    checking = Checking(url, folder / "checker")
    try:
        with learner(url, folder / "learner", rate, folder / "acknowledged") as told:
            for _ in range(turns):
                for order, speeds in (("learn\n", beside), ("rest\n", alone)):
                    told.write(order)
                    told.flush()
                    checking.check(WARM_S)
                    speeds.append(checking.check(TURN_S))
    finally:
        checking.close()
    found = sorted(lags(folder / "acknowledged", checking.seen))
    pairs = list(zip(beside, alone, strict=True))
    return {
        "lessons": len(found),
        "lessons/s": len(found) / (turns * (TURN_S + WARM_S)),
        "lag p50 ms": 1e3 * statistics.median(found),
        "lag p99 ms": 1e3 * found[int(0.99 * len(found))],
        "lag most ms": 1e3 * found[-1],
        "checks/s alone": statistics.median(speed for speed, _ in alone),
        "checks/s beside": statistics.median(speed for speed, _ in beside),
        "beside/alone": statistics.median(one[0] / other[0] for one, other in pairs),
        "same, processor": statistics.median(one[1] / other[1] for one, other in pairs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="the address of an empty database")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--learn", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.learn:
        learn(*asked.learn, asked.rate)
        return
    with server(asked.store) as url, tempfile.TemporaryDirectory() as folder:
        figures = measured(url, Path(folder), asked.turns, asked.rate)
    for name, figure in figures.items():
        print(f"{name:16} {figure:10.2f}")
    if asked.json:
        asked.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
