"""Measures how long it takes to find the lessons behind a verdict, and whether they are the right ones.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/lessons_behind.py [--sizes 10000 100000] [--quick]

Teaches messages of trec07p in their order and, where there are more lessons than messages, the messages again with a
header of their own. Then it asks for the ten lessons behind the verdicts on messages that were not taught (of the
SpamAssassin corpus) and on messages that were. For a few of them it also tries every single lesson: it forgets it and
scores again, and tells how many of the true ten were found.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median

from mail import corpus
from priory.corpus import read_index
from priory.filter.filter import Filter
from priory.filter.lesson_index import LessonIndex
from report import Table

COLUMNS = ("lessons", "features held", "index s", "index MB", "median ms", "p95 ms", "processor ms", "of ten found")


def lessons(n: int) -> Iterator[tuple[bytes, str, str]]:
    """Yield that many different lessons."""
    mail = [(message.raw, message.label) for message in islice(iter(read_index(corpus("trec07p/full/index"))), n)]
    for i in range(n):
        raw, label = mail[i % len(mail)]
        yield (b"X-Turn: %d\n" % i if i >= len(mail) else b"") + raw, label, ""


def judged(n: int) -> list[bytes]:
    """Return messages to judge: half of them were not taught."""
    unknown = islice(iter(read_index(corpus("spamassassin/index"))), 0, None, 6_046 * 2 // n)
    known = islice(iter(read_index(corpus("trec07p/full/index"))), 0, 10_000, 20_000 // n)
    return [message.raw for one in zip(unknown, known, strict=False) for message in one]


def n_found(filter_: Filter, raw: bytes) -> int:
    """Return how many of the ten weightiest lessons were found, by trying all."""
    message, now = filter_.prepare(raw), filter_.check(raw).log_odds
    every = sorted(
        (-abs(now - filter_.influence.verdict_without(lesson, message).log_odds), lesson.digest)
        for lesson in filter_.journal.lessons()
    )
    found = {lesson.lesson.digest for lesson in filter_.lessons_behind(raw).influential}
    return len(found & {digest for _, digest in every[:10]})


def measured(n: int, mail: Sequence[bytes], n_tried: int) -> tuple[str, ...]:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as home, Filter.open(home) as filter_:
        for _ in filter_.learn_many(lessons(n)):
            pass
        start = time.perf_counter()
        index = LessonIndex(filter_._counts, 0)
        index.update()
        built = time.perf_counter() - start
        filter_.lessons_behind(mail[0])
        clock, processor = [], []
        for raw in mail:
            start, start_cpu = time.perf_counter(), time.process_time()
            filter_.lessons_behind(raw)
            clock.append(1e3 * (time.perf_counter() - start))
            processor.append(1e3 * (time.process_time() - start_cpu))
        found = [n_found(filter_, raw) for raw in mail[:n_tried]]
        held = f"1 in {index._features.one_in}"
        return (
            f"{n:,}", held, f"{built:.1f}", f"{4 * index._features.n_features / 1e6:.0f}", f"{median(clock):.0f}",
            f"{sorted(clock)[int(0.95 * len(clock))]:.0f}", f"{median(processor):.0f}",
            ", ".join(map(str, found)) or "-",
        )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--quick", action="store_true", help="few messages, 1,000 lessons")
    arguments = parser.parse_args()
    sizes, n, n_tried = ([1_000], 10, 1) if arguments.quick else (arguments.sizes, 100, 4)
    rows = [measured(size, judged(n), n_tried if size <= 10_000 else 0) for size in sizes]
    print(Table("lessons behind", "The lessons behind a verdict", COLUMNS, rows).as_text())


if __name__ == "__main__":
    main()
