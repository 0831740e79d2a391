r"""Near-duplicates: messages that are copies of each other except for a name or a number.

One must not be in the training part while another is in the test part.

Two messages are near-duplicates if, of the features that either has, most are in both (Jaccard similarity):

$$ J(A, B) = \frac{|A \cap B|}{|A \cup B|}. $$

Comparing all pairs is quadratic. MinHash (Broder 1997) makes it linear: hash all features at random and keep the least
hash of each message; two messages have the same one with probability $J$, as it is equally likely to be any feature of
the union. Several such hashes form a band, and messages that agree in a whole band are compared. With $b$ bands of $r$
hashes, a pair of similarity $J$ is compared with probability

$$ P(J) = 1 - (1 - J^r)^b. $$

$r$ is chosen so that few dissimilar pairs are compared, $b$ so that 1 pair in 10,000 at the threshold is missed.
Every comparison is exact, so nothing is joined by chance. A missed pair is mostly joined through a third message.

A. Broder, On the resemblance and containment of documents, SEQUENCES 1997. J. Leskovec, A. Rajaraman, J. Ullman,
Mining of Massive Datasets, chapter 3.
"""

from dataclasses import dataclass
from math import ceil, log
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from priory.lab.error import LabError
from priory.lab.splits.groups import Groups, components

OVERLOOKED: Final = 1e-4  #: the probability that a pair at the threshold is never compared
ROWS_AT_ONCE: Final = 512  #: their hashes stay in the processor's cache
PAIRS_AT_ONCE: Final = 4096

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Bands:
    """The number of bands, and of hashes in each that must agree for a pair to be compared.

    >>> bands = Bands.for_similarity(0.8)
    >>> bands
    Bands(n_bands=24, n_hashes=5)
    >>> [round(bands.chance(similarity), 4) for similarity in (0.3, 0.5, 0.7, 0.8, 0.9)]
    [0.0567, 0.5333, 0.9879, 0.9999, 1.0]
    """

    n_bands: int
    n_hashes: int

    @classmethod
    def for_similarity(cls, similarity: float) -> Self:
        """Return the bands that miss a pair of this similarity with a probability of at most `OVERLOOKED`."""
        n_hashes = min(max(round(log(0.3) / log(similarity)), 1), 8) if similarity < 1 else 1
        agreement = similarity**n_hashes
        n_bands = ceil(log(OVERLOOKED) / log(1 - agreement)) if agreement < 1 else 1
        return cls(n_bands, n_hashes)

    def chance(self, similarity: float) -> float:
        """Return the probability that a pair of this similarity is compared."""
        return 1 - (1 - similarity**self.n_hashes) ** self.n_bands


def near_duplicates(rows: Any, similarity: float = 0.8, seed: int = 0) -> Groups:
    """Return a group number for each row: rows that are similar, directly or through others, are in one group.

    `rows` is a sparse matrix (CSR), such as that of `MailVectorizer(kinds=("word", "pair"))`; a feature is present if
    its value is not zero. Rows without features are similar to none. The same seed gives the same groups.

    >>> from priory.features.vectorizer import MailVectorizer
    >>> letter = b"Subject: Invoice %d\\n\\nDear customer, please find the invoice for your order of last week here: %d"
    >>> lunch = b"Subject: Lunch\\n\\nShall we meet at noon, at the usual place by the river?"
    >>> rows = MailVectorizer(kinds=("word", "pair")).transform([letter % (81, 7), lunch, letter % (82, 9)])
    >>> near_duplicates(rows, similarity=0.6).tolist()
    [0, 1, 0]
    """
    if not 0 < similarity <= 1:
        raise LabError(f"similarity must be above 0 and at most 1, not {similarity}: 0.8 means four features of five")
    presence = _presence(rows)
    first = _first_alike(presence)
    distinct = np.flatnonzero((first == np.arange(len(first))) & (np.diff(presence.indptr) > 0))
    labels = _link_similar(presence[distinct], similarity, np.random.default_rng(seed))
    _, leaders = np.unique(labels, return_index=True)
    left = np.concatenate([np.arange(len(first)), distinct])
    return components(len(first), left, np.concatenate([first, distinct[leaders][labels]]))


