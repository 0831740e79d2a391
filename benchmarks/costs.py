"""Measures a preview of costs: the first, which reads all lessons, and the next, as a slider moves.

The lessons have predictions of a good filter, and the features of one message, which are not read here.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from priory.bayes.counts import pack_predictions
from priory.decision import Costs
from priory.features import VERSION, Spec, pack_features
from priory.filter.filter import Filter
from priory.filter.prepare import prepare
from priory.journal import Lesson, open_file
from priory.server.http.filters import AnalysisCache
from priory.server.http.responses import json_bytes
from priory.server.http.routes.preview import preview_costs

BITS = Spec().bits
TOGETHER = 1_000
ROUNDS = 40
MOST = 50  #: lessons of a page
FEATURES = pack_features(prepare(b"From: ann@mail.example\n\nLunch on Friday?", Spec()).features, BITS)


def lessons(n: int) -> Iterator[Lesson]:
    """Yield lessons of both labels; one in fifty has a wrong prediction."""
    random = Random(7)  # noqa: S311
    for i in range(n):
        label = random.choice(["ham", "spam"])
        score = random.gauss(3 if label == "spam" else -3, 1.5)
        yield Lesson(
            os.urandom(32), label, FEATURES, pack_predictions([(score, 0)]), "", "inbox", "mail.example", 1.7e9 + 30 * i
        )


def learned(home: Path, n: int) -> None:
    """Write a journal of `n` lessons."""
    journal, drawn = open_file(home / "journal.sqlite", VERSION, BITS), lessons(n)
    for _ in range(0, n, TOGETHER):
        with journal.writing():
            journal.name_labels(("ham", "spam"))
            journal.learn_many(next(drawn) for _ in range(TOGETHER))
    journal.close()


def milliseconds(act: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    start = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lessons", type=int, default=100_000)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        learned(home, said.lessons)
        print("load", end=" ")
        print(f"{milliseconds(lambda: __import__('priory.lab.cost_trial')):.0f} ms")
        with Filter.open(home) as filter_:
            print(f"open {milliseconds(lambda: filter_.check(b'')):.0f} ms")
            analyses = AnalysisCache()

            def preview(unsure: float) -> bytes:
                return json_bytes(preview_costs(filter_, analyses, Costs(unsure=unsure), MOST, None))

            print(f"{said.lessons:,} lessons: first preview {milliseconds(lambda: preview(4)):.0f} ms", end=", ")
            taken = sorted(milliseconds(lambda i=i: preview(0.1 * 1.12**i)) for i in range(ROUNDS))
            print(f"then {taken[ROUNDS // 2]:.0f} ms, the longest {taken[-1]:.0f} ms; {len(preview(1)):,} bytes")


if __name__ == "__main__":
    main()
