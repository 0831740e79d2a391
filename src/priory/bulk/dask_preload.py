"""Dask preload module for the workers of a local cluster. Dask calls `dask_setup` when a worker starts."""

from priory.bulk.local import NICENESS
from priory.processes.fork import give_way


def dask_setup(_worker: object) -> None:
    """Lower the worker's priority below that of the process that uses the results."""
    give_way(NICENESS)
