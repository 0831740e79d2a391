"""Learning on a Dask cluster of two processes against learning in one, in rounds in which all take turns.

    PRIORY_CORPORA=… python benchmarks/cluster.py [--rounds 15] [--messages 37710]

Each way starts from an empty home; the cluster is already running, as it is in practice. In the last round a
worker is killed during the work. All homes must have the same counts and rows. Wall time is the time a user waits;
processor time, of this process and the readers, is the time on cores without other load.
"""

import argparse
import os
import shutil
import signal
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bulk import differences
from priory.bulk import local as bulk
from priory.bulk.cluster import Cluster, opened, read_ahead
from priory.corpus import Corpus, read_index
from priory.filter.filter import Filter


def learned(corpus: Corpus, home: Path, way: str, cluster: Cluster) -> tuple[float, float]:
    """Learn; return the wall time and the processor time in seconds."""
    shutil.rmtree(home, ignore_errors=True)
    with Filter.open(home) as filter_:
        before, start = used(cluster), time.perf_counter()
        if way in {"one process", "--jobs 2"}:
            reading = bulk.read_ahead(corpus, filter_, 1 if way == "one process" else 2)
        else:
            reading = read_ahead(corpus, filter_, cluster)
        with reading as lessons:
            for _ in filter_.learn_many(killing(lessons, cluster) if "killed" in way else lessons):
                pass
        return time.perf_counter() - start, used(cluster) - before


def killing(lessons: Iterator[bulk.LearnItem], cluster: Cluster) -> Iterator[bulk.LearnItem]:
    for i, lesson in enumerate(lessons):
        if i == 5000:
            os.kill(next(iter(cluster._client.run(os.getpid).values())), signal.SIGKILL)
        yield lesson


def used(cluster: Cluster) -> float:
    """Return the processor time of this process, its finished children, and the workers."""
    return sum(os.times()[:4]) + sum(sum(times[:2]) for times in cluster._client.run(os.times).values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--messages", type=int, default=37_710)
    said = parser.parse_args()
    data = Path(os.environ["PRIORY_CORPORA"]) / "trec07p"
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, opened("local:2") as cluster:
        lines = (data / "full/index").read_text().splitlines(keepends=True)[: said.messages]
        index = Path(folder, "index")
        index.write_text("".join(line.replace("../data", str(data / "data")) for line in lines))
        corpus, homes = read_index(index), {}
        for number in range(said.rounds):
            for way in (
                "one process",
                "--jobs 2",
                "cluster",
                *(["cluster, a worker killed"] * (number + 1 == said.rounds)),
            ):
                homes[way] = Path(folder, way)
                times[way].append(learned(corpus, homes[way], way, cluster))
                print(f"{way:26} {times[way][-1][0]:6.2f} s, processor {times[way][-1][1]:6.2f} s", flush=True)
        for way, home in homes.items():
            differing = differences(homes["one process"], home)
            print(f"{way:26} {'differs in ' + ', '.join(differing) if differing else 'the same counts and rows'}")
    for way in ("--jobs 2", "cluster"):
        wall, processor = (
            statistics.median(one[i] / other[i] for one, other in zip(times["one process"], times[way], strict=True))
            for i in (0, 1)
        )
        print(f"{way}: {wall:.2f} times as fast; processor time allows {2 * processor:.2f} on two cores")


if __name__ == "__main__":
    main()
