"""The manners of a local cluster's workers, which Dask asks for as each of them starts."""

from priory.bulk import NICENESS
from priory.forking import give_way


def dask_setup(_worker: object) -> None:
    """Give way to the process that uses the results."""
    give_way(NICENESS)
