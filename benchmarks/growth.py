"""Measures whether a filter slows down as it learns: filters of growing size check and learn the same messages.

A filter learns mail of the demo's generator; at each size a copy is kept. Other processes draw and parse the mail, and
return features packed as in the journal, so that a million lessons take minutes. Then one process opens all sizes,
which take turns to check and learn the same further messages from bytes.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from peers import PRIORY
from priory.demo import draw
from priory.features import Spec, pack_features, unpack_features
from priory.filter.filter import Filter
from priory.filter.prepare import Prepared, prepare
from report import Table, between
from rounds import Spread, ratios, run, spread

CHUNK = 1_000  #: messages of one drawn inbox
FURTHER_SEED = 1_000_000_000  #: seed of inboxes that were not learned
BATCH = 500
SPEC = Spec()

Drawn = list[tuple[bytes, str, str, bytes]]


def drawn_inbox(seed: int) -> Drawn:
    """Return digest, sender, label and packed features of every message of an inbox."""
    read = ((prepare(message.raw, SPEC), message.label) for message in draw(CHUNK, seed=seed))
    return [(each.digest, each.sender, label, pack_features(each.features, SPEC.bits)) for each, label in read]


def drawn_lessons(n: int) -> Iterator[tuple[Prepared, str, str]]:
    """Yield lessons, drawn by other processes, a few inboxes ahead."""
    cores = os.cpu_count() or 1
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        waiting: deque[multiprocessing.pool.AsyncResult[Drawn]] = deque()
        for seed in range(-(-n // CHUNK) + 2 * cores):
            waiting.append(pool.apply_async(drawn_inbox, (seed,)))
            if len(waiting) > 2 * cores:
                for digest, sender, label, blob in waiting.popleft().get():
                    yield Prepared(digest, sender, unpack_features(blob, SPEC.bits)), label, ""


def grow(sizes: Sequence[int], folder: Path, progressed: Callable[[str], None]) -> dict[int, Path]:
    """Learn up to the largest size, and keep a copy at each."""
    growing, homes, n = folder / "growing", {}, 0
    lessons = drawn_lessons(sizes[-1])
    start = time.perf_counter()
    for size in sizes:
        with Filter.open(growing) as filter_:
            for group in filter_.learn_many(islice(lessons, size - n)):
                n += len(group)
                if n % 20_000 == 0:
                    progressed(f"{n:,} learned, {time.perf_counter() - start:.0f} s")
        homes[size] = folder / f"learned-{size}"
        shutil.copytree(growing, homes[size]) if size != sizes[-1] else growing.rename(homes[size])
    lessons.close()
    return homes


def compare(homes: dict[int, Path], rounds: int) -> dict[str, dict[int, list[float]]]:
    """Return seconds per message of checking and learning, of each size in each round.

    The first filter changes from round to round; the first round is a warm-up and left out.
    """
    filters = {size: Filter.open(home) for size, home in homes.items()}
    seconds: dict[str, dict[int, list[float]]] = {act: {size: [] for size in homes} for act in ("check", "learn")}
    for turn in range(rounds + 1):
        batch = [(each.raw, each.label, "") for each in draw(BATCH, seed=FURTHER_SEED + turn)]
        order = list(filters)[turn % len(filters) :] + list(filters)[: turn % len(filters)]
        for act, done in (("check", _check), ("learn", _learn)):
            for size in order:
                start = time.perf_counter()
                done(filters[size], batch)
                seconds[act][size].append((time.perf_counter() - start) / BATCH)
    for filter_ in filters.values():
        filter_.close()
    return {act: {size: each[1:] for size, each in sizes.items()} for act, sizes in seconds.items()}


def _check(filter_: Filter, batch: list[tuple[bytes, str, str]]) -> None:
    for raw, _, _ in batch:
        filter_.check(raw)


def _learn(filter_: Filter, batch: list[tuple[bytes, str, str]]) -> None:
    for _ in filter_.learn_many(batch):
        pass


def first_verdict(home: str) -> float:
    """Return the seconds from opening a filter to its first verdict, in a process that has loaded Priory."""
    [message] = draw(1, seed=FURTHER_SEED - 1)
    start = time.perf_counter()
    with Filter.open(home) as filter_:
        filter_.check(message.raw)
    return time.perf_counter() - start


def growth(homes: dict[int, Path], rounds: int) -> tuple[Table, dict[str, object]]:
    """Compare the sizes in a process of their own."""
    named = {str(size): str(home) for size, home in homes.items()}
    seconds = _in_own_process("compare", json.dumps(named), str(rounds))
    least = min(homes)
    rows, figures = [], {}
    for size in homes:
        row = [f"{size:,}"]
        for act in ("check", "learn"):
            own, smallest = seconds[act][str(size)], seconds[act][str(least)]
            microseconds, ratio = spread(1e6 * each for each in own), ratios(smallest, own)
            row += [between(microseconds, 0), between(ratio)]
            figures[f"{act} at {size}"] = {"us": microseconds.as_dict(), "ratio": ratio.as_dict()}
        rows.append(row)
    columns = ["learned", "check, µs", f"against {least:,}", "learn, µs", f"against {least:,}"]
    note = f"{rounds} rounds of {BATCH} messages, the same for every size."
    return Table("growth", "Time per message as the filter grows", columns, rows, [note]), figures


def opening(homes: dict[int, Path], rounds: int, folder: Path) -> tuple[Table, dict[str, object]]:
    """Time the first verdict of every size, in a running process and in a fresh one."""
    message = folder / "first.eml"
    message.write_bytes(next(draw(1, seed=FURTHER_SEED - 1)).raw)
    opened: dict[int, list[float]] = {size: [] for size in homes}
    fresh: dict[int, list[float]] = {size: [] for size in homes}
    for _ in range(rounds):
        for size, home in homes.items():
            opened[size].append(1000 * _in_own_process("first_verdict", str(home)))
            command = [PRIORY, "check", str(message), "--home", str(home)]
            fresh[size].append(1000 * run(command).seconds)
    rows, figures = [], {}
    for size, home in homes.items():
        both: tuple[Spread, Spread] = spread(opened[size]), spread(fresh[size])
        journal_bytes = (home / "journal.sqlite").stat().st_size
        rows.append([f"{size:,}", *(between(each, 0) for each in both), f"{journal_bytes / 1e6:,.0f}"])
        names = ("in_open_process_ms", "in_fresh_process_ms")
        figures[str(size)] = {name: each.as_dict() for name, each in zip(names, both, strict=True)}
        figures[str(size)]["journal_bytes"] = journal_bytes
    columns = ["learned", "Filter.open to verdict, ms", "priory check FILE, ms", "journal MB"]
    note = f"{rounds} rounds, each in new processes; the snapshot in place, the files in the page cache."
    return Table("open", "Opening a store, to the first verdict", columns, rows, [note]), figures


def _in_own_process(*arguments: str) -> "dict[str, dict[str, list[float]]] | float":
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Parts of bench.py that need a process of their own.")
    parser.add_argument("act", choices=["compare", "first_verdict"])
    parser.add_argument("arguments", nargs="+")
    said = parser.parse_args()
    if said.act == "compare":
        homes = {int(size): Path(home) for size, home in json.loads(said.arguments[0]).items()}
        print(json.dumps(compare(homes, int(said.arguments[1]))))
    else:
        print(json.dumps(first_verdict(said.arguments[0])))


if __name__ == "__main__":
    main()
