"""What the bootstrap draws as a whole: each example by itself, or groups of near-copies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Groups of examples, or each example as its own, and the stratum within which each is drawn.

    >>> units = Units.of(np.array(["ham", "spam", "spam", "ham", "spam"]), np.array([1, 2, 2, 3, 3]))
    >>> [each.tolist() for each in units.by_stratum]                      # ham, spam, and one that is of both
    [[0], [1], [2]]
    >>> units.examples(np.array([1, 1, 0])).tolist()
    [1, 2, 1, 2, 0]
    """

    in_order: NDArray[np.intp]  #: the examples of the first unit, then those of the second, …
    sizes: NDArray[np.intp]
    by_stratum: list[NDArray[np.intp]]  #: the units of each stratum, and those that are of several

    @classmethod
    def of(cls, strata: NDArray[Any], groups: NDArray[np.int64] | None) -> "Units":
        """Put examples of the same group together."""
        kinds, labels = np.unique(strata, return_inverse=True)
        codes = np.arange(len(strata)) if groups is None else np.unique(groups, return_inverse=True)[1]
        sizes = np.bincount(codes)
        lowest, highest = np.full(len(sizes), len(kinds)), np.full(len(sizes), -1)
        np.minimum.at(lowest, codes, labels)
        np.maximum.at(highest, codes, labels)
        stratum = np.where(lowest == highest, lowest, len(kinds))
        members = [np.flatnonzero(stratum == kind) for kind in np.unique(stratum)]
        return cls(np.argsort(codes, kind="stable"), sizes, members)

    def examples(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the numbers of the examples in these units."""
        sizes = self.sizes[units]
        before = np.cumsum(self.sizes)[units] - np.cumsum(sizes)
        return np.asarray(self.in_order[np.repeat(before, sizes) + np.arange(sizes.sum())])

    def sums(self, values: Any) -> csr_array:
        """Return the sums of values [example, column] over each unit."""
        ends = np.append(0, np.cumsum(self.sizes))
        ones = np.ones(len(self.in_order))
        return csr_array((ones, self.in_order, ends), shape=(len(self.sizes), len(ones))) @ csr_array(values)
