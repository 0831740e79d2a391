"""Nearest neighbours against scikit-learn: time for each query, and memory.

    python benchmarks/neighbours.py [--json FILE] [--repeats 5]

Both learn the same rows and predict the same queries, k = 5, in turns; the table has the medians. scikit-learn has its
defaults (`algorithm="auto"`: a tree, or brute force). For Jaccard it wants dense booleans, and that route is so slow
that it gets fewer queries; all times are per query. Memory is by how much one prediction, in a process of its own and
with the index that it builds, raises the peak above what data and libraries take. It is read from /proc, so on Linux.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from priory.bayes import NearestNeighbours

K = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """Data of one shape under one metric."""

    metric: str
    n: int
    d: int
    density: float = 1.0
    queries: int = 1000
    their_queries: int = 1000

    @property
    def name(self) -> str:
        """The name in the table."""
        kind = "dense" if self.density == 1 else f"sparse {self.density:.0%}"
        return f"{self.metric}, {kind}, {self.n:,} × {self.d:,}"


CELLS = [
    Cell("jaccard", 10_000, 10_000, 0.01, their_queries=10),
    Cell("euclidean", 10_000, 10_000, 0.01),
    Cell("manhattan", 10_000, 10_000, 0.01, their_queries=100),
    Cell("cosine", 10_000, 10_000, 0.01),
    *(
        Cell("euclidean", n, d)
        for n, d in ((10_000, 2), (50_000, 2), (10_000, 6), (10_000, 64), (50_000, 64), (10_000, 300))
    ),
    *(Cell("manhattan", n, d) for n, d in ((10_000, 2), (50_000, 2), (10_000, 6), (10_000, 64))),
    *(Cell("cosine", n, d) for n, d in ((10_000, 2), (10_000, 64), (10_000, 300))),
]


def data(cell: Cell):
    """Return rows, labels and queries, the same in every process."""
    rng = np.random.default_rng(340)
    shapes = (cell.n, cell.d), (cell.queries, cell.d)
    if cell.density == 1:
        X, queries = (rng.normal(size=shape) for shape in shapes)
    else:
        X, queries = (sparse.random_array(shape, density=cell.density, format="csr", rng=rng) for shape in shapes)
    return X, rng.integers(0, 2, cell.n), queries


def contenders(cell: Cell):
    """Return a prediction function and its number of queries for each library."""
    X, y, queries = data(cell)
    some = queries[: cell.their_queries]
    if cell.metric == "jaccard":
        X_theirs, some = X.toarray().astype(bool), some.toarray().astype(bool)
    else:
        X_theirs = X
    ours = NearestNeighbours(K, cell.metric).fit(X, y)
    theirs = KNeighborsClassifier(K, metric=cell.metric).fit(X_theirs, y)
    return {
        "ours": (lambda: ours.predict(queries), cell.queries),
        "theirs": (lambda: theirs.predict(some), some.shape[0]),
    }


def times(cell: Cell, repeats: int) -> dict[str, float]:
    """Return microseconds per query, without the first prediction, which builds the index."""
    sides = contenders(cell)
    taken: dict[str, list[float]] = {side: [] for side in sides}
    for predict, _ in sides.values():
        predict()
    for _ in range(repeats):
        for side, (predict, n) in sides.items():
            start = time.perf_counter()
            predict()
            taken[side].append(1e6 * (time.perf_counter() - start) / n)
    return {side: statistics.median(values) for side, values in taken.items()}


def memory(cell: Cell, side: str) -> float:
    """Return by how many MB one prediction raises the peak of this process."""
    predict, _ = contenders(cell)[side]
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak; ru_maxrss would start with the parent's
    before = _status_mb("VmRSS")
    predict()
    return _status_mb("VmHWM") - before


def _status_mb(field: str) -> float:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def in_own_process(i: int, side: str) -> float:
    command = [sys.executable, __file__, "--memory", json.dumps([i, side])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--repeats", type=int, default=5, help="predictions of each side, in turns (default 5)")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        i, side = json.loads(arguments.memory)
        print(json.dumps(memory(CELLS[i], side)))
        return
    figures = {}
    print(f"{'':44}{'µs per query':>24}{'':9}{'peak MB':>16}")
    print(f"{'':44}{'priory':>10}{'scikit-learn':>14}{'ratio':>9}{'priory':>8}{'sklearn':>8}")
    for i, cell in enumerate(CELLS):
        found = times(cell, arguments.repeats)
        peak = {side: in_own_process(i, side) for side in found}
        note = f"  (scikit-learn: {cell.their_queries} queries)" if cell.their_queries < cell.queries else ""
        ratio = found["theirs"] / found["ours"]
        print(
            f"{cell.name:44}{found['ours']:>10,.1f}{found['theirs']:>14,.1f}{ratio:>9,.2f}"
            f"{peak['ours']:>8,.0f}{peak['theirs']:>8,.0f}{note}",
            flush=True,
        )
        figures[cell.name] = {
            "priory_us": found["ours"],
            "sklearn_us": found["theirs"],
            "ratio": ratio,
            "priory_peak_mb": peak["ours"],
            "sklearn_peak_mb": peak["theirs"],
            "sklearn_queries": cell.their_queries,
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
