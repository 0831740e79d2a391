"""What it costs to count, and to show what was counted: the figures of docs/decisions/serve.md.

python docs/decisions/counting_measured.py

The least of several rounds is told; the memory is the process's share, with what it shares divided among the sharers.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from priory.demo import draw
from priory.filter import Filter
from priory.options import Options
from priory.server.counted import CHECK_TIMES, CONNECTED, know, scoreboard
from priory.server.http.metrics import exposition
from priory.server.http.state import Daemon
from priory.server.options import Serving


def least(n: int, work: Callable[[], object], rounds: int = 9) -> float:
    """Return the seconds that one run took in the best of some rounds of n."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(n):
            work()
        took.append((time.perf_counter() - start) / n)
    return min(took)


def started(folder: str) -> tuple[float, float]:
    """Return the seconds that the process for HTTP takes to load what it needs, and its share of the memory in MB."""
    load = "import priory.server.master, time; t = time.perf_counter(); import priory.server.http.process"
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
    know(board, ["ham", "spam"])
    tally = board.tally(board.take())

    def count() -> None:
        """All that is counted about a connection with one CHECK."""
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
        daemon = Daemon(Path(home), Serving(), board, time.time(), Options(), tally)
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
