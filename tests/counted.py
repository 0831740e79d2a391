"""Features as plain numbers, and all that counts hold, for tests that need no mail."""

from array import array
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from priory.bayes import Counts
from priory.features import Features

ALL_NAMED = 0xFFFFFFFF  #: the features of every group have names


def features_of(*groups: Iterable[int], named: int = 0) -> Features:
    """Return the features of a message with these numbers in each group; the groups in `named` have names."""
    lists = [list(group) for group in groups]
    offsets = accumulate((len(numbers) for numbers in lists), initial=0)
    return Features(array("I", [number for numbers in lists for number in numbers]), array("q", offsets), named=named)


def bytes_of(counts: Counts) -> list[bytes]:
    """Return all that is counted, byte for byte."""
    return [bytes(part) for part in counts.buffers]


def has_counted_nothing(counts: Counts) -> bool:
    """Tell whether all that is counted is zero."""
    return not any(part.strip(b"\0") for part in bytes_of(counts))


def columns_of(counts: Counts) -> NDArray[np.uint32]:
    """Return the columns of all rows and of all slots of names."""
    slots = np.frombuffer(counts.names.memory, np.uint32).reshape(-1, counts.names.columns + 1)
    return np.vstack([np.asarray(counts.rows), slots[:, 1:]])


def lesson_counts_of(counts: Counts) -> NDArray[np.uint32]:
    """Return how many messages of each label had each feature; unlike corrections, this needs no order of lessons."""
    return columns_of(counts)[:, : counts.n_labels]


def corrections_of(counts: Counts) -> NDArray[np.int32]:
    """Return the sum of the corrections in each contrast, of all rows and of all slots of names."""
    return np.ascontiguousarray(columns_of(counts)[:, counts.n_labels :]).view(np.int32)
