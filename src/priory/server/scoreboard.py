"""Numbers that every process of the daemon counts, and one of them shows: in memory that all share from the first fork.

Each process has a slot that it alone writes: nobody waits for a lock, and to count is to add to a number in memory. A
slot whose process has ended goes to the next one as it is, so what was counted stays counted, whoever dies and however
many processes there are after a reload. Only what tells how things are just now, such as who is connected, goes back
to zero.

A number is named by a key, such as ("requests", "CHECK"). Where it stands in a slot is decided by the master before it
forks those who count it, and stays so; who was forked earlier knows fewer keys.

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
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

Key: TypeAlias = tuple[str, ...]

CELLS: Final = 512  #: numbers of a slot: a page of memory, which is taken when the slot is
SLOTS: Final = 4096  #: processes at a time, those that retire included
_USED: Final = 0  # the cell of the first slot that says how many slots were ever taken
#: Upper ends of the ranges that durations are counted in, in seconds; there is one more for what is longer.
BOUNDS: Final = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _Places(dict[Key, int]):
    """Where each number stands in a slot; what has no place, or got none any more, is counted where nobody looks."""

    def __missing__(self, key: Key) -> int:
        return CELLS - 1


class Tally:
    """What one process counts."""

    def __init__(self, cells: "memoryview[int]", places: Mapping[Key, int]) -> None:
        self._cells = cells
        self._places = places

    def add(self, key: Key, n: int = 1) -> None:
        """Count."""
        self._cells[self._places[key]] += n

    def put(self, key: Key, n: int) -> None:
        """Say how many there are just now."""
        self._cells[self._places[key]] = n

    def time(self, durations: "Durations", seconds: float) -> None:
        """Count a duration."""
        cells, places = self._cells, self._places
        cells[places[durations.ranges[bisect_left(BOUNDS, seconds)]]] += 1
        cells[places[durations.sum]] += int(seconds * 1e9)


class Durations:
    """The keys of a histogram of durations: how many in each range, and their sum in nanoseconds."""

    def __init__(self, *name: str) -> None:
        self.ranges: Final = [(*name, f"up to {bound}") for bound in BOUNDS] + [(*name, "longer")]
        self.sum: Final = (*name, "nanoseconds")

    @property
    def keys(self) -> list[Key]:
        """All of them."""
        return [*self.ranges, self.sum]


class Scoreboard:
    """The slots of all processes, as their master, who makes it before any fork, hands them out."""

    def __init__(self, momentary: Collection[Key] = ()) -> None:
        self._cells = memoryview(mmap.mmap(-1, SLOTS * CELLS * 8)).cast("Q")
        self._momentary = momentary
        self._places = _Places()
        self._free: list[int] = []
        self.allot([("slots",), *momentary])
        assert self._places["slots",] == _USED

    def allot(self, keys: Iterable[Key]) -> None:
        """Give keys their places, as long as there is room."""
        for key in keys:
            if len(self._places) < CELLS - 1:
                self._places.setdefault(key, len(self._places))

    def take(self) -> int:
        """Return a slot that nobody has. Raises OSError if there is none."""
        if self._free:
            return self._free.pop()
        slot = self._cells[_USED]
        if slot == SLOTS:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self._cells[_USED] += 1
        return slot

    def release(self, slot: int) -> None:
        """Take back the slot of a process that has ended, with what it has counted."""
        tally = self.tally(slot)
        for key in self._momentary:
            tally.put(key, 0)
        self._free.append(slot)

    def tally(self, slot: int) -> Tally:
        """Return what the process with this slot counts with."""
        return Tally(self._cells[slot * CELLS : (slot + 1) * CELLS], _Places(self._places))

    def total(self, key: Key) -> int:
        """Return what all processes together have counted; nothing where a key has no place."""
        place = self._places.get(key)
        return 0 if place is None else sum(self._cells[place : self._cells[_USED] * CELLS : CELLS])

    def keys(self, name: str) -> list[Key]:
        """Return all keys that begin so."""
        return [key for key in self._places if key[0] == name]
