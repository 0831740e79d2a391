"""Measures the cost of starting processes and sending them mail: the figures of docs/decisions/cores.md.

python docs/decisions/processes_measured.py
"""

import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext

from joblib.externals.loky import get_reusable_executor

from priory.processes.workers import Workers

BATCHES = 300
MAIL = 64


def work(batch: list[bytes]) -> list[bytes]:
    """Return a result as large as the features of a message, without work."""
    return [raw[:3000] for raw in batch]


def forked(batches: Iterable[list[bytes]]) -> int:
    """Use Priory's workers."""
    with Workers(2, lambda: nullcontext(work)) as workers:
        return sum(1 for _ in workers.ordered(batches))


def pooled(how: str) -> Callable[[Iterable[list[bytes]]], int]:
    """Use a pool of the standard library."""

    def run(batches: Iterable[list[bytes]]) -> int:
        context = multiprocessing.get_context(how)
        with context.Pool(2, initializer=__import__, initargs=("priory.filter.filter",)) as pool:
            return sum(1 for _ in pool.imap(work, batches))

    return run


def by_loky(batches: Iterable[list[bytes]]) -> int:
    """Use the pool of joblib."""
    pool = get_reusable_executor(2)
    try:
        return sum(len(future.result()) > 0 for future in [pool.submit(work, batch) for batch in batches])
    finally:
        pool.shutdown(kill_workers=True)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(run: Callable[[Iterable[list[bytes]]], int], batches: list[list[bytes]]) -> tuple[float, float]:
    """Return the shortest time and the least CPU time of three runs."""
    walls, cpus = [], []
    for _ in range(3):
        wall, cpu = time.perf_counter(), cpu_seconds()
        run(batches)
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_seconds() - cpu)
    return min(walls), min(cpus)


def main() -> None:
    """Measure all ways."""
    import priory.filter.filter  # noqa: F401, PLC0415 - what a fork has already, and others must load

    batches = [[os.urandom(5000) for _ in range(MAIL)] for _ in range(BATCHES)]
    ways = {
        "fork and pipes": forked,
        "multiprocessing, fork": pooled("fork"),
        "multiprocessing, spawn": pooled("spawn"),
        "loky": by_loky,
    }
    for name, run in ways.items():
        start, start_cpu = measured(run, batches[:2])
        _, cpu = measured(run, batches)
        each = (cpu - start_cpu) / ((BATCHES - 2) * MAIL)
        print(f"{name:24} start {1e3 * start:5.0f} ms (CPU {1e3 * start_cpu:4.0f} ms)  message {1e6 * each:5.1f} µs")  # noqa: T201


if __name__ == "__main__":
    main()
