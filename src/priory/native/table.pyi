from array import array
from collections.abc import Iterable

from typing_extensions import Buffer

from priory.native.blocks import MappedBlocks
from priory.native.names import NameTable

def require_features(rows: Buffer, names: NameTable, buckets: Buffer, offsets: Buffer, named: int) -> None: ...
def require_rows(rows: Buffer, blocks: MappedBlocks, buckets: Buffer) -> None: ...
def bits_of_names(bits: int) -> int: ...
def add(rows: Buffer, buckets: Buffer, label: int) -> None: ...
def subtract(rows: Buffer, buckets: Buffer, label: int) -> None: ...
def add_features(
    rows: Buffer,
    names: NameTable,
    buckets: Buffer,
    offsets: Buffer,
    named: int,
    label: int,
    corrections: Buffer | None = None,
) -> None: ...
def subtract_features(
    rows: Buffer,
    names: NameTable,
    buckets: Buffer,
    offsets: Buffer,
    named: int,
    label: int,
    corrections: Buffer | None = None,
) -> None: ...
def counts_of(rows: Buffer, names: NameTable, number: int, group: int, named: int, labels: int) -> tuple[int, ...]: ...
def n_used(rows: Buffer, labels: int) -> int: ...
def total(values: Buffer) -> float: ...
def score_bin(score: float, limit: float, width: float, bins: int) -> int: ...
def are_comparable(totals: Buffer, without: int = 0) -> bool: ...

LEAST_KNOWN: int

def is_known(totals: Buffer, label: int) -> bool: ...
def n_repeated(
    rows: Buffer,
    names: NameTable,
    labels: int,
    buckets: Buffer,
    start: int,
    end: int,
    group: int,
    named: int,
) -> int: ...

class Scorer:
    def __init__(self, weights: Iterable[float], damping: Iterable[float], smoothing: float, rate: float) -> None: ...
    def terms(
        self,
        rows: Buffer,
        names: NameTable,
        totals: Buffer,
        buckets: Buffer,
        offsets: Buffer,
        named: int,
        label: int,
        slope: float = 1,
    ) -> array[float]: ...
    def learn(
        self,
        rows: Buffer,
        names: NameTable,
        totals: Buffer,
        held_out: Buffer,
        messages: list[tuple[Buffer, Buffer, int]],
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
