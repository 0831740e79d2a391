"""Reaches a cluster: one that runs, by the address of its scheduler, or one of so many processes on this machine."""

import logging
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from priory.cluster.cluster import Cluster
from priory.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

WAIT_S: Final = 30.0  #: for a scheduler to answer, for a first worker to come, and for another when all are gone
_REACHED_WITHIN_S: Final = 2.0
_LOCAL: Final = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_SCHEMES: Final = ("tcp", "tls", "ws", "wss")
#: A worker that has died does not answer any more: its results come from another sooner.
_SETTINGS: Final = {"distributed.comm.timeouts.connect": "3s"}
_SETTINGS_HERE: Final = {
    "distributed.worker.preload": ["priory.cluster.manners"],
    # Dask looks many times a second at itself, which nobody will ask for and takes a tenth of a core,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # and has the C library give back every 64 kB at once, to take them again for the next message.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 * 1024 * 1024,
}


@contextmanager
def opened(address: str) -> Iterator[Cluster]:
    """Reach the cluster at the address of its scheduler, or start one here: `local`, or `local:2` for two processes."""
    try:
        import distributed  # noqa: F401, PLC0415 - only people with a cluster pay for it
    except ImportError:
        raise ClusterError("a cluster takes Dask: pip install 'priory[cluster]'") from None
    local = _LOCAL.fullmatch(address)
    if local is None and not (urlsplit(address).scheme in _SCHEMES and urlsplit(address).netloc):
        raise ClusterError(f"{address!r} is no cluster: say tcp://HOST:8786, or local:2 for two processes here")
    import dask  # noqa: PLC0415

    with dask.config.set(_SETTINGS), ExitStack() as stack:
        if local:
            client = stack.enter_context(_here(int(local[1] or len(os.sched_getaffinity(0)))))
        else:
            client = stack.enter_context(_there(address))
        yield Cluster(client, f"the cluster {address}", WAIT_S)


@contextmanager
def _here(n_workers: int) -> Iterator["Client"]:
    """Start so many processes; they end with this one, however it ends."""
    import dask  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="priory-cluster-"))
        stack.enter_context(dask.config.set(_SETTINGS_HERE))
        with _deaf():
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    local_directory=scratch,
                )
            )
        yield stack.enter_context(Client(cluster, direct_to_workers=True, set_as_default=False))


@contextmanager
def _deaf() -> Iterator[None]:
    """Start threads, and with them processes, that never hear Ctrl-C: it is this thread's to hear, afterwards.

    A terminal sends it to all; a worker that hears it as it starts takes the whole cluster with it.
    """
    resource_tracker.ensure_running()  # who starts it hears again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _there(address: str) -> Iterator["Client"]:
    from distributed import Client, Security  # noqa: PLC0415
    from distributed.utils import silence_logging_cmgr  # noqa: PLC0415

    is_private = urlsplit(address).scheme in {"tls", "wss"}
    if is_private and Security().get_connection_args("client")["ssl_context"] is None:
        raise ClusterError(
            f"{address} takes certificates, and Dask's configuration names none: "
            "https://distributed.dask.org/en/stable/tls.html"
        )
    try:
        client = Client(address, timeout=WAIT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise ClusterError(
            f"no Dask scheduler answers at {address}: {why}; start one with dask scheduler, and say tcp://HOST:8786"
        ) from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # what goes wrong is told once
        try:
            client.wait_for_workers(1, timeout=WAIT_S)
        except OSError:  # which a timeout is
            raise ClusterError(
                f"{address} has no workers, and none came within {WAIT_S:g} s: start some with: dask worker {address}"
            ) from None
        client.direct_to_workers = _reaches(client)
        yield client


def _reaches(client: "Client") -> bool:
    """Tell whether the workers can be reached from here; otherwise their results come by way of the scheduler."""
    worker = urlsplit(next(iter(client.nthreads())))
    try:
        socket.create_connection((worker.hostname, worker.port or 0), _REACHED_WITHIN_S).close()
    except OSError:
        return False
    return True
