"""Bulk work on a Dask cluster: its workers read mail and evaluate models.

Results are the same as in one process, bit for bit. Work that depends on the order of messages is done in this
process; all other work is done by the cluster. A worker may die at any time: Dask gives its tasks to another worker.

Only as many batches are submitted as keep all workers busy, and the size of a batch is bounded. So the memory of a
worker is bounded, too. The next few results are fetched while the last one is in use.
"""

import asyncio
import concurrent.futures
import logging
import os
import pickle
import re
import signal
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain, islice
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from priory import __version__
from priory.bulk.batches import Batch, BatchResult, Sizes, batches, with_contents
from priory.bulk.local import LearnItem, MailReader, to_lessons, values_in_order
from priory.corpus import Corpus, Part
from priory.features import VERSION
from priory.filter.filter import Filter
from priory.processes.workers import WorkerError

if TYPE_CHECKING:
    from concurrent.futures import Future as LocalFuture

    from distributed import Client, Future

AHEAD: Final = 3  #: submitted batches for each thread of a worker
FETCHED: Final = 3  #: results that are fetched before they are needed
#: Submitting a task takes Dask some milliseconds, so batches are larger than those for a local process.
SIZES: Final = Sizes(most_messages=1024, most_bytes=4 * 1024 * 1024)
WAIT_S: Final = 30.0  #: for the scheduler to answer, for the first worker, and for another when all are gone
_CONNECT_S: Final = 2.0
_LOCAL: Final = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_SCHEMES: Final = ("tcp", "tls", "ws", "wss")
#: A dead worker does not answer; with a short timeout Dask soon repeats its work elsewhere.
_SETTINGS: Final = {"distributed.comm.timeouts.connect": "3s"}
_LOCAL_SETTINGS: Final = {
    "distributed.worker.preload": ["priory.bulk.dask_preload"],
    # Dask's monitoring of itself, which is not used here, takes a tenth of a core at its default intervals.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # By default Dask has malloc return every 64 kB to the system, only to request it again for the next message.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 * 1024 * 1024,
}

Item = TypeVar("Item")
Result = TypeVar("Result")


class ClusterError(WorkerError):
    """A cluster cannot be reached or cannot do the work; the text names the cause and the remedy."""


@contextmanager
def opened(address: str) -> Iterator["Cluster"]:
    """Connect to the scheduler at an address, or start a cluster here: `local`, or `local:2` for two processes."""
    try:
        import distributed  # noqa: F401, PLC0415 - loaded only if a cluster is used
    except ImportError:
        raise ClusterError("a cluster needs Dask: pip install '.[cluster]' in Priory's source folder") from None
    local = _LOCAL.fullmatch(address)
    if local is None and not (urlsplit(address).scheme in _SCHEMES and urlsplit(address).netloc):
        raise ClusterError(f"{address!r} is not a cluster: use tcp://HOST:8786, or local:2 for two processes here")
    import dask  # noqa: PLC0415

    with dask.config.set(_SETTINGS), ExitStack() as stack:
        if local:
            client = stack.enter_context(_start_local(int(local[1] or len(os.sched_getaffinity(0)))))
        else:
            client = stack.enter_context(_connect(address))
        yield Cluster(client, f"the cluster {address}", WAIT_S)


@contextmanager
def read_ahead(mail: Corpus, filter_: Filter, cluster: "Cluster") -> Iterator[Iterator[LearnItem]]:
    """Read mail for the filter's `learn_many` with the workers of a cluster; this process scores and counts."""
    reader = MailReader(filter_.spec, filter_.extras)
    with ExitStack() as stack:
        parts, passed_over = mail.parts()
        results = _read(lambda work: stack.enter_context(cluster.ordered(reader, work)), cluster, parts)
        yield to_lessons(values_in_order(results, passed_over), filter_.spec.bits)


