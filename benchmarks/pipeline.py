"""The whole pipeline on one core: bytes to a verdict, bytes to durable learning, memory, start-up.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/pipeline.py [--json FILE]

Two filters learn the first 1,000 and the first 30,000 messages of trec07p. Then both check the same 3,000 further
messages in turns, and both learn the same 2,000 more, so that their times can be compared. Reading the files is not
counted there; in the bulk run it is. Each part runs in a process of its own, on one core.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from priory.corpus import read_index
from priory.filter import Filter

SMALL, LARGE, CHECKED, TAUGHT = 1_000, 30_000, 3_000, 2_000
INDEX = "trec07p/full/index"


def mail(start: int, n: int):
    corpus = read_index(Path(os.environ["PRIORY_CORPORA"]) / INDEX)
    return ((m.raw, m.label, m.source) for m in islice(corpus, start, start + n))


def learn(home: str, n: int) -> dict[str, float]:
    """Learn in bulk, reading as we go; the figures of this process."""
    with Filter.open(home) as filter_:
        start = time.perf_counter()
        for _ in filter_.learn_many(mail(0, n)):
            pass
        seconds = time.perf_counter() - start
    return {"rate": n / seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def compare(small: str, large: str) -> dict[str, float]:
    """Check, then learn, the same messages with both filters in turns."""
    unseen = list(mail(LARGE, CHECKED))
    more = list(mail(LARGE + CHECKED, TAUGHT))
    check: dict[str, list[float]] = {small: [], large: []}
    teach: dict[str, list[float]] = {small: [], large: []}
    with Filter.open(small) as one, Filter.open(large) as two:
        both = ((small, one), (large, two))
        for home, filter_ in both * 3:
            start = time.perf_counter()
            for raw, _, _ in unseen:
                filter_.check(raw)
            check[home].append((time.perf_counter() - start) / len(unseen))
        for i in range(0, TAUGHT, 500):
            for home, filter_ in both:
                start = time.perf_counter()
                list(filter_.learn_many(more[i : i + 500]))
                teach[home].append((time.perf_counter() - start) / 500)
    middle = {home: (statistics.median(check[home]), statistics.median(teach[home])) for home in (small, large)}
    return {
        "check_rate": 1 / middle[large][0],
        "check_growth": middle[large][0] / middle[small][0],
        "learn_rate": 1 / middle[large][1],
        "learn_growth": middle[large][1] / middle[small][1],
    }


def fresh_process(home: str, message: Path, repeats: int = 15) -> dict[str, float]:
    """Time `priory check FILE` from start to end."""
    command = [str(Path(sys.executable).with_name("priory")), "check", str(message), "--home", home]
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
    return {"fresh_check_ms": statistics.median(times)}


def part(function: str, *arguments: object) -> dict[str, float]:
    """Run a part in a process of its own, so that memory and caches are its own."""
    command = [sys.executable, __file__, "--part", json.dumps([function, *arguments])]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return json.loads(result.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        function, *rest = json.loads(arguments.part)
        print(json.dumps({"learn": learn, "compare": compare}[function](*rest)))
        return
    with tempfile.TemporaryDirectory() as folder:
        small, large = f"{folder}/small", f"{folder}/large"
        part("learn", small, SMALL)
        bulk = part("learn", large, LARGE)
        message = Path(folder) / "message.eml"
        message.write_bytes(next(mail(LARGE, 1))[0])
        journal = Path(large) / "journal.sqlite"
        figures = {
            "bulk learn, reading included, messages/s": bulk["rate"],
            "bulk learn, peak memory, MB": bulk["peak_mb"],
            "journal, bytes per message": journal.stat().st_size / LARGE,
            **{_NAMES[key]: value for key, value in part("compare", small, large).items()},
            "priory check in a fresh process, ms": fresh_process(large, message)["fresh_check_ms"],
        }
    for name, value in figures.items():
        print(f"{name:52}{value:>10,.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


_NAMES = {
    "check_rate": "check with 30,000 learned, messages/s",
    "check_growth": "check, time with 30,000 learned / with 1,000",
    "learn_rate": "learn with 30,000 learned, messages/s",
    "learn_growth": "learn, time with 30,000 learned / with 1,000",
}

if __name__ == "__main__":
    main()
