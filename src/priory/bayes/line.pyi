import numpy as np
from numpy.typing import NDArray

def most_probable_line(
    score: NDArray[np.float64],
    rest: NDArray[np.float64],
    own: NDArray[np.float64],
    prior: NDArray[np.float64],
    precision: NDArray[np.float64],
    slips: float,
) -> tuple[float, float]: ...
