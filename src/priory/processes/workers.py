"""Worker processes that work ahead of this one and return results in order.

A worker is a fork of this process with two pipes: batches in, results out. A fork is ready in a few milliseconds, where
a new interpreter takes a hundred, and needs no data but the batches. It must not use resources that its parent has
open, above all a database. So the worker itself calls `start`, which opens what the work needs.

When the parent ends, for whatever reason, the pipe of batches ends, and the worker exits. Workers ignore SIGINT.
"""

import os
import select
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from fcntl import F_SETPIPE_SZ, fcntl
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar

from priory.processes.fork import fork_child

AHEAD: Final = 8  #: batches sent to each worker in advance, enough for the time in which a group is learned
PIPE_BYTES: Final = 1024 * 1024
_SIZE_BYTES: Final = 8
_parent_ends: Final[set[int]] = set()  # of all pipes; workers close them, or other workers would never see the end

_Start: TypeAlias = Callable[[], AbstractContextManager[Callable[[Any], Any]]]
Batch = TypeVar("Batch")
Result = TypeVar("Result")


class WorkerError(Exception):
    """A worker ended before its work was done; the text names the cause and the remedy."""


class Workers(Generic[Batch, Result]):
    """A number of processes that do the same work, each on one batch after the other.

    >>> from contextlib import nullcontext
    >>> with Workers(2, lambda: nullcontext(sorted)) as workers:
    ...     list(workers.ordered([[3, 1, 2], [5, 4]]))
    [[1, 2, 3], [4, 5]]
    """

    def __init__(self, jobs: int, start: Callable[[], AbstractContextManager[Callable[[Batch], Result]]]) -> None:
        self._workers: list[_Worker] = []
        try:
            for _ in range(jobs):
                self._workers.append(_Worker(start))
        except OSError as error:
            self.end()
            raise WorkerError(f"cannot start {jobs} processes: {error.strerror}; use fewer") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """End all workers; results that they have not sent are lost."""
        for worker in self._workers:
            worker.end()

    def ordered(self, batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield the results in the order of the batches, which are read only a little ahead.

        An error in a worker or in `batches` is raised after the results of all batches before it.
        """
        rest = iter(batches)
        pending: deque[_Worker] = deque()  # the workers of the next results
        failure: Exception | None = None
        is_end = False
        while True:
            while not is_end and len(pending) < AHEAD * len(self._workers):
                try:
                    batch = next(rest)
                except StopIteration:
                    is_end = True
                except Exception as error:  # noqa: BLE001 - raised after the results before it
                    is_end, failure = True, error
                else:
                    pending.append(self._idlest())
                    pending[-1].take(batch)
            if not pending:
                break
            worker = pending.popleft()
            while not worker.outcomes:
                if worker.is_gone:
                    raise WorkerError(f"{worker.end()}; run the command again to continue")
                self._exchange()
            yield worker.outcomes.popleft().result()
        if failure is not None:
            raise failure

    def _idlest(self) -> "_Worker":
        return min(self._workers, key=lambda worker: (worker.is_gone, worker.n_pending))

    def _exchange(self) -> None:
        """Wait until a pipe is ready, then read results and write batches."""
        poll = select.poll()
        for worker in self._workers:
            if not worker.is_gone:
                poll.register(worker.results, select.POLLIN)
                if worker.unsent:
                    poll.register(worker.batches, select.POLLOUT)
        ready = {descriptor for descriptor, _ in poll.poll()}
        for worker in self._workers:
            if worker.batches in ready:
                worker.send()
            if worker.results in ready:
                worker.receive()


class _Outcome:
    """The result of a batch, or the exception that it raised."""

    def __init__(self, value: Any, error: Exception | None = None) -> None:
        self.value = value
        self.error = error

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class _Worker:
    """A worker process, as seen by its parent."""

    def __init__(self, start: _Start) -> None:
        child_in, self.batches = os.pipe()
        try:
            self.results, child_out = os.pipe()
        except OSError:
            os.close(child_in)
            os.close(self.batches)
            raise
        self.unsent: deque[memoryview] = deque()
        self.outcomes: deque[_Outcome] = deque()
        self.n_pending = 0
        self.is_gone = False
        self._size = bytearray(_SIZE_BYTES)
        self._arriving: memoryview | None = None
        self._missing = memoryview(self._size)
        for end in (child_in, child_out):
            with suppress(OSError):  # a smaller pipe works, too, but waits more often
                fcntl(end, F_SETPIPE_SZ, PIPE_BYTES)
        for end in (self.batches, self.results):
            os.set_blocking(end, False)
        _parent_ends.update((self.batches, self.results))
        try:
            self._process: int | None = fork_child(lambda: _run_worker(start, child_in, child_out))
        except OSError:
            self._close_pipes()
            raise
        finally:
            os.close(child_in)
            os.close(child_out)

    def take(self, batch: object) -> None:
        self.n_pending += 1
        self.unsent.append(memoryview(_pickle_with_size(batch)))
        self.send()

    def send(self) -> None:
        try:
            while self.unsent:
                self.unsent[0] = self.unsent[0][os.write(self.batches, self.unsent[0]) :]
                if not self.unsent[0]:
                    self.unsent.popleft()
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self.is_gone = True

    def receive(self) -> None:
        """Read all available data: sizes, each followed by that many bytes."""
        try:
            while n_read := os.readv(self.results, [self._missing]):
                self._missing = self._missing[n_read:]
                if not self._missing:
                    self._complete()
        except BlockingIOError:
            return
        self.is_gone = True

    def _complete(self) -> None:
        if self._arriving is None:
            self._arriving = memoryview(bytearray(int.from_bytes(self._size, "little")))
            self._missing = self._arriving
        else:
            self.outcomes.append(_unpickle(self._arriving))
            self.n_pending -= 1
            self._arriving, self._missing = None, memoryview(self._size)

    def end(self) -> str:
        """End the process, wait for it, and return a text about how it ended."""
        if self._process is None:
            return "a worker process has ended"
        self._close_pipes()
        if self.n_pending and not self.is_gone:
            os.kill(self._process, signal.SIGKILL)  # its results are not needed; an idle worker exits by itself
        _, status = os.waitpid(self._process, 0)
        self._process, self.is_gone = None, True
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"a worker process {how}"

    def _close_pipes(self) -> None:
        for end in (self.batches, self.results):
            _parent_ends.discard(end)
            os.close(end)


def _run_worker(start: _Start, batches: int, results: int) -> None:
    """Run in the child until the end of the batches."""
    while _parent_ends:
        os.close(_parent_ends.pop())
    with suppress(BrokenPipeError):  # the parent is gone
        _serve(start, batches, results)


def _serve(start: _Start, batches: int, results: int) -> None:
    work: Callable[[Any], Any] | None = None
    with ExitStack() as stack:
        requests = stack.enter_context(open(batches, "rb"))
        while size := requests.read(_SIZE_BYTES):
            try:
                batch = _unpickle(requests.read(int.from_bytes(size, "little")))
                work = work or stack.enter_context(start())
                outcome = _Outcome(work(batch))
            except Exception as error:  # noqa: BLE001 - raised in the parent
                error.add_note(f"in a worker:\n{traceback.format_exc()}")
                outcome = _Outcome(None, error)
            left = memoryview(_pickle_with_size(outcome))
            while left:
                left = left[os.write(results, left) :]


def _pickle_with_size(value: object) -> bytes:
    """Return a pickled value, preceded by its size."""
    import pickle  # noqa: PLC0415 - needed only for workers

    plain = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(plain).to_bytes(_SIZE_BYTES, "little") + plain


def _unpickle(plain: bytes | memoryview) -> Any:
    import pickle  # noqa: PLC0415

    return pickle.loads(plain)  # noqa: S301 - from our own process
