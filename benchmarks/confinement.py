"""Measures what confining workers costs: processor time of the worker for each CHECK, with and without it.

    python benchmarks/confinement.py

Two daemons with one worker each take turns, so that other work on the machine hits both alike.
"""

import contextlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from priory.demo import draw
from priory.filter.filter import Filter

TURNS = 30
CHECKS = 1_000
UNCONFINED = """
import priory.server.daemon.worker as worker
worker.drop_rights = lambda home, options: None
"""
START = "import sys; from priory.cli.app import app; app(['serve', '--home', sys.argv[1]])"


@contextlib.contextmanager
def daemon(home: Path, first: str) -> Iterator[Path]:
    """Run a daemon; yield the file with the processor time of its worker."""
    with Filter.open(home) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(300, seed=1)):
            pass
    (home / "priory.toml").write_text("[serve]\nworkers = 1\n")
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-c", first + START, home], stderr=log)
    try:
        while "ready" not in (home / "log").read_text():
            time.sleep(0.1)
        (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield Path(f"/proc/{worker}/schedstat")
    finally:
        process.terminate()
        process.wait()


def microseconds(home: Path, figures: Path) -> float:
    """Return the worker's processor time for one CHECK."""
    start = int(figures.read_text().split()[0])
    for drawn in MAIL:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(home / "socket"))
            client.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(drawn.raw) + drawn.raw)
            while client.recv(4096):
                pass
    time.sleep(0.01)
    return (int(figures.read_text().split()[0]) - start) / CHECKS / 1000


MAIL = list(draw(CHECKS, seed=2))


def main() -> None:
    with contextlib.ExitStack() as stack:
        homes = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        workers = [stack.enter_context(daemon(*pair)) for pair in zip(homes, ("", UNCONFINED), strict=True)]
        turns = [[microseconds(*pair) for pair in zip(homes, workers, strict=True)] for _ in range(TURNS)]
    confined, free = (statistics.median(times) for times in zip(*turns, strict=True))
    ratio = statistics.median(a / b for a, b in turns)
    print(f"confined {confined:.1f} µs, not confined {free:.1f} µs of processor time for one CHECK")
    print(f"median ratio of {TURNS} turns: {ratio:.3f}")


if __name__ == "__main__":
    main()
