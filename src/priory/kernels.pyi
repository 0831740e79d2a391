from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Buckets: TypeAlias = NDArray[np.uint32]
Positions: TypeAlias = NDArray[np.int32]

def add(counts: NDArray[np.uint32], buckets: Buckets, label: int) -> None: ...
def subtract(counts: NDArray[np.uint32], buckets: Buckets, label: int) -> None: ...
def terms(
    counts: NDArray[np.uint32],
    buckets: Buckets,
    offsets: NDArray[np.int64],
    scales: NDArray[np.float64],
    log_table: NDArray[np.float64],
    smoothing: float,
    label: int,
    shift: float,
) -> NDArray[np.float64]: ...
def pack(buckets: Buckets, offsets: NDArray[np.int64], bits: int) -> bytes: ...
def unpack(packed: bytes, most_kinds: int, bits: int) -> tuple[Buckets, NDArray[np.int64]]: ...
