"""Measures where the time of a message goes: instructions and seconds of every stage, and a lower bound.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/bench.py stages

A stage is a public function, with the results of the earlier stages as its input. Its instructions are the difference
of two runs with the same set-up, for n and for 2n messages; its seconds are the least of several turns. A stage without
a function of its own is the difference of two others. callgrind separates the functions inside the compiled stages.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counting import MISSING, VALGRIND, CountingError, instructions_of_each
from mail import trec07p
from report import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from priory.features import Features

LEARNED = 200
GROUP = 100  #: lessons made durable together
STAGES = ("read", "parse", "extract", "prepare", "score", "check", "learn")
#: The rows of the table, with the stages that are added and subtracted for each.
SHOWN = {
    "read the file": ("read",),
    "parse": ("parse",),
    "features (canonical text, words, hashes, distinct)": ("extract",),
    "digest and sender": ("prepare", "-parse", "-extract"),
    "score": ("score",),
    "verdict": ("check", "-score"),
    "all of check, from the file": ("read", "prepare", "check"),
    "learn: score, journal, counts (after features)": ("learn",),
    "all of learn, from the file": ("read", "prepare", "learn"),
}
#: A line of callgrind_annotate for a Cython function: its count, its name and its module.
_FUNCTION = re.compile(
    r"^\s*([\d,]+) \([ \d.]+%\)\s+\S*?:(?:__pyx_fuse_\d+)?__pyx_(?:pw|f)_(\w+)\S*"
    r" \[\S*?/(priory/\S*?)\.\S*\]",
    re.MULTILINE,
)


def stage(name: str, index: Path, home: str, n: int) -> tuple[Callable[[Any], object], Iterable[Any]]:
    """Return the function of the stage, and n inputs for it."""
    from priory.corpus import read_index
    from priory.features import extract
    from priory.filter.filter import Filter
    from priory.message import parse

    corpus = read_index(index)
    if name == "read":
        return _nothing_more, corpus
    filter_ = Filter.open(home)
    mail = list(islice(corpus, LEARNED + n))
    for _ in filter_.learn_many((m.raw, m.label, m.source) for m in mail[:LEARNED]):
        pass
    unseen = mail[LEARNED:]
    raws = [m.raw for m in unseen]
    ready: dict[str, Callable[[], tuple[Callable[[Any], object], Iterable[Any]]]] = {
        "parse": lambda: (parse, raws),
        "extract": lambda: (partial(extract, spec=filter_.options.spec), [parse(raw) for raw in raws]),
        "prepare": lambda: (filter_.prepare, raws),
        "check from bytes": lambda: (filter_.check, raws),
        "score": lambda: (_scoring(filter_), [filter_.prepare(raw) for raw in raws]),
        "check": lambda: (filter_.check, [filter_.prepare(raw) for raw in raws]),
        "learn": lambda: (_nothing_more, _learning(filter_, [(filter_.prepare(m.raw), m.label, "") for m in unseen])),
    }
    return ready[name]()


def _nothing_more(_: object) -> None:
    """Do nothing: getting the input is the work of the stage."""


def _scoring(filter_: Any) -> Callable[[Any], object]:
    from priory.filter.scoring import calibrations, scores

    lines, model = calibrations(filter_.counts), filter_.options.model
    return lambda read: scores(read.features, filter_.counts, model, lines)


def _learning(filter_: Any, lessons: list[Any]) -> Iterable[Any]:
    """Learn lazily: yield after each lesson, so that only requested lessons are learned."""
    for group in filter_.learn_many(lessons, group=GROUP):
        yield from group


def work(name: str, index: Path, home: str, n_all: int, n_done: int) -> None:
    """Prepare the stage for all inputs, and run it for some."""
    do, inputs = stage(name, index, home, n_all)
    for each in islice(inputs, n_done):
        do(each)
    os._exit(0)


def seconds(name: str, index: Path, home: str, n: int) -> float:
    """Return the CPU seconds per message of a stage."""
    do, inputs = stage(name, index, home, n)
    start = time.process_time()
    for each in islice(inputs, n):
        do(each)
    return (time.process_time() - start) / n


def floor(index: Path, home: str, n: int) -> dict[str, float]:
    """Return the seconds per message of reading every byte once, and of fetching the counts of every feature once.

    The counts are fetched as if each feature were in the row of its bucket, also if it has a name of its own.
    """
    from priory.corpus import read_index
    from priory.filter.filter import Filter

    raws = [m.raw for m in islice(read_index(index), n)]
    data = np.frombuffer(b"".join(raws).ljust(8 * (sum(map(len, raws)) // 8 + 1), b"\0"), np.uint64)
    with Filter.open(home) as filter_:
        for _ in filter_.learn_many((raw, "ham", "") for raw in raws[:2]):
            pass
        bits = filter_.counts.shape.bits
        buckets = np.concatenate([_buckets(filter_.prepare(raw).features, bits) for raw in raws])
    table = np.ones(1 << bits, np.uint64)  # two labels of 32 bits
    return {
        "every byte once": _least(data.sum) / n,
        "every count once": _least(lambda: table.take(buckets).sum()) / n,
        "bytes": data.nbytes / n,
        "features": len(buckets) / n,
    }


def _buckets(features: "Features", bits: int) -> "NDArray[np.int64]":
    """Return the bucket of each feature."""
    kinds = np.repeat(np.arange(len(features.offsets) - 1), np.diff(features.offsets))
    extra = np.where(features.named >> kinds & 1, features.extra_bits(bits), 0)
    return np.asarray(features.buckets, np.int64) >> extra


def _least(act: Callable[[], object], turns: int = 7) -> float:
    times = []
    for _ in range(turns):
        start = time.process_time()
        act()
        times.append(time.process_time() - start)
    return min(times)


def functions(index: Path, folder: Path, n: int) -> list[tuple[str, int]]:
    """Return the most expensive compiled functions of checking, with their instructions per message.

    A function's count includes the functions that it calls.
    """
    if not shutil.which(VALGRIND):
        raise CountingError(MISSING)
    with ThreadPoolExecutor(2) as pool:
        few, many = pool.map(lambda k: _inclusive("check from bytes", index, folder, 2 * n, k), (n, 2 * n))
    many.subtract(few)
    return [(name, round(count / n)) for name, count in many.most_common(20) if count > n]


def _inclusive(name: str, index: Path, folder: Path, n_all: int, n_done: int) -> Counter[str]:
    out = folder / f"callgrind.{n_done}"
    command = [
        VALGRIND,
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        *_command(name, index, folder, n_all, n_done),
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    annotate = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)]
    said = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    counts: Counter[str] = Counter()
    for count, mangled, module in _FUNCTION.findall(said):
        name = f"{module.replace('/', '.')}.{demangled(mangled, module)}"
        counts[name] = max(counts[name], int(count.replace(",", "")))
    return counts


def demangled(name: str, module: str) -> str:
    """Return the source name of a function, from its class on.

    >>> demangled("6priory_8features_7hashing_6Tokens_1__init__", "priory/features/hashing")
    'Tokens.__init__'
    """
    parts = []
    while found := re.match(r"\d+", name):
        start, end = found.end(), found.end() + int(found[0])
        part, rest = name[start:end], name[end:]
        if part.startswith("_") or not rest.startswith("_"):
            break
        parts.append(part)
        name = rest[1:]
    known = set(module.split("/"))
    return ".".join([*(part for part in parts if part not in known), re.sub(r"^\d+", "", name)])


def _command(name: str, index: Path, folder: Path, n_all: int, n_done: int) -> list[str]:
    home = tempfile.mkdtemp(dir=folder)
    return [sys.executable, __file__, "work", name, str(index), home, str(n_all), str(n_done)]


def _timed(name: str, index: Path, folder: Path, n: int) -> float:
    """Return the seconds of a stage in a process of its own."""
    command = [sys.executable, __file__, "seconds", name, str(index), tempfile.mkdtemp(dir=folder), str(n), "0"]
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def sampled(folder: Path) -> Path:
    """Write the index of the measured messages: every fifteenth."""
    return trec07p()[::15].write_index(folder / "stages.index")


def measured(folder: Path, quick: bool) -> tuple[Table, dict[str, object]]:
    """Return the stages, and their ratio to the lower bound."""
    n, turns = (GROUP, 1) if quick else (2 * GROUP, 3)
    index = sampled(folder)
    runs = instructions_of_each([_command(name, index, folder, 2 * n, k) for name in STAGES for k in (n, 2 * n)])
    counts = {name: (runs[2 * i + 1] - runs[2 * i]) / n for i, name in enumerate(STAGES)}
    turns_of_all = [{name: _timed(name, index, folder, 1_000) for name in STAGES} for _ in range(turns)]
    times = {name: 1e6 * min(turn[name] for turn in turns_of_all) for name in STAGES}
    least = floor(index, tempfile.mkdtemp(dir=folder), 1_000)
    bottom = times["read"] + 1e6 * (least["every byte once"] + least["every count once"])
    whole = _sum(times, SHOWN["all of check, from the file"])
    rows = [[what, f"{_sum(counts, terms):,.0f}", f"{_sum(times, terms):,.1f}"] for what, terms in SHOWN.items()]
    n_bytes, n_features = f"{least['bytes']:,.0f}", f"{least['features']:,.0f}"
    rows += [
        [f"floor: {n_bytes} bytes, each once", "", f"{1e6 * least['every byte once']:,.1f}"],
        [f"floor: {n_features} features' counts, each once", "", f"{1e6 * least['every count once']:,.1f}"],
    ]
    note = f"Floor and reading: {bottom:.0f} µs; all of check takes {whole / bottom:.1f} times as long."
    table = Table("stages", "Where a message's time goes", ["", "instructions", "CPU µs"], rows, [note])
    figures = {"instructions": counts, "cpu_us": times, "floor": least}
    return table, {**figures, "floor_us": bottom, "times_the_floor": whole / bottom}


def functions_in_check(folder: Path, quick: bool) -> tuple[Table, dict[str, int]]:
    """Return the share of each compiled function in a check."""
    inside = functions(sampled(folder), folder, GROUP // 2 if quick else GROUP)
    rows = [[f"`{name}`", f"{count:,}"] for name, count in inside]
    return Table("functions", "Compiled functions in check, with what they call", ["", "instructions"], rows), dict(
        inside
    )


def _sum(figures: dict[str, float], terms: tuple[str, ...]) -> float:
    return sum(-figures[term[1:]] if term.startswith("-") else figures[term] for term in terms)


def main() -> None:
    parser = argparse.ArgumentParser(description="Parts of bench.py that need a process of their own.")
    parser.add_argument("act", choices=["work", "seconds"])
    parser.add_argument("name")
    parser.add_argument("index", type=Path)
    parser.add_argument("home")
    parser.add_argument("n", type=int)
    parser.add_argument("n_done", type=int)
    said = parser.parse_args()
    if said.act == "work":
        work(said.name, said.index, said.home, said.n, said.n_done)
    print(seconds(said.name, said.index, said.home, said.n))


if __name__ == "__main__":
    main()
