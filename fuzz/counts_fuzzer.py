"""Learn, forget and read messages in tables of counts, and find them in an index."""

from array import array

import numpy as np
from engine import run

from priory.native.names import NameTable, table_bytes
from priory.native.overlap import FeatureIndex, largest, n_in_common
from priory.native.table import Scorer, add_features, n_repeated, subtract_features, total

BITS = 6
SCORER = Scorer([1.0, 2.0], [3.0, 1.0], 0.1, 0.01)


def fuzz_counts(data: bytes) -> None:
    """Do with the tables what the bytes say; a table that forgets everything is as if it had never learned."""
    rows, names, totals = np.zeros((1 << BITS, 3), np.uint32), NameTable(3), np.zeros(2, np.int64)
    index, learned = FeatureIndex(BITS), []
    for at in range(0, len(data) - 8, 9):
        action, label, numbers = data[at] % 4, data[at] >> 2 & 1, data[at + 1 : at + 9]
        named = data[at] >> 3 & 3
        buckets = array("I", sorted({n % 64 for n in numbers[:4]}) + sorted({n % 64 for n in numbers[4:]}))
        half = len({n % 64 for n in numbers[:4]})
        offsets = array("q", [0, half, len(buckets)])
        if action < 2:
            add_features(rows, names, buckets, offsets, named, label)
            totals[label] += 1
            learned.append((buckets, offsets, named, label))
            index.append(buckets, offsets, named)
        elif action == 2 and learned:
            one, places, is_named, of_label = learned.pop(numbers[0] % len(learned))
            subtract_features(rows, names, one, places, is_named, of_label)
            totals[of_label] -= 1
        else:
            terms = SCORER.terms(rows, names, totals, buckets, offsets, named, label)
            total(terms)
            largest(terms, 3)
            n_repeated(rows, names, 2, buckets, 0, half, 0, named)
            index.earliest(buckets, offsets, named, True, array("d", range(len(index))))
            n_in_common(buckets, offsets, buckets, offsets)
    for buckets, offsets, named, label in learned:
        subtract_features(rows, names, buckets, offsets, named, label)
    assert not rows.any()
    assert names.n == 0
    fuzz_damaged_names(data)


def fuzz_damaged_names(data: bytes) -> None:
    """Count in a table of names whose slots are damaged."""
    memory = bytearray(table_bytes(3))
    memory[4096 : 4096 + len(data[:256])] = data[:256]
    names, rows = NameTable(3, memory=memoryview(memory)), np.zeros((1 << BITS, 3), np.uint32)
    buckets = array("I", range(20))
    add_features(rows, names, buckets, array("q", [0, 20]), 1, 0)
    subtract_features(rows, names, buckets, array("q", [0, 20]), 1, 0)


if __name__ == "__main__":
    run(fuzz_counts)
