"""Measures the cost of counters and metrics: the figures of docs/decisions/serve.md.

python docs/decisions/counting_measured.py

Times are the least of several rounds. Memory is proportional: shared pages are divided among the processes.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from priory.demo import draw
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.server.http.prometheus import exposition
from priory.server.http.state import Daemon
from priory.server.metrics.names import CHECK_TIMES, CONNECTED, add_labels, scoreboard
from priory.server.options import ServeOptions


def least(n: int, work: Callable[[], object], rounds: int = 9) -> float:
    """Return the seconds of one run in the best of several rounds of n."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            work()
        took.append((time.perf_counter() - start) / n)
    return min(took)


def started(folder: str) -> tuple[float, float]:
    """Return the seconds in which the HTTP process loads its modules, and its proportional memory in MB."""
    load = "import priory.server.daemon.master, time; t = time.perf_counter(); import priory.server.http.process"
    told = f"{load}; print(time.perf_counter() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", told])) for _ in range(5))  # noqa: S603
    home = Path(folder)
    (home / "priory.toml").write_text(f'[http]\nlisten = "{home}/http"\n')
    command = [str(Path(sys.executable).with_name("priory")), "serve", "--home", str(home)]
    daemon = subprocess.Popen(command, stderr=subprocess.PIPE)  # noqa: S603
    try:
        assert daemon.stderr is not None
        while b"ready" not in daemon.stderr.readline():
            pass
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
        memory = Path(f"/proc/{children[-1]}/smaps_rollup").read_text()
    finally:
        daemon.terminate()
        daemon.communicate()
    return seconds, int(memory.partition("\nPss:")[2].split()[0]) / 1024


def main() -> None:
    """Measure everything."""
    board = scoreboard()
    add_labels(board, ["ham", "spam"])
    tally = board.tally(board.take())

    def count() -> None:
        """Increment all counters of a connection with one CHECK."""
        tally.add(("connections", "spamd"))
        tally.add(CONNECTED["spamd"])
        tally.add(("requests", "CHECK"))
        tally.add(("bytes", "spamd"), 2345)
        tally.add(("checked", "spamd", "spam"))
        tally.time(CHECK_TIMES["spamd"], 0.0003)
        tally.add(CONNECTED["spamd"], -1)

    mail = list(draw(600, seed=1))
    with tempfile.TemporaryDirectory() as home:
        with Filter.open(home) as filter_:
            for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in mail[:500]):
                pass
            checking = least(200, lambda: filter_.check(mail[-1].raw))
        daemon = Daemon(Path(home), ServeOptions(), board, time.time(), Options(), tally)
        shown = least(50, lambda: exposition(daemon, ""))
        seconds, megabytes = started(home)
    one = least(100_000, lambda: tally.add(("requests", "CHECK")))
    each = least(20_000, count)
    print(f"one number           {one * 1e9:7.0f} ns")  # noqa: T201
    print(f"all about a message  {each * 1e9:7.0f} ns, {100 * each / checking:.1f} % of checking it")  # noqa: T201
    print(f"checking it          {checking * 1e9:7.0f} ns")  # noqa: T201
    print(f"showing all numbers  {shown * 1e3:7.1f} ms")  # noqa: T201
    print(f"the process for HTTP {seconds:7.2f} s to load, {megabytes:.0f} MB")  # noqa: T201


if __name__ == "__main__":
    main()
