"""Measures accuracy, collisions, memory and time by the number of buckets of the table of counts.

    PRIORY_CORPORA=~/.cache/priory-corpora python benchmarks/table_sizes.py [--bits 18 22 26] [--quick]

Replays the same mail with tables of several sizes: score a message, then learn it, in order. n-grams share 2^bits
buckets; every other feature has a number of its own with five bits more, so these numbers, too, are told apart worse in
a smaller table. Both are the first bits of a hash, so all sizes are folded from the features drawn once with the most
bits there can be, and the features told apart there stand for the true ones: about one n-gram in a hundred is lost to
collisions there, too.

A second table shows the number of distinct n-grams and names by lessons, and how fast they grow (Heaps' law: K · n^b),
from which `plan.py` computes the tables for more lessons.
"""

import argparse
import tempfile
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mail import corpus
from priory.bayes import Counts
from priory.corpus import read_index
from priory.decision import Costs
from priory.features import MOST_BITS, NAMED, Features, Spec, pack_features
from priory.features.vectorizer import columns
from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal.snapshot import SnapshotPoint, save_snapshot
from priory.lab.evaluation.replay import replay
from priory.lab.examples import Example, examples
from priory.lab.measures import Summary, summary
from priory.lab.models.learner import FilterLearner
from priory.native.table import bits_of_names
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
    "grams a bucket",
    "used %",
    "shared %",
    "in mail %",
    "names shared %",
    *SHOWN,
    "check µs",
    "learn µs",
    "snapshot s",
)
EVERY = 10  #: the packed size is that of every n-th message


@dataclass(frozen=True)
class Vocabulary:
    """Distinct features of some mail, with their numbers of messages and first occurrences."""

    features: NDArray[np.int64]  #: kind · 2^28 + number
    n_messages: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def of(cls, mail: Sequence[Example]) -> "tuple[Vocabulary, Vocabulary]":
        """Return the distinct n-grams and the distinct names of mail that was read with the largest table."""
        every = [columns(example.message.features, MOST_BITS) for example in mail]
        ends = np.cumsum([len(features) for features in every])
        features, first, n = np.unique(np.concatenate(every), return_index=True, return_counts=True)
        lessons = np.searchsorted(ends, first, side="right")
        is_named = (NAMED >> (features >> MOST_BITS) & 1).astype(bool)
        grams, names = (cls(features[part], n[part], lessons[part]) for part in (~is_named, is_named))
        return grams, names

    def n_after(self, n_lessons: int) -> int:
        """Return how many distinct features the first lessons have."""
        return int((self.first < n_lessons).sum())

    def buckets(self, bits: int) -> NDArray[np.int64]:
        """Return the bucket of each feature in a table of 2^bits, which all kinds share."""
        return (self.features & ((1 << MOST_BITS) - 1)) >> (MOST_BITS - bits)

    def n_shared(self, bits: int) -> int:
        """Return how many features are not told apart by their kind and this many bits."""
        _, n = np.unique(self.features >> (MOST_BITS - bits), return_counts=True)
        return int(n[n > 1].sum())


@dataclass(frozen=True)
class Load:
    """How full a table is: shares from 0 to 1."""

    used: float  #: share of used buckets: the probability that an unknown feature falls into one
    shared: float  #: share of distinct features that share a bucket
    shared_in_mail: float  #: the same, each counted as often as messages have it

    @classmethod
    def of(cls, vocabulary: Vocabulary, bits: int) -> "Load":
        """Measure the load that features put on a table of buckets."""
        buckets = vocabulary.buckets(bits)
        n = np.bincount(buckets, minlength=1 << bits)
        is_shared = n[buckets] > 1
        in_mail = float(vocabulary.n_messages[is_shared].sum() / vocabulary.n_messages.sum())
        return cls(float((n > 0).mean()), float(is_shared.mean()), in_mail)


def folded(features: Features, bits: int) -> Features:
    """Return features of the largest table as they are with 2^bits buckets.

    >>> offsets = array("q", [0] + [1] * 9 + [3] * 3)  # a word and two n-grams
    >>> two = Features(array("I", [3 << 26, 0, 3 << 26]), offsets)
    >>> folded(two, 2).buckets.tolist(), folded(two, 1).buckets.tolist()
    ([96, 0, 3], [48, 0, 1])
    """
    numbers, ends = np.asarray(features.buckets), features.offsets
    kinds = []
    for kind, (start, end) in enumerate(pairwise(ends)):
        own_bits = bits_of_names(bits) if features.named >> kind & 1 else bits
        kinds.append(np.unique(numbers[start:end] >> (MOST_BITS - own_bits)))
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


