"""A Dask cluster, as a crew that does work on one batch after the other.

Only so many batches are under way as keep all workers busy, and each is bounded, so the memory of a worker is bounded,
too. The next few results are fetched while the last one is used.
"""

import asyncio
import concurrent.futures
import pickle
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from priory.batches import Sizes
from priory.cluster import tasks
from priory.cluster.errors import ClusterError, explained

if TYPE_CHECKING:
    from concurrent.futures import Future as Fetched

    from distributed import Client, Future

AHEAD: Final = 3  #: batches that are under way for each thread of a worker
FETCHED: Final = 3  #: results that are fetched before they are asked for
#: To send a task takes Dask some milliseconds, so there is more in each than another process of this machine gets.
SIZES: Final = Sizes(most_messages=1024, most_bytes=4 * 1024 * 1024)

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class Cluster:
    """The workers of a Dask cluster."""

    sizes = SIZES

    def __init__(self, client: "Client", name: str, wait_s: float) -> None:
        self._client = client
        self._name = name
        self._wait_s = wait_s  # for workers to come back

    @property
    def n_threads(self) -> int:
        """How many pieces of work are done side by side."""
        with explained(self._name):
            return sum(self._client.nthreads().values())

    @contextmanager
    def ordered(self, work: Callable[[Batch], Result], these: Iterable[Batch]) -> Iterator[Iterator[Result]]:
        """Yield the result of each batch, in their order; batches are taken no further ahead than is useful."""
        with closing(self._ordered(work, these)) as results:
            yield results

    def _ordered(self, work: Callable[[Batch], Result], these: Iterable[Batch]) -> Generator[Result, None, None]:
        rest, under_way = _Rest(these), deque[_UnderWay]()
        common = self._sent(work)
        try:
            while True:
                most = AHEAD * max(self.n_threads, 1)
                for _ in range(most):
                    n_more = max(most - len(under_way), 0)  # some workers may be gone
                    under_way += [self._begun(common, batch) for batch in islice(rest, n_more)]
                    for each in islice(under_way, FETCHED):
                        each.fetch()
                    if not under_way:
                        rest.end()
                        return
                    yield self._result(under_way.popleft())
        finally:
            self._cancel(under_way)

    @contextmanager
    def unordered(self, work: Callable[[Batch], Result], these: Iterable[Batch]) -> Iterator[Iterator[Result]]:
        """Yield the result of each batch as soon as it is there; all of them are under way, and small."""
        with closing(self._unordered(work, these)) as results:
            yield results

    def _unordered(self, work: Callable[[Batch], Result], these: Iterable[Batch]) -> Generator[Result, None, None]:
        common = self._sent(work)
        under_way = [self._begun(common, batch) for batch in these]
        try:
            while under_way:
                there = self._await(under_way)
                under_way = [each for each in under_way if each not in there]
                yield from map(self._result, there)
        finally:
            self._cancel(under_way)

    def _sent(self, work: Callable[[Any], Any]) -> "Future":
        return self._submitted(tasks.itself, work)

    def _begun(self, common: "Future", batch: Any) -> "_UnderWay":
        return _UnderWay(self._client, self._submitted(tasks.done, tasks.version(), common, pickle.dumps(batch)))

    def _submitted(self, task: Callable[..., Any], *arguments: object) -> "Future":
        with explained(self._name), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # as all rows are, and a large message
            return self._client.submit(task, *arguments, pure=False)

    def _result(self, under_way: "_UnderWay") -> Any:
        self._await([under_way])
        with explained(self._name):
            return under_way.coming.result()

    def _await(self, under_way: "list[_UnderWay]") -> "set[_UnderWay]":
        """Wait for results and return whose are there; but not for ever where nobody is left to work."""
        lonely_since: float | None = None
        several = {each.coming: each for each in under_way}
        while not (there := _first_within(self._wait_s / 10, several)):
            now = time.monotonic()
            lonely_since = None if self.n_threads else lonely_since or now
            if lonely_since is not None and now - lonely_since > self._wait_s:
                lonely = f"{self._name} has had no workers for {self._wait_s:g} s"
                raise ClusterError(f"{lonely}: see their logs for why; start again to go on")
        return {several[each] for each in there}

    def _cancel(self, under_way: "Iterable[_UnderWay]") -> None:
        with suppress(Exception):  # there may be no one left to tell
            self._client.cancel([each.future for each in under_way], force=True)


def _first_within(seconds: float, several: "Iterable[Fetched[Any]]") -> "set[Fetched[Any]]":
    return concurrent.futures.wait(several, seconds, concurrent.futures.FIRST_COMPLETED).done


class _Rest:
    """Things that are still to come; what goes wrong with them has to wait for its turn."""

    def __init__(self, things: Iterable[Any]) -> None:
        self._things = iter(things)
        self._wrong: Exception | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._wrong is None:
            try:
                return next(self._things)
            except StopIteration:
                raise
            except Exception as error:  # noqa: BLE001 - it is raised at the end
                self._wrong = error
        raise StopIteration

    def end(self) -> None:
        """Raise what went wrong, if anything did."""
        if self._wrong is not None:
            raise self._wrong


class _UnderWay:
    """A batch that is being worked on."""

    def __init__(self, client: "Client", future: "Future") -> None:
        self.future = future
        self._client = client
        self._fetched: Fetched[Any] | None = None

    def fetch(self) -> None:
        """Let the result come as soon as it is there."""
        _ = self.coming

    @property
    def coming(self) -> "Fetched[Any]":
        """The result, which is being fetched."""
        if self._fetched is None:
            coming = self._client.gather(self.future, asynchronous=True)
            self._fetched = asyncio.run_coroutine_threadsafe(coming, self._client.loop.asyncio_loop)
        return self._fetched
