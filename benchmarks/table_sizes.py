"""Measures accuracy, collisions, memory and time by the number of buckets of the table of counts.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/table_sizes.py [--bits 18 22 26] [--quick]

Replays the same mail with tables of several sizes: score a message, then learn it, in order. A bucket is made of the
first bits of a hash, so all sizes are folded from the features drawn once with the most buckets there can be, and the
features told apart there stand for the true ones: about one in a hundred of them is lost to collisions there, too.

A second table shows the number of distinct features by lessons, and how fast it grows (Heaps' law: K · n^b), from
which `plan.py` computes the table for more lessons.
"""

import argparse
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mail import corpus
from priory.bayes import Counts
from priory.corpus import read_index
from priory.decision import Costs
from priory.features import MOST_BITS, Features, Spec, pack_features
from priory.features.vectorizer import columns
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal.snapshot import save_snapshot
from priory.lab.evaluation.replay import replay
from priory.lab.examples import Example, examples
from priory.lab.measures import Summary, summary
from priory.lab.models.learner import FilterLearner
from progress import progressed
from report import Table

BITS = (16, 18, 20, 22, 24, 26)
CORPORA = {"trec07p, first half": "trec07p/full/index", "SpamAssassin": "spamassassin/index"}
CHECKED, TURNS = 2_000, 5
SHOWN = {"1-ROCA%": 4, "h=0.1%": 2, "lam%": 2, "ham lost %": 3, "spam missed %": 3, "unsure %": 2}
COLUMNS = (
    "buckets",
    "MB",
    "bytes a lesson",
    "used %",
    "shared %",
    "in mail %",
    *SHOWN,
    "check µs",
    "learn µs",
    "snapshot s",
)
EVERY = 10  #: the packed size is that of every n-th message


@dataclass(frozen=True)
class Vocabulary:
    """The distinct features of some mail, with their numbers of messages and first occurrences."""

    features: NDArray[np.int64]  #: kind · 2^28 + bucket
    n_messages: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, mail: Sequence[Example]) -> "Vocabulary":
        """Collect the distinct features of mail that was read with the largest table."""
        each = [columns(message.message.features, MOST_BITS) for message in mail]
        ends = np.cumsum([len(some) for some in each])
        features, first, n = np.unique(np.concatenate(each), return_index=True, return_counts=True)
        return cls(features, n, np.searchsorted(ends, first, side="right"))

    def n_after(self, n_lessons: int) -> int:
        """Return how many distinct features the first lessons have."""
        return int((self.first < n_lessons).sum())

    def buckets(self, bits: int) -> NDArray[np.int64]:
        """Return the bucket of each feature in a table of 2^bits."""
        return (self.features & ((1 << MOST_BITS) - 1)) >> (MOST_BITS - bits)


@dataclass(frozen=True)
class Load:
    """How full a table is: shares from 0 to 1."""

    used: float  #: share of used buckets: the probability that an unknown feature falls into one
    shared: float  #: share of distinct features that share a bucket
    shared_in_mail: float  #: the same, each counted as often as messages have it

    @classmethod
    def of(cls, vocabulary: Vocabulary, bits: int) -> "Load":
        """Measure the load that mail puts on a table."""
        buckets = vocabulary.buckets(bits)
        n = np.bincount(buckets, minlength=1 << bits)
        is_shared = n[buckets] > 1
        in_mail = float(vocabulary.n_messages[is_shared].sum() / vocabulary.n_messages.sum())
        return cls(float((n > 0).mean()), float(is_shared.mean()), in_mail)


def folded(features: Features, bits: int) -> Features:
    """Return features of the largest table as they are with 2^bits buckets.

    >>> two = Features(array("I", [0, 3 << 26]), array("q", [0, 2]))
    >>> folded(two, 2).buckets.tolist(), folded(two, 1).buckets.tolist()
    ([0, 3], [0, 1])
    """
    wide = np.asarray(features.buckets) >> (MOST_BITS - bits)
    kinds = [np.unique(wide[a:b]) for a, b in zip(features.offsets[:-1], features.offsets[1:], strict=True)]
    offsets = np.cumsum([0, *map(len, kinds)])
    return Features(array("I", np.concatenate(kinds).astype(np.uint32)), array("q", offsets.astype(np.int64)))


