"""Makes the workers of a local cluster deaf to Ctrl-C, which a terminal sends to all: it is the parent's to hear."""

import signal


def dask_setup(_worker: object) -> None:
    """Dask calls this in each worker that starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
