"""Labels of classes: names or numbers, in order, and more of them as time goes by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def same_kind(some: NDArray[Any], more: NDArray[Any]) -> bool:
    """Whether both are names, or both are numbers."""
    return (some.dtype.kind in "OSU") == (more.dtype.kind in "OSU")


def nearest(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Return for each label the class that stands where it would stand in order: itself, if it is known."""
    return np.asarray(classes[np.minimum(np.searchsorted(classes, labels), len(classes) - 1)])


def union(some: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels of both, in order."""
    if not same_kind(some, more):
        raise ValueError(f"y mixes names and numbers as labels: {some.tolist()[:1]} and {more.tolist()[:1]}")
    return np.union1d(some, more)
