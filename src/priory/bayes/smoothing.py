"""A count as a logarithm, with a pseudo-count so that what was never seen is not impossible."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def log_pseudo(counts: ArrayLike, pseudo: Any, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return log(count + pseudo-count): numerator and denominator of every smoothed share."""
    smoothed = np.asarray(np.add(np.asarray(counts, np.float64), pseudo, out=out))
    return np.asarray(np.log(smoothed, out=smoothed))
