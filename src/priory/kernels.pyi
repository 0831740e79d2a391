from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Buckets: TypeAlias = NDArray[np.uint32]
Positions: TypeAlias = NDArray[np.int32]

def add(
    rows: NDArray[np.uint32], buckets: Buckets, label: int, corrections: NDArray[np.int8] | None = None
) -> None: ...
def subtract(
    rows: NDArray[np.uint32], buckets: Buckets, label: int, corrections: NDArray[np.int8] | None = None
) -> None: ...
def add_rows(
    counts: NDArray[np.float64],
    indptr: NDArray[np.int32] | NDArray[np.int64],
    indices: NDArray[np.int32] | NDArray[np.int64],
    values: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def add_cells(
    counts: NDArray[np.float64], cells: NDArray[np.int32], labels: NDArray[np.int64], weights: NDArray[np.float64]
) -> None: ...
def sum_cells(logs: NDArray[np.float64], cells: NDArray[np.int32]) -> NDArray[np.float64]: ...
def fit_cells(cells: NDArray[np.int32], n_cells: int) -> int: ...
def weigh_coins(
    counts: NDArray[np.float64], totals: NDArray[np.float64], alpha: float, gains: NDArray[np.float64]
) -> NDArray[np.float64]: ...
def posterior(joint: NDArray[np.float64], log_prior: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log_posterior(joint: NDArray[np.float64], log_prior: NDArray[np.float64]) -> NDArray[np.float64]: ...
def log_counts(table: NDArray[np.float64], first: int, smoothing: float) -> None: ...
def terms(
    rows: NDArray[np.uint32],
    labels: int,
    buckets: Buckets,
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    damping: NDArray[np.float64],
    log_table: NDArray[np.float64],
    smoothing: float,
    label: int,
    contrast: int,
    shift: float,
    rate: float,
) -> NDArray[np.float64]: ...
def total(values: NDArray[np.float64]) -> float: ...
def score_bin(score: float, limit: float, width: float, bins: int) -> int: ...
def learn_certain(
    rows: NDArray[np.uint32],
    totals: NDArray[np.int64],
    held_out: NDArray[np.int64],
    messages: list[tuple[Buckets, NDArray[np.int64]]],
    labels: NDArray[np.int64],
    is_scored: NDArray[np.bool_],
    shifts: NDArray[np.float64],
    start: int,
    end: int,
    lines: NDArray[np.float64],
    certain: float,
    weights: NDArray[np.float64],
    damping: NDArray[np.float64],
    log_table: NDArray[np.float64],
    smoothing: float,
    rate: float,
    limit: float,
    width: float,
    scores: NDArray[np.float64],
) -> int: ...
def pack(buckets: Buckets, offsets: NDArray[np.int64], bits: int) -> bytes: ...
def unpack(packed: bytes, most_kinds: int, bits: int) -> tuple[Buckets, NDArray[np.int64]]: ...