def _presence(rows: Any) -> Any:
    """Return a copy in which all that is present is 1, and the columns of each row are in order."""
    if np.ndim(rows) != 2:
        raise LabError(f"rows have {np.ndim(rows)} dimensions, not 2: give a matrix with a row for each message")
    presence = csr_array(rows, copy=True)
    if np.isnan(presence.data).any():
        raise LabError("rows have values that are not numbers: give 1 for what is present and 0 for what is not")
    presence.sum_duplicates()
    presence.eliminate_zeros()
    presence.data = np.ones(presence.nnz, np.int32)
    return presence


def _first_alike(rows: Any) -> Groups:
    """Return for each row the number of the first that is identical; a row without features stands for itself."""
    places: dict[bytes, int] = {}
    first = np.arange(rows.shape[0])
    for number, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        if start < end:
            first[number] = places.setdefault(rows.indices[start:end].tobytes(), number)
    return first


def _link_similar(rows: Any, similarity: float, random: np.random.Generator) -> Groups:
    """Return a group number for each row. Rows must be distinct and not empty."""
    labels = np.arange(rows.shape[0])
    if similarity == 1:
        return labels
    for keys in _band_keys(rows, Bands.for_similarity(similarity), random).T:
        order = np.argsort(keys, kind="stable")
        labels = _link_in_buckets(rows, similarity, labels, order, keys[order])
    return labels


def _link_in_buckets(rows: Any, similarity: float, labels: Groups, order: Groups, keys: Hashes) -> Groups:
    """Return labels after rows with equal keys were compared; those that are joined already need no comparison.

    Neighbours come first: in a large group of copies they join nearly all, and few pairs are left to compare.
    """
    distance, are_open = 1, _undecided(labels[order], keys)
    while are_open.any():
        order, keys = order[are_open], keys[are_open]
        left, right = order[:-distance], order[distance:]
        apart = (keys[:-distance] == keys[distance:]) & (labels[left] != labels[right])
        left, right = left[apart], right[apart]
        alike = _alike(rows, left, right, similarity)
        labels = components(int(labels.max()) + 1, labels[left[alike]], labels[right[alike]])[labels]
        distance += 1
        are_open = _undecided(labels[order], keys, distance)
    return labels


def _undecided(labels: Groups, keys: Hashes, distance: int = 1) -> NDArray[np.bool_]:
    """Whether the bucket of each row has more rows than the distance, in more than one group."""
    starts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
    sizes = np.diff(starts, append=len(keys))
    if not len(starts):
        return np.zeros(0, np.bool_)
    several = np.minimum.reduceat(labels, starts) < np.maximum.reduceat(labels, starts)
    return np.repeat(several & (sizes > distance), sizes)


def _alike(rows: Any, left: Groups, right: Groups, similarity: float) -> NDArray[np.bool_]:
    """Whether each pair of rows has at least this Jaccard similarity, exactly."""
    sizes = np.diff(rows.indptr)
    ones, others = sizes[left], sizes[right]
    alike = np.minimum(ones, others) / np.maximum(ones, others) >= similarity  # no pair is more similar than this
    possible = np.flatnonzero(alike)
    for start in range(0, len(possible), PAIRS_AT_ONCE):
        pairs = possible[start : start + PAIRS_AT_ONCE]
        both = rows[left[pairs]].multiply(rows[right[pairs]]).sum(axis=1)
        alike[pairs] = both / (ones[pairs] + others[pairs] - both) >= similarity
    return np.asarray(alike, np.bool_)


def _band_keys(rows: Any, bands: Bands, random: np.random.Generator) -> Hashes:
    """Return [row, band]: equal where all the least hashes of a band are equal."""
    offset, *factors = random.integers(0, 2**64, 1 + bands.n_bands * bands.n_hashes, np.uint64)
    hashed = _mix_bits(rows.indices.astype(np.uint64) + offset)
    odd = (np.array(factors, np.uint64) | np.uint64(1)).reshape(bands.n_bands, bands.n_hashes)
    keys = np.zeros((rows.shape[0], bands.n_bands), np.uint64)
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        ends = rows.indptr[start : start + ROWS_AT_ONCE + 1]
        block = hashed[ends[0] : ends[-1]]
        for band, multipliers in enumerate(odd):
            key = keys[start : start + ROWS_AT_ONCE, band]  # a view, filled in place
            for multiplier in multipliers:
                least: Hashes = np.minimum.reduceat(block * multiplier, ends[:-1] - ends[0])
                key[:] = _mix_bits(key ^ least)
    return keys


def _mix_bits(values: Hashes) -> Hashes:
    """Return the values with their bits mixed, each another (the finaliser of Steele's SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
