"""Counts of things that are known by name, where nearly all possible things are never seen.

A table of all combinations of values, or of all runs of four letters, is far too large to be kept; what was seen of it
is small. So each thing seen has a row in a growing table [thing, class], and a dictionary knows which. The first row
stays zero and belongs to everything else.
"""

from collections.abc import Iterable
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from priory.bayes.tables import Floats, Labels, add_to, spread

Things: TypeAlias = list[Any]  #: anything that a dictionary takes as a key
Slots: TypeAlias = NDArray[np.int64]


class Seen:
    """The things that were seen, and how often under each class.

    >>> from scipy.sparse import csr_matrix
    >>> seen = Seen(n_classes=2)
    >>> slots = seen.placed(["offer", "lunch", "offer"])
    >>> slots.tolist(), seen.slots(["lunch", "hello"]).tolist()
    ([1, 2, 1], [2, 0])
    >>> messages = csr_matrix((np.ones(3), slots, [0, 1, 3]), (2, len(seen.counts)))
    >>> seen.add(messages, np.array([0, 1]), np.ones(2))
    >>> seen.counts[slots].tolist()
    [[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, n_classes: int) -> None:
        self.places: dict[Any, int] = {}
        self.counts: Floats = np.zeros((16, n_classes))
        self._free: list[int] = []

    def statistics(self) -> dict[str, Any]:
        """Return the counts of each thing, and of all that is none: which row a thing has, and spare rows, say nothing.

        >>> Seen(n_classes=2).statistics()
        {'things': {}, 'else': array([0., 0.])}
        """
        spare = np.delete(self.counts, list(self.places.values()), axis=0)
        things = {thing: self.counts[slot] for thing, slot in self.places.items()}
        return {"things": things, "else": np.abs(spare).sum(axis=0)}

    def slots(self, things: Iterable[Any]) -> Slots:
        """Return the row of each thing in the table; 0 for those never seen."""
        return np.fromiter(map(self.places.get, things, repeat(0)), np.int64)

    def placed(self, things: Things) -> Slots:
        """Return the row of each thing in the table; those never seen get one."""
        places = self.places
        fresh = [thing for thing in dict.fromkeys(things) if thing not in places]
        reused = self._free[: len(fresh)]
        first = 1 + len(places) + len(self._free)
        last = first + len(fresh) - len(reused)
        if last > len(self.counts):
            more = np.zeros((max(last, 2 * len(self.counts)) - len(self.counts), self.counts.shape[1]))
            self.counts = np.vstack([self.counts, more])
        places.update(zip(fresh, [*reused, *range(first, last)], strict=True))
        del self._free[: len(reused)]
        return self.slots(things)

    def add(self, rows: Any, labels: Labels, weights: Floats) -> None:
        """Add the rows of a sparse matrix [row, slot]; weights below zero take them back, or raise, nothing changed."""
        add_to(self.counts, rows, labels, weights)

    def add_each(self, slots: Slots, labels: Labels, weights: Floats) -> None:
        """Add rows that are one thing each, given by its slot; else as `add`."""
        ones, ends = np.ones(len(slots)), np.arange(len(slots) + 1)
        self.add(csr_matrix((ones, slots, ends), (len(slots), len(self.counts))), labels, weights)

    def drop_empty(self, things: Things, slots: Slots) -> None:
        """Give up the rows of those of these things that no class has any more."""
        for i in np.flatnonzero(~self.counts[slots].any(axis=1)):
            slot = self.places.pop(things[i], None)
            if slot is not None:
                self._free.append(slot)

    def spread(self, where: NDArray[np.int64], n_classes: int) -> "Seen":
        """Return the same with its classes at new places among more of them; this one stays as it is."""
        wider = Seen(n_classes)
        wider.places, wider._free = dict(self.places), list(self._free)
        wider.counts = spread(self.counts, where, n_classes)
        return wider

    def join(self, other: "Seen") -> None:
        """Add what another one with the same classes has seen."""
        things = list(other.places)
        slots = self.placed(things)
        self.counts[slots] += other.counts[other.slots(things)]
