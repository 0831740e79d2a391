import numpy as np
from numpy.typing import NDArray

def add_pairs(
    table: NDArray[np.float64], cells: NDArray[np.int32], labels: NDArray[np.int64], weights: NDArray[np.float64]
) -> None: ...
def average_parents(
    logs: NDArray[np.float64], may_be_parent: NDArray[np.uint8], cells: NDArray[np.int32]
) -> NDArray[np.float64]: ...
def tree_terms(
    logs: NDArray[np.float64],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
    parents: NDArray[np.int64],
    order: NDArray[np.int64],
    codes: NDArray[np.int32],
) -> NDArray[np.float64]: ...
