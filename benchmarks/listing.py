"""Measures a page of lessons for every selection, and how long forgetting blocks other writers.

Pages are of a journal whose lessons have random features of the usual size: listing lessons does not read
them. Forgetting is measured with drawn mail.
"""

import argparse
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from priory.demo import draw
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.journal import AUTOMATIC, EVERYTHING, Journal, Lesson, Selection, open_file

FEATURES_BYTES = 2_760
TOGETHER = 1_000
MOST = 50  #: lessons of a page
ROUNDS = 5
BEGIN, EVERY_S = 1.7e9, 30.0  #: the time of the first lesson, and from one to the next


def lessons(n: int) -> Iterator[Lesson]:
    """Yield lessons of two users and of autolearning, from three folders and many senders."""
    random = Random(7)  # noqa: S311
    for i in range(n):
        folder = random.choice(["Junk", "Work", "Lists"])
        yield Lesson(
            os.urandom(32),
            random.choice(["ham", "spam"]),
            os.urandom(FEATURES_BYTES),
            os.urandom(5) if random.random() < 0.5 else None,
            AUTOMATIC if i % 500 == 0 else random.choice(["", "ann@mail.example"]),
            f"/home/ann/Maildir/.{folder}/cur/{BEGIN + EVERY_S * i:.0f}.M{i}.mx:2,S",
            f"shop{int(random.paretovariate(0.5)) % 20_000}.example",
            BEGIN + EVERY_S * i,
        )


def grown(path: Path, n: int) -> Journal:
    """Return a new journal of `n` lessons."""
    journal, drawn = open_file(path, VERSION, bits=20), lessons(n)
    for _ in range(0, n, TOGETHER):
        with journal.writing():
            journal.learn_many(next(drawn) for _ in range(TOGETHER))
    return journal


def selections(n: int) -> dict[str, Selection]:
    """Return the selections to time; *none* matches no lesson, so that all are read."""
    middle = BEGIN + EVERY_S * n / 2
    return {
        "everything": EVERYTHING,
        "label": Selection(label="spam"),
        "user": Selection(user="ann@mail.example"),
        "user, none": Selection(user="eve@mail.example"),
        "source": Selection(source="/home/ann/Maildir/.Junk/"),
        "source, none": Selection(source="/srv/"),
        "sender": Selection(sender="shop7.example"),
        "sender, none": Selection(sender="nowhere.example"),
        "since the middle": Selection(since=middle),
        "until the middle": Selection(until=middle),
        "automatic": Selection(automatic=True),
        "people": Selection(automatic=False),
        "digest": Selection(digest="2f9"),
        "all of these": Selection("spam", "", "/home", "shop7.example", BEGIN, middle, automatic=False, digest="2"),
    }


def milliseconds(act: Callable[[], object]) -> float:
    """Return the median of some rounds."""
    return sorted(timed(act, ROUNDS))[ROUNDS // 2]


def timed(act: Callable[[], object], rounds: int) -> list[float]:
    """Return the milliseconds of each round."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        act()
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def time_pages(n: int, folder: Path, *, index: bool) -> None:
    """Print the times of the first page, of a page in the middle, and of counting the selection."""
    path = folder / "journal.sqlite"
    grown(path, n).close()
    if index:
        before = path.stat().st_size
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE INDEX times ON lessons (time)")
        print(f"the index has {(path.stat().st_size - before) / n:.1f} bytes a lesson")
    journal = open_file(path, VERSION, bits=20)
    half = f"{BEGIN + EVERY_S * n / 2!r}:{n // 2}"
    print(f"{n:,} lessons; ms")
    print(f"| selection | first page of {MOST} | a page from the middle | count |\n|---|---|---|---|")
    for name, selection in selections(n).items():
        acts = (
            lambda it=selection: journal.queries.page(it, MOST),
            lambda it=selection: journal.queries.page(it, MOST, half),
            lambda it=selection: journal.queries.n_of(it),
        )
        print(f"| {name} |", " | ".join(f"{milliseconds(act):.1f}" for act in acts), "|")
    journal.close()


def time_forgetting(n: int, folder: Path) -> None:
    """Print the time of each group of forgotten lessons, which blocks other writers."""
    with Filter.open(folder) as filter_:
        for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(n, seed=9)):
            pass
        taken, gone, start = [], 0, time.perf_counter()
        for some in filter_.forget_many(Selection(label="spam")):
            gone += some
            taken.append(1000 * (time.perf_counter() - start))
            start = time.perf_counter()
    print(f"{gone:,} of {n:,} forgotten, {1000 * sum(taken) / gone:.0f} µs each; groups take", end=" ")
    print(f"{sorted(taken)[len(taken) // 2]:.0f} ms, the longest {max(taken):.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=int, default=100_000, help="of the journal that is looked through")
    parser.add_argument("--forget", type=int, default=20_000, help="messages of which half are forgotten")
    parser.add_argument("--index", action="store_true", help="with an index of times, which journals do not have")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        time_pages(said.lessons, Path(folder), index=said.index)
    with tempfile.TemporaryDirectory() as folder:
        time_forgetting(said.forget, Path(folder))


if __name__ == "__main__":
    main()