class Resources(NamedTuple):
    """Memory and times of a filter that has learned all but the last messages."""

    size_bytes: int
    check_us: float  #: processor time, without extracting features
    learn_us: float
    snapshot_s: float


def resources(mail: Sequence[Example], options: Options) -> Resources:
    """Measure the memory and the times of a filter."""
    taught = list(with_table(mail[:-CHECKED], options.spec.bits))
    unseen = [each.message for each in with_table(mail[-CHECKED:], options.spec.bits)]
    with tempfile.TemporaryDirectory() as home, Filter.open(home, options) as filter_:
        start = time.process_time()
        for _ in filter_.learn_many((each.message, each.label, "") for each in taught):
            pass
        learning = (time.process_time() - start) / len(taught)
        checking = min(_checking(filter_, unseen) for _ in range(TURNS))
        start = time.perf_counter()
        save_snapshot(Path(home) / "again", filter_.counts, SnapshotPoint(0, ""), "", options.labels)
        snapshot_s = time.perf_counter() - start
        size = Counts.size_bytes(filter_.counts.shape, with_personal=False)
        return Resources(size, 1e6 * checking, 1e6 * learning, snapshot_s)


def _checking(filter_: Filter, unseen: Sequence[object]) -> float:
    start = time.process_time()
    for each in unseen:
        filter_.check(each)
    return (time.process_time() - start) / len(unseen)


def growth(vocabulary: Vocabulary, n: int) -> tuple[list[int], float, float]:
    """Return the distinct features by number of lessons, and K and b of Heaps' law through the last points."""
    sizes = lesson_counts(n)
    distinct = [vocabulary.n_after(size) for size in sizes]
    exponent, logarithm = np.polyfit(np.log(sizes[2:]), np.log(distinct[2:]), 1)
    return distinct, float(np.exp(logarithm)), float(exponent)


def lesson_counts(n: int) -> list[int]:
    """Return the numbers of lessons after which distinct features are counted."""
    return [n >> i for i in reversed(range(6))]


def tables(name: str, mail: Sequence[Example], sizes: Sequence[int]) -> Iterator[Table]:
    """Yield the results of all sizes on some mail."""
    grams, names = Vocabulary.of(mail)
    found = f"{len(grams.features):,} distinct n-grams, {len(names.features):,} distinct names"
    progressed(f"{name}: {len(mail):,} messages, {found}")
    rows = []
    for bits in sizes:
        options = Options(spec=Spec(bits=bits))
        load, figures, needed = Load.of(grams, bits), replayed(mail, options).figures, resources(mail, options)
        lesson = np.mean([len(pack_features(each.message.features, bits)) for each in with_table(mail[::EVERY], bits)])
        row = [f"2^{bits}", f"{needed.size_bytes / 1e6:,.0f}", f"{lesson:,.0f}"]
        row += [f"{len(grams.features) / 2**bits:.2g}"]
        row += [f"{100 * share:.1f}" for share in (load.used, load.shared, load.shared_in_mail)]
        row += [f"{100 * names.n_shared(bits_of_names(bits)) / len(names.features):.2f}"]
        row += [f"{figures[figure].estimate:.{digits}f}" for figure, digits in SHOWN.items()]
        rows.append([*row, f"{needed.check_us:.0f}", f"{needed.learn_us:.0f}", f"{needed.snapshot_s:.2f}"])
        progressed(f"{name}: {' '.join(rows[-1])}")
    yield Table(f"sizes {name}", f"{name}, {len(mail):,} messages", COLUMNS, rows, [found])
    laws, by_kind = [], []
    for what, vocabulary in (("n-grams", grams), ("names", names)):
        distinct, k, exponent = growth(vocabulary, len(mail))
        by_kind.append(distinct)
        laws.append(f"Heaps' law of {what}: {k:,.0f} · n^{exponent:.3f}")
    lines = zip(lesson_counts(len(mail)), *by_kind, strict=True)
    yield Table(
        f"growth {name}",
        f"{name}: distinct features",
        ["lessons", "n-grams", "names"],
        [[f"{n:,}" for n in line] for line in lines],
        laws,
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
