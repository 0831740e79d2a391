import numpy as np
from numpy.typing import NDArray

def found(matrix: NDArray[np.int64], least: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.uint8]: ...
def looked_up(
    matrix: NDArray[np.int64] | NDArray[np.float64],
    table: NDArray[np.int32],
    least: NDArray[np.int64],
    starts: NDArray[np.int64],
    unknown: NDArray[np.int32],
    missing: int,
) -> NDArray[np.int32]: ...
