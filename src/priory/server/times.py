"""How long things take, by the histograms in which they are counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from priory.server.scoreboard import BOUNDS, Durations, Key


@dataclass(frozen=True, slots=True)
class Times:
    """How many there were, and how many seconds they took."""

    count: int
    mean: float
    median: float
    p99: float  #: 99 of a hundred took less


def times_of(counted: Mapping[Key, int], *durations: Durations) -> Times | None:
    """Return how long things took that were counted in these histograms, taken together; None if there were none."""
    ranges = [
        sum(counted.get(key, 0) for key in same) for same in zip(*(each.ranges for each in durations), strict=True)
    ]
    n, total_ns = sum(ranges), sum(counted.get(each.sum, 0) for each in durations)
    if not n:
        return None
    return Times(n, total_ns / 1e9 / n, quantile(ranges, 0.5), quantile(ranges, 0.99))


def quantile(ranges: Sequence[int], share: float) -> float:
    """Return the seconds that a share of durations do not exceed, as if they were spread evenly within each range.

    What took longer than the last bound is taken to have taken that long.

    >>> quantile([0, 0, 10, 10] + 12 * [0], 0.75)               # half way from 1 ms to 2.5 ms
    0.00175
    """
    wanted = share * sum(ranges)
    for i, (n, so_far) in enumerate(zip(ranges, accumulate(ranges), strict=True)):
        if n and so_far >= wanted and i < len(BOUNDS):
            low = BOUNDS[i - 1] if i else 0.0
            return low + (BOUNDS[i] - low) * (wanted - (so_far - n)) / n
    return BOUNDS[-1]
