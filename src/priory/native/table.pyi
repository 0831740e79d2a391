from array import array
from collections.abc import Iterable

from typing_extensions import Buffer

def add(rows: Buffer, buckets: Buffer, label: int, corrections: Buffer | None = None) -> None: ...
def subtract(rows: Buffer, buckets: Buffer, label: int, corrections: Buffer | None = None) -> None: ...
def total(values: Buffer) -> float: ...
def score_bin(score: float, limit: float, width: float, bins: int) -> int: ...
def are_comparable(totals: Buffer, without: int = 0) -> bool: ...

LEAST_KNOWN: int

def is_known(totals: Buffer, label: int) -> bool: ...
def n_repeated(rows: Buffer, labels: int, buckets: Buffer, start: int, end: int) -> int: ...

class Scorer:
    def __init__(self, weights: Iterable[float], damping: Iterable[float], smoothing: float, rate: float) -> None: ...
    def terms(
        self, rows: Buffer, totals: Buffer, buckets: Buffer, offsets: Buffer, label: int, slope: float = 1
    ) -> array[float]: ...
    def learn(
        self,
        rows: Buffer,
        totals: Buffer,
        held_out: Buffer,
        messages: list[tuple[Buffer, Buffer]],
        labels: Buffer,
        in_turn: Buffer,
        start: int,
        late: int,
        lines: Buffer,
        certain: float,
        limit: float,
        width: float,
        scores: Buffer,
    ) -> int: ...
