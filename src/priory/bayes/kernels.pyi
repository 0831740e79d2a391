import numpy as np
from numpy.typing import NDArray

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
def occurring_values(
    matrix: NDArray[np.int64], least: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[np.uint8]: ...
def look_up_codes(
    matrix: NDArray[np.int64] | NDArray[np.float64],
    table: NDArray[np.int32],
    least: NDArray[np.int64],
    starts: NDArray[np.int64],
    unknown: NDArray[np.int32],
    missing: int,
) -> NDArray[np.int32]: ...