def read(index: str, n: int | None) -> list[Example]:
    """Read the first messages of a corpus with the largest table, and without their bytes."""
    mail = examples(read_index(corpus(index)), Spec(bits=MOST_BITS))
    return [replace(each, raw=None) for each in islice(mail, n)]


def with_table(mail: Sequence[Example], bits: int) -> Iterator[Example]:
    """Yield mail with the features of a filter with 2^bits buckets."""
    for each in mail:
        yield replace(each, message=each.message._replace(features=folded(each.message.features, bits)))


def replayed(mail: Sequence[Example], options: Options) -> Summary:
    """Replay mail with a table of the size in the options."""
    learners = {"filter": partial(FilterLearner, options)}
    [run] = replay(with_table(mail, options.spec.bits), learners, options.labels)
    return summary(run.predictions, Costs())


def micros(mail: Sequence[Example], options: Options) -> tuple[float, float, float]:
    """Return the processor time of a check and a lesson without features, in µs, and of a snapshot in seconds."""
    taught = list(with_table(mail[:-CHECKED], options.spec.bits))
    unseen = [each.message for each in with_table(mail[-CHECKED:], options.spec.bits)]
    with tempfile.TemporaryDirectory() as home, Filter.open(home, options) as filter_:
        start = time.process_time()
        for _ in filter_.learn_many((each.message, each.label, "") for each in taught):
            pass
        learning = (time.process_time() - start) / len(taught)
        checking = min(_checking(filter_, unseen) for _ in range(TURNS))
        start = time.perf_counter()
        save_snapshot(Path(home) / "again", filter_.counts, (0, ""), "", options.labels)
        return 1e6 * checking, 1e6 * learning, time.perf_counter() - start


def _checking(filter_: Filter, unseen: Sequence[object]) -> float:
    start = time.process_time()
    for each in unseen:
        filter_.check(each)
    return (time.process_time() - start) / len(unseen)


def growth(vocabulary: Vocabulary, n: int) -> tuple[list[tuple[int, int]], float, float]:
    """Return the distinct features by number of lessons, and K and b of Heaps' law through the last points."""
    sizes = [n >> i for i in reversed(range(6))]
    found = [(size, vocabulary.n_after(size)) for size in sizes]
    lessons, distinct = np.log(np.array(found[2:], float)).T
    exponent, logarithm = np.polyfit(lessons, distinct, 1)
    return found, float(np.exp(logarithm)), float(exponent)


def tables(name: str, mail: Sequence[Example], sizes: Sequence[int]) -> Iterator[Table]:
    """Yield the results of all sizes on some mail."""
    vocabulary = Vocabulary.of(mail)
    progressed(f"{name}: {len(mail):,} messages, {len(vocabulary.features):,} distinct features")
    rows = []
    for bits in sizes:
        options = Options(spec=Spec(bits=bits))
        load, figures = Load.of(vocabulary, bits), replayed(mail, options).figures
        checking, learning, writing = micros(mail, options)
        lesson = np.mean([len(pack_features(each.message.features, bits)) for each in with_table(mail[::EVERY], bits)])
        row = [f"2^{bits}", f"{Counts.size_bytes(bits, 2) / 1e6:,.0f}", f"{lesson:,.0f}"]
        row += [f"{len(vocabulary.features) / 2**bits:.2g}"]
        row += [f"{100 * share:.1f}" for share in (load.used, load.shared, load.shared_in_mail)]
        row += [f"{figures[figure].estimate:.{digits}f}" for figure, digits in SHOWN.items()]
        rows.append([*row, f"{checking:.0f}", f"{learning:.0f}", f"{writing:.2f}"])
        progressed(f"{name}: {' '.join(rows[-1])}")
    yield Table(f"sizes {name}", f"{name}, {len(mail):,} messages", COLUMNS, rows)
    found, k, exponent = growth(vocabulary, len(mail))
    law = f"Heaps' law: {k:,.0f} · n^{exponent:.3f}"
    yield Table(
        f"growth {name}",
        f"{name}: distinct features",
        ["lessons", "features"],
        [[f"{n:,}" for n in row] for row in found],
        [law],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bits", type=int, nargs="+", default=BITS)
    parser.add_argument("--quick", action="store_true", help="the first 5,000 messages of each corpus")
    arguments = parser.parse_args()
    for name, index in CORPORA.items():
        for table in tables(name, read(index, 5_000 if arguments.quick else None), arguments.bits):
            print(table.as_text(), flush=True)


if __name__ == "__main__":
    main()
