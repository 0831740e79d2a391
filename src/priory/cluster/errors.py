"""Says what is wrong with a cluster, and what to do about it."""

import asyncio
import concurrent.futures
from collections.abc import Iterator
from contextlib import contextmanager

from priory.workers import WorkerError


class ClusterError(WorkerError):
    """A cluster cannot be reached, or cannot do the work; the text says why, and what to do."""


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what Dask says about a cluster into a ClusterError."""
    from distributed import KilledWorker  # noqa: PLC0415 - only people with a cluster pay for it

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers of {name} ended, one after the other, over the same piece of work: "
            "see their logs for why, as when there is too little memory; start again to go on"
        ) from None
    except (asyncio.CancelledError, concurrent.futures.CancelledError, OSError) as error:
        raise ClusterError(f"{name} is gone ({_said(error)}): see that it runs; start again to go on") from None
    except (ImportError, AttributeError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserialization" not in str(error):
            raise
        raise ClusterError(
            f"{name} lacks what it needs ({_said(error)}): install the same versions of Priory and Dask there as here"
        ) from None


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