def _read(
    start: Callable[[Iterable[Batch]], Iterator[BatchResult]], cluster: "Cluster", parts: Iterable[Part]
) -> Iterator[BatchResult]:
    """Yield the results for all parts; if the workers are on another machine, send the contents of local files."""
    submitted: deque[Batch] = deque()
    rest = batches(parts, cluster.sizes, sharded=True)

    def remember(work: Iterable[Batch]) -> Iterator[Batch]:
        for batch in work:
            submitted.append(batch)
            yield batch

    for result in start(remember(rest)):
        if result.is_elsewhere:
            break
        submitted.popleft()
        yield result
    else:
        return
    yield from start(with_contents(chain(submitted, rest), cluster.sizes))


class Cluster:
    """The workers of a Dask cluster."""

    sizes = SIZES

    def __init__(self, client: "Client", name: str, wait_s: float) -> None:
        self._client = client
        self._name = name
        self._wait_s = wait_s  # for workers to come back

    @property
    def n_threads(self) -> int:
        """The number of tasks that run at the same time."""
        with _cluster_errors(self._name):
            return sum(self._client.nthreads().values())

    @contextmanager
    def ordered(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Iterator[Result]]:
        """Yield the results in the order of the items, which are read only a little ahead."""
        with closing(self._ordered(work, items)) as results:
            yield results

    def _ordered(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        rest, submitted = _DeferredErrors(items), deque[_Task]()
        shared_work = self._submit(return_work, work)
        try:
            while True:
                most = AHEAD * max(self.n_threads, 1)
                for _ in range(most):
                    n_more = max(most - len(submitted), 0)  # negative if workers have gone
                    submitted += [self._start_task(shared_work, item) for item in islice(rest, n_more)]
                    for task in islice(submitted, FETCHED):
                        task.fetch()
                    if not submitted:
                        rest.raise_error()
                        return
                    yield self._result(submitted.popleft())
        finally:
            self._cancel(submitted)

    @contextmanager
    def unordered(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Iterator[Result]]:
        """Yield the results as they arrive; all items are submitted at once, so they must be small."""
        with closing(self._unordered(work, items)) as results:
            yield results

    def _unordered(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
        shared_work = self._submit(return_work, work)
        submitted = [self._start_task(shared_work, item) for item in items]
        try:
            while submitted:
                finished = self._wait_for_any(submitted)
                submitted = [task for task in submitted if task not in finished]
                yield from map(self._result, finished)
        finally:
            self._cancel(submitted)

    def _start_task(self, shared_work: "Future", item: Any) -> "_Task":
        return _Task(self._client, self._submit(run_task, version(), shared_work, pickle.dumps(item)))

    def _submit(self, function: Callable[..., Any], *arguments: object) -> "Future":
        with _cluster_errors(self._name), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a large message is no mistake
            return self._client.submit(function, *arguments, pure=False)

    def _result(self, task: "_Task") -> Any:
        self._wait_for_any([task])
        with _cluster_errors(self._name):
            return task.fetched.result()

    def _wait_for_any(self, tasks: "list[_Task]") -> "set[_Task]":
        """Wait until at least one task is finished, and return these; fail if there are no workers for too long."""
        no_workers_since: float | None = None
        by_future = {task.fetched: task for task in tasks}
        while not (finished := _wait_seconds(self._wait_s / 10, by_future)):
            now = time.monotonic()
            no_workers_since = None if self.n_threads else no_workers_since or now
            if no_workers_since is not None and now - no_workers_since > self._wait_s:
                raise ClusterError(
                    f"{self._name} has had no workers for {self._wait_s:g} s: see their logs for the cause, then run "
                    "the command again to continue"
                )
        return {by_future[future] for future in finished}

    def _cancel(self, tasks: "Iterable[_Task]") -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([task.future for task in tasks], force=True)


def _wait_seconds(seconds: float, futures: "Iterable[LocalFuture[Any]]") -> "set[LocalFuture[Any]]":
    return concurrent.futures.wait(futures, seconds, concurrent.futures.FIRST_COMPLETED).done


class _DeferredErrors:
    """An iterator that ends at an error, which is raised later, after the results of all items before it."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._error is None:
            try:
                return next(self._items)
            except StopIteration:
                raise
            except Exception as error:  # noqa: BLE001 - raised by raise_error
                self._error = error
        raise StopIteration

    def raise_error(self) -> None:
        """Raise the error that ended the iteration, if there was one."""
        if self._error is not None:
            raise self._error


class _Task:
    """A submitted item."""

    def __init__(self, client: "Client", future: "Future") -> None:
        self.future = future
        self._client = client
        self._fetched: LocalFuture[Any] | None = None

    def fetch(self) -> None:
        """Start to fetch the result as soon as it is available."""
        _ = self.fetched

    @property
    def fetched(self) -> "LocalFuture[Any]":
        """The future of the result in this process."""
        if self._fetched is None:
            coroutine = self._client.gather(self.future, asynchronous=True)
            self._fetched = asyncio.run_coroutine_threadsafe(coroutine, self._client.loop.asyncio_loop)
        return self._fetched


def return_work(work: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return the work. As a task of its own it is sent once, and Dask repeats it if its worker dies."""
    return work


def run_task(caller_version: str, work: Callable[[Item], Result], pickled: bytes) -> Result:
    """Do the work on an item, on a worker. The item is pickled, because Dask would traverse all of its parts."""
    if caller_version != version():
        raise ClusterError(
            f"a worker has Priory {version()}, but this is {caller_version}, so features could differ: install the "
            "same version there"
        )
    return work(pickle.loads(pickled))  # noqa: S301 - as Dask itself does


def version() -> str:
    """Return a text that is equal on two machines only if they extract the same features."""
    return f"{__version__} (features {VERSION})"


@contextmanager
def _cluster_errors(name: str) -> Iterator[None]:
    """Turn Dask's errors into ClusterError."""
    from distributed import KilledWorker  # noqa: PLC0415 - loaded only if a cluster is used

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers of {name} ended, one after the other, during the same task: see "
            "their logs for the cause, such as too little memory, then run the command again to continue"
        ) from None
    except (asyncio.CancelledError, concurrent.futures.CancelledError, OSError) as error:
        raise ClusterError(
            f"the connection to {name} is lost ({_one_line(error)}): check that it runs, then run the command again "
            "to continue"
        ) from None
    except (ImportError, AttributeError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "deserialization" not in str(error):
            raise
        raise ClusterError(
            f"{name} lacks a package ({_one_line(error)}): install the same versions of Priory and Dask there as here"
        ) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextmanager
def _start_local(n_workers: int) -> Iterator["Client"]:
    """Start worker processes on this machine; they end with this process, however it ends."""
    import dask  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="priory-cluster-"))
        stack.enter_context(dask.config.set(_LOCAL_SETTINGS))
        with _blocked_interrupt():
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
def _blocked_interrupt() -> Iterator[None]:
    """Block SIGINT while threads and processes start, so that they inherit the mask; only this thread handles it.

    A terminal sends SIGINT to all processes, and a worker that receives it while starting ends the whole cluster.
    """
    resource_tracker.ensure_running()  # before blocking, because starting it unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _connect(address: str) -> Iterator["Client"]:
    from distributed import Client, Security  # noqa: PLC0415
    from distributed.utils import silence_logging_cmgr  # noqa: PLC0415

    is_encrypted = urlsplit(address).scheme in {"tls", "wss"}
    if is_encrypted and Security().get_connection_args("client")["ssl_context"] is None:
        raise ClusterError(
            f"{address} needs certificates, and Dask's configuration names none: "
            "https://distributed.dask.org/en/stable/tls.html"
        )
    try:
        client = Client(address, timeout=WAIT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}: {_one_line(error)}; start one with dask scheduler, and use "
            "tcp://HOST:8786"
        ) from None
    with silence_logging_cmgr(logging.CRITICAL), client:  # errors are reported once, as ClusterError
        try:
            client.wait_for_workers(1, timeout=WAIT_S)
        except OSError:  # includes a timeout
            raise ClusterError(
                f"{address} has no workers, and none came within {WAIT_S:g} s: start some with: dask worker {address}"
            ) from None
        client.direct_to_workers = _can_reach_workers(client)
        yield client


def _can_reach_workers(client: "Client") -> bool:
    """Tell whether workers can be reached directly; otherwise their results come through the scheduler."""
    worker = urlsplit(next(iter(client.nthreads())))
    try:
        socket.create_connection((worker.hostname, worker.port or 0), _CONNECT_S).close()
    except OSError:
        return False
    return True
