"""Counters in shared memory: every process of the daemon counts, and the HTTP process shows the sums.

The memory is an anonymous `mmap` that the master makes before its first fork. Each process has a slot of its own and is
the only one to write there, so counting needs no lock: it is an addition to a number in memory.

When a process ends, the next one continues its slot, so nothing that was counted is lost when a process dies or when a
reload replaces all of them. Only gauges, such as the number of open connections, go back to zero.

A number is named by a key, such as ("requests", "CHECK"). The master assigns each key its place in the slots before it
forks the processes that count it, and places never change. A process knows the keys that existed when it was forked.

>>> board = Scoreboard()
>>> board.allot([("requests", "CHECK")])
>>> slot = board.take()
>>> board.tally(slot).add(("requests", "CHECK"))
>>> board.release(slot)
>>> board.total(("requests", "CHECK"))
1
"""

import errno
import mmap
import os
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

Key: TypeAlias = tuple[str, ...]

CELLS: Final = 512  #: numbers in a slot: one page of memory, which the system provides at the first write
SLOTS: Final = 4096  #: processes at a time, those that retire included
_USED: Final = 0  # the cell of the first slot that holds the number of slots ever taken
_SPARE: Final = CELLS - 1  # the cell for keys without a place; it is never read
#: Upper bounds in seconds of the ranges in which durations are counted; one more range has longer durations.
BOUNDS: Final = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _Places(dict[Key, int]):
    """The cell of each key. Keys without one, for which there was no room or which came later, share the spare cell."""

    def __missing__(self, key: Key) -> int:
        return _SPARE


class ProcessTally:
    """The counters of one process."""

    def __init__(self, cells: "memoryview[int]", places: Mapping[Key, int]) -> None:
        self._cells = cells
        self._places = places

    def add(self, key: Key, n: int = 1) -> None:
        """Add to a counter."""
        self._cells[self._places[key]] += n

    def put(self, key: Key, n: int) -> None:
        """Set a gauge."""
        self._cells[self._places[key]] = n

    def time(self, durations: "Durations", seconds: float) -> None:
        """Count a duration in a histogram."""
        cells, places = self._cells, self._places
        cells[places[durations.ranges[bisect_left(BOUNDS, seconds)]]] += 1
        cells[places[durations.sum]] += int(seconds * 1e9)


class Durations:
    """The keys of a histogram of durations: the number in each range, and the sum in nanoseconds."""

    def __init__(self, *name: str) -> None:
        self.ranges: Final = [(*name, f"up to {bound}") for bound in BOUNDS] + [(*name, "longer")]
        self.sum: Final = (*name, "nanoseconds")

    @property
    def keys(self) -> list[Key]:
        """All keys of the histogram."""
        return [*self.ranges, self.sum]


class Scoreboard:
    """The slots of all processes; the master makes it before any fork, and alone assigns slots and places."""

    def __init__(self, gauges: Collection[Key] = ()) -> None:
        self._cells = memoryview(mmap.mmap(-1, SLOTS * CELLS * 8)).cast("Q")
        self._gauges = gauges
        self._places = _Places()
        self._free: list[int] = []
        self.allot([("slots",), *gauges])
        assert self._places["slots",] == _USED

    def allot(self, keys: Iterable[Key]) -> None:
        """Assign places to keys, as long as there is room."""
        for key in keys:
            if len(self._places) < _SPARE:
                self._places.setdefault(key, len(self._places))

    def take(self) -> int:
        """Return a free slot. Raises OSError if all are in use."""
        if self._free:
            return self._free.pop()
        slot = self._cells[_USED]
        if slot == SLOTS:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._cells[_USED] += 1
        return slot

    def release(self, slot: int) -> None:
        """Free the slot of a process that has ended; its counters stay, its gauges become zero."""
        tally = self.tally(slot)
        for key in self._gauges:
            tally.put(key, 0)
        self._free.append(slot)

    def tally(self, slot: int) -> ProcessTally:
        """Return the counters of the process that has a slot."""
        return ProcessTally(self._cells[slot * CELLS : (slot + 1) * CELLS], _Places(self._places))

    def total(self, key: Key) -> int:
        """Return the sum over all processes; 0 for a key without a place."""
        place = self._places.get(key)
        return 0 if place is None else sum(self._cells[place : self._cells[_USED] * CELLS : CELLS])

    def keys(self, name: str) -> list[Key]:
        """Return all keys whose first word is `name`."""
        return [key for key in self._places if key[0] == name]


@dataclass(frozen=True, slots=True)
class Timing:
    """How many operations there were, and how long they took in seconds."""

    count: int
    mean: float
    median: float
    p99: float  #: the 99th percentile


def timing_of(counts: Mapping[Key, int], *histograms: Durations) -> Timing | None:
    """Summarise one or several histograms taken together; None if nothing was counted in them."""
    ranges = [
        sum(counts.get(key, 0) for key in keys)
        for keys in zip(*(histogram.ranges for histogram in histograms), strict=True)
    ]
    n, total_ns = sum(ranges), sum(counts.get(histogram.sum, 0) for histogram in histograms)
    if not n:
        return None
    return Timing(n, total_ns / 1e9 / n, quantile(ranges, 0.5), quantile(ranges, 0.99))


def quantile(ranges: Sequence[int], share: float) -> float:
    """Return the seconds that a share of all durations does not exceed, by linear interpolation within a range.

    Durations beyond the last bound count as that bound.

    >>> quantile([0, 0, 10, 10] + 12 * [0], 0.75)               # half way from 1 ms to 2.5 ms
    0.00175
    """
    wanted = share * sum(ranges)
    for i, (n, cumulated) in enumerate(zip(ranges, accumulate(ranges), strict=True)):
        if n and cumulated >= wanted and i < len(BOUNDS):
            low = BOUNDS[i - 1] if i else 0.0
            return low + (BOUNDS[i] - low) * (wanted - (cumulated - n)) / n
    return BOUNDS[-1]
