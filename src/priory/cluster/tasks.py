"""What runs on the workers of a cluster."""

import pickle
from collections.abc import Callable
from typing import TypeVar

from priory import __version__
from priory.cluster.errors import ClusterError
from priory.features import VERSION

Batch = TypeVar("Batch")
Result = TypeVar("Result")


def itself(work: Callable[[Batch], Result]) -> Callable[[Batch], Result]:
    """Return the work: a task that other tasks have it from, so that it is sent once and found again if it is lost."""
    return work


def done(asked_by: str, work: Callable[[Batch], Result], sealed: bytes) -> Result:
    """Do the work on a batch, for someone who would do the same; sealed, or Dask would look at each part of it."""
    if asked_by != version():
        raise ClusterError(
            f"a worker has Priory {version()}, here is {asked_by}: the same message could give other features; install "
            "the same there"
        )
    return work(pickle.loads(sealed))  # noqa: S301 - as Dask itself does


def version() -> str:
    """Return what two Priories have in common that draw the same features."""
    return f"{__version__} (features {VERSION})"
