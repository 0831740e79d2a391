"""Measures the cost of forgetting old lessons in the background: the time of a group, and of checks meanwhile.

    python benchmarks/ageing.py

The first 20,000 messages of trec07p are taught, then the limit is set to half as many. One process forgets a group
every half second, as the daemon does, or one group after the other. Another process checks messages, and its times are
compared with those when nothing is forgotten.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mail import trec07p
from priory.filter.filter import Filter
from priory.filter.options import Limits, Options
from priory.filter.retention import GROUP

TAUGHT, CHECKED = 20_000, 400


def check_times(filter_: Filter, messages: list[bytes], until: Callable[[], bool]) -> list[float]:
    """Check messages repeatedly; return the milliseconds of each check."""
    times: list[float] = []
    while not until():
        for raw in messages:
            begun = time.perf_counter()
            filter_.check(raw)
            times.append(1000 * (time.perf_counter() - begun))
    return times


@contextmanager
def ageing(home: Path, limits: Limits, pause_s: float, told: Path) -> Iterator[Callable[[], bool]]:
    """Run a process that forgets group after group; yield a function that tells whether it has ended."""
    process = os.fork()
    if process == 0:
        times = []
        with Filter.open(home, Options(limits=limits)) as filter_:
            while True:
                begun = time.perf_counter()
                if filter_.ageing.forget_some(time.time()) is None:
                    break
                times.append(1000 * (time.perf_counter() - begun))
                time.sleep(pause_s)
        told.write_text(figures(times))
        os._exit(0)
    ended = False

    def has_ended() -> bool:
        nonlocal ended
        ended = ended or os.waitpid(process, os.WNOHANG)[0] == process
        return ended

    try:
        yield has_ended
    finally:
        if not has_ended():
            os.waitpid(process, 0)


def figures(times: list[float]) -> str:
    """Return median, 99th percentile and longest."""
    ordered = sorted(times)
    p99 = ordered[int(0.99 * (len(ordered) - 1))]
    return f"median {statistics.median(ordered):.2f} ms, 99 of 100 within {p99:.2f} ms, longest {ordered[-1]:.1f} ms"


def main() -> None:
    """Print the times."""
    corpus = trec07p()
    raws = [(corpus.folder / name).read_bytes() for _, name in corpus.entries[TAUGHT : TAUGHT + CHECKED]]
    with tempfile.TemporaryDirectory() as folder:
        home, told = Path(folder, "home"), Path(folder, "told")
        with Filter.open(home) as filter_:
            lessons = ((corpus.folder / name, label) for label, name in corpus.entries[:TAUGHT])
            for _ in filter_.learn_many((path.read_bytes(), label, "") for path, label in lessons):
                pass
        with Filter.open(home) as filter_:
            check_times(filter_, raws[:50], iter([False, True]).__next__)
            alone = check_times(filter_, raws, iter([False] * 10 + [True]).__next__)
            print(f"checks, nothing is forgotten: {figures(alone)}")
            for name, left, pause_s in (("a group every half second", 19_500, 0.5), ("at once", 10_000, 0.0)):
                with ageing(home, Limits(lessons=left), pause_s, told) as has_ended:
                    beside = check_times(filter_, raws, has_ended)
                print(f"checks, {name}: {figures(beside)}")
                print(f"forgetting {GROUP} lessons, {name}: {told.read_text()}")


if __name__ == "__main__":
    main()
