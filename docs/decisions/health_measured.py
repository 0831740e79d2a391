"""Measures the history after 400 days with mail in every minute: its size, and the time to write and to read.

python docs/decisions/health_measured.py
"""

import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from priory.server.metrics.history import HOUR_S, HOURS_KEPT_S, MINUTE_S, MINUTES_KEPT_S, History, default_step
from priory.server.metrics.names import CHECK_TIMES, PROTOCOLS
from priory.server.metrics.scoreboard import Key
from priory.server.page.views.activity import SPANS

NOW = 1_793_491_200


def counted_more(totals: dict[Key, int], random: Random) -> None:
    """Add the counters of a busy minute: verdicts of two protocols, and checks of many durations."""
    for protocol in PROTOCOLS:
        for verdict, n in (("ham", 40), ("spam", 30), ("unsure", 2)):
            key = "checked", protocol, verdict
            totals[key] = totals.get(key, 0) + n
        for key in random.sample(CHECK_TIMES[protocol].keys[:12], 6):
            totals[key] = totals.get(key, 0) + 12
        for key in (("bytes", protocol), CHECK_TIMES[protocol].sum):
            totals[key] = totals.get(key, 0) + 72_000


def grown(home: Path) -> list[float]:
    """Write the history of 400 days; return the times of the last hour's writes."""
    history, random = History(home), Random(1)  # noqa: S311
    totals: dict[Key, int] = {}
    took: list[float] = []
    begin = NOW - HOURS_KEPT_S + HOUR_S
    for at in [*range(begin, NOW - MINUTES_KEPT_S, HOUR_S), *range(NOW - MINUTES_KEPT_S, NOW, MINUTE_S)]:
        counted_more(totals, random)
        begun = time.perf_counter()
        history.add(1.0, lambda: totals, at)
        took.append(time.perf_counter() - begun)
    return took[-60:]


def look_s(history: History, seconds: int) -> float:
    """Return the seconds to read this much history, the least of several rounds."""
    rounds = []
    for _ in range(9):
        begun = time.perf_counter()
        history.steps(NOW - seconds, NOW, default_step(seconds))
        rounds.append(time.perf_counter() - begun)
    return min(rounds)


def main() -> None:
    """Measure, and print."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        took = grown(home)
        history = History(home)
        print(f"{history.size_bytes() / 1e6:.1f} MB; a note takes {1e3 * min(took):.1f} ms")  # noqa: T201
        for span, seconds in SPANS.items():
            print(f"to look at the last {span:5} {1e3 * look_s(history, seconds):6.1f} ms")  # noqa: T201


if __name__ == "__main__":
    main()
