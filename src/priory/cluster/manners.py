"""The manners of a local cluster's workers, which Dask asks for as each of them starts."""

import os
import signal

from priory.workers import NICENESS


def dask_setup(_worker: object) -> None:
    """Be deaf to Ctrl-C, which a terminal sends to all: it is the parent's to hear; and give way to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
