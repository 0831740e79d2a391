"""Measures learning and checking without feature extraction: counts, calibration, journal, snapshot.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/journal.py [--learned 10000] [--copies 1]
    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/journal.py --lines

The script prepares messages of trec07p, then measures the processor time of all later steps. With `--copies K` they are
learned K times, each time with other digests: 37,710 messages and 27 copies are a million lessons. The last lines
compare with a filter of a thousand lessons. `--lines` learns trec07p and SpamAssassin with a calibration line per
lesson, and with lines only where they may matter, and counts the differences.
"""

import argparse
import hashlib
import math
import operator
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from priory.bayes import Calibration, Counts
from priory.corpus import read_index
from priory.features import Features, Spec
from priory.filter import learn as counting
from priory.filter import scoring as drawing
from priory.filter.filter import Filter
from priory.filter.prepare import Prepared, prepare

SMALL, MORE, SINGLE = 1_000, 2_000, 200
Lessons = list[tuple[Prepared, str, str]]


def lessons(n: int | None, index: str = "trec07p/full/index") -> Lessons:
    corpus = read_index(Path(os.environ["PRIORY_CORPORA"]) / index)
    return [(_features_only(prepare(m.raw, Spec())), m.label, m.source) for m in islice(corpus, n)]


def _features_only(read: Prepared) -> Prepared:
    return Prepared(read.digest, read.sender, Features(read.features.buckets, read.features.offsets))


def copies(taught: Lessons, first: int, end: int) -> Iterator[tuple[Prepared, str, str]]:
    """Yield the lessons repeatedly, each time with other digests."""
    for copy in range(first, end):
        for read, label, source in taught:
            digest = hashlib.sha256(read.digest + copy.to_bytes(4)).digest()
            yield Prepared(digest, read.sender, read.features), label, source


def show(name: str, *values: float) -> None:
    print(f"{name:60}" + "".join(f"{value:10,.1f}" for value in values))


def micros(seconds: float, n: int) -> float:
    return 1e6 * seconds / n


def learn(filter_: Filter, taught: Iterable[tuple[Prepared, str, str]]) -> float:
    """Learn in bulk; return the processor time per message in µs."""
    start, n = time.process_time(), 0
    for done in filter_.learn_many(taught):
        n += len(done)
    return micros(time.process_time() - start, n)


def check(filter_: Filter, unseen: list[Prepared]) -> float:
    start = time.process_time()
    for read in unseen:
        filter_.check(read)
    return micros(time.process_time() - start, len(unseen))


def first_verdict(home: str, read: Prepared) -> float:
    """Return the milliseconds from opening a store to the first verdict."""
    start = time.perf_counter()
    with Filter.open(home) as filter_:
        filter_.check(read)
        return 1000 * (time.perf_counter() - start)


def one_by_one(filter_: Filter, taught: Lessons) -> tuple[float, float]:
    """Return the milliseconds until a single lesson is durable, and until it is forgotten."""
    learned, forgotten = [], []
    for read, label, source in taught:
        start = time.perf_counter()
        filter_.learn(read, label, source)
        learned.append(time.perf_counter() - start)
    for read, _, _ in taught:
        start = time.perf_counter()
        filter_.forget_digest(read.digest)
        forgotten.append(time.perf_counter() - start)
    return 1000 * statistics.median(learned), 1000 * statistics.median(forgotten)


def lines(index: str) -> None:
    """Compare learning with a calibration line per lesson to the filter's own schedule."""
    taught, certain, draw = lessons(None, index), counting.CERTAIN, drawing.calibrations
    left, n_drawn = [], []
    for counting.CERTAIN in (math.inf, certain):
        drawn: list[int] = []

        def counted(
            counts: Counts, by_people: list[int], most_wrong: float, drawn: list[int] = drawn
        ) -> list[Calibration]:
            drawn.append(1)
            return draw(counts, by_people, most_wrong)

        drawing.calibrations = counted
        with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
            learn(filter_, taught)
            left.append([lesson.held_out for lesson in filter_.journal.lessons()])
        n_drawn.append(len(drawn))
    show(f"{index}: lessons, lines drawn for each, drawn where it matters", len(taught), *n_drawn)
    show("lessons that another prediction or correction is stored for", sum(map(operator.ne, *left)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learned", type=int, default=10_000)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--lines", action="store_true")
    arguments = parser.parse_args()
    if arguments.lines:
        for index in ("trec07p/full/index", "spamassassin/index"):
            lines(index)
        return
    taught = lessons(arguments.learned)
    more = list(islice(copies(taught[-MORE:], 1 << 20, 1 << 21), MORE))
    unseen = [read for read, _, _ in more]
    with tempfile.TemporaryDirectory() as folder:
        small, large = f"{folder}/small", f"{folder}/large"
        start = time.process_time()
        with Filter.open(large) as filter_:
            for _ in filter_.learn_many(copies(taught, 0, arguments.copies)):
                pass
        n = len(taught) * arguments.copies
        show(f"learn {n:,} in bulk, opening and closing included, µs", micros(time.process_time() - start, n))
        show("journal, bytes per lesson", (Path(large) / "journal.sqlite").stat().st_size / n)
        show("from opening to the first verdict, ms", first_verdict(large, unseen[0]))
        with Filter.open(small) as few, Filter.open(large) as many:
            learn(few, taught[:SMALL])
            checked = [(check(few, unseen), check(many, unseen)) for _ in range(5)]
            learned = [(learn(few, more[i : i + 500]), learn(many, more[i : i + 500])) for i in range(0, MORE, 500)]
            for name, pairs in (("check", checked), ("learn", learned)):
                show(f"{name}, µs, with {SMALL:,} and with {n:,} learned", *map(min, zip(*pairs, strict=True)))
            single = list(islice(copies(taught[:SINGLE], 1 << 22, 1 << 23), SINGLE))
            show("learn one, forget one, ms", *one_by_one(many, single))
            start = time.process_time()
            many.rebuild()
            show("rebuild, µs per lesson", micros(time.process_time() - start, n))


if __name__ == "__main__":
    main()
