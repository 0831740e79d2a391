"""Other processes that work ahead of this one: results in order, never too many, and no process outlives its use.

A worker is a fork of this process with two pipes: batches in, results out. A fork is ready in a few milliseconds, where
a new interpreter takes a hundred, and needs nothing sent but the batches. It must not touch what its parent has open
and could change, a database above all; so `start` is entered in the worker, to open there what the work needs.

A worker whose parent is gone, however it went, reads the end of its batches, and ends. Ctrl-C is the parent's to hear.
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

from priory.forking import forked

AHEAD: Final = 8  #: batches that are under way for each worker, enough for while a group of lessons is learned
PIPE_BYTES: Final = 1024 * 1024
_SIZE_BYTES: Final = 8
_ours: Final[set[int]] = set()  # the parent's ends of all pipes: a worker that kept one would keep another from its end

_Start: TypeAlias = Callable[[], AbstractContextManager[Callable[[Any], Any]]]
Batch = TypeVar("Batch")
Result = TypeVar("Result")


class WorkerError(Exception):
    """A worker ended before its work was done; the text says how, and what to do."""


class Workers(Generic[Batch, Result]):
    """So many processes that each do the same work on one batch after the other.

    >>> from contextlib import nullcontext
    >>> with Workers(2, lambda: nullcontext(sorted)) as workers:
    ...     list(workers.ordered([[3, 1, 2], [5, 4]]))
    [[1, 2, 3], [4, 5]]
    """

    def __init__(self, jobs: int, start: Callable[[], AbstractContextManager[Callable[[Batch], Result]]]) -> None:
        self._crew: list[_Worker] = []
        try:
            for _ in range(jobs):
                self._crew.append(_Worker(start))
        except OSError as error:
            self.end()
            raise WorkerError(f"not all of {jobs} processes can be started: {error.strerror}; ask for fewer") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_how: object) -> None:
        self.end()

    def end(self) -> None:
        """End all workers; what they have not handed over is lost."""
        for worker in self._crew:
            worker.end()

    def ordered(self, batches: Iterable[Batch]) -> Iterator[Result]:
        """Yield the result of each batch, in their order; batches are taken no further ahead than is useful.

        What goes wrong, in a worker or with the batches, is raised after the results of all that came before.
        """
        rest = iter(batches)
        turns: deque[_Worker] = deque()  # whose result comes next
        wrong: Exception | None = None
        is_end = False
        while True:
            while not is_end and len(turns) < AHEAD * len(self._crew):
                try:
                    batch = next(rest)
                except StopIteration:
                    is_end = True
                except Exception as error:  # noqa: BLE001 - it has to wait for its turn
                    is_end, wrong = True, error
                else:
                    turns.append(self._idlest())
                    turns[-1].take(batch)
            if not turns:
                break
            worker = turns.popleft()
            while not worker.done:
                if worker.is_gone:
                    raise WorkerError(f"{worker.end()}; start again to go on")
                self._exchange()
            yield worker.done.popleft().result()
        if wrong is not None:
            raise wrong

    def _idlest(self) -> "_Worker":
        return min(self._crew, key=lambda worker: (worker.is_gone, worker.n_under_way))

    def _exchange(self) -> None:
        """Wait until there is something to read or room to write, and do so."""
        ready = select.poll()
        for worker in self._crew:
            if not worker.is_gone:
                ready.register(worker.results, select.POLLIN)
                if worker.unsent:
                    ready.register(worker.batches, select.POLLOUT)
        able = {descriptor for descriptor, _ in ready.poll()}
        for worker in self._crew:
            if worker.batches in able:
                worker.send()
            if worker.results in able:
                worker.receive()


class _Done:
    """A result, or what was raised instead."""

    def __init__(self, value: Any, error: Exception | None = None) -> None:
        self.value = value
        self.error = error

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self, start: _Start) -> None:
        theirs_in, self.batches = os.pipe()
        try:
            self.results, theirs_out = os.pipe()
        except OSError:
            os.close(theirs_in)
            os.close(self.batches)
            raise
        self.unsent: deque[memoryview] = deque()
        self.done: deque[_Done] = deque()
        self.n_under_way = 0
        self.is_gone = False
        self._size = bytearray(_SIZE_BYTES)
        self._arriving: memoryview | None = None
        self._missing = memoryview(self._size)
        for end in (theirs_in, theirs_out):
            with suppress(OSError):  # a smaller pipe only waits more often
                fcntl(end, F_SETPIPE_SZ, PIPE_BYTES)
        for end in (self.batches, self.results):
            os.set_blocking(end, False)
        _ours.update((self.batches, self.results))
        try:
            self._process: int | None = forked(lambda: _live(start, theirs_in, theirs_out))
        except OSError:
            self._let_go()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def take(self, batch: object) -> None:
        self.n_under_way += 1
        self.unsent.append(memoryview(_sized(batch)))
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
        """Read all that is there: sizes and what they announce, in turn."""
        try:
            while n_read := os.readv(self.results, [self._missing]):
                self._missing = self._missing[n_read:]
                if not self._missing:
                    self._arrived()
        except BlockingIOError:
            return
        self.is_gone = True

    def _arrived(self) -> None:
        if self._arriving is None:
            self._arriving = memoryview(bytearray(int.from_bytes(self._size, "little")))
            self._missing = self._arriving
        else:
            self.done.append(_of_bytes(self._arriving))
            self.n_under_way -= 1
            self._arriving, self._missing = None, memoryview(self._size)

    def end(self) -> str:
        """Let go of the process and wait for its end; return what became of it."""
        if self._process is None:
            return "a worker process has ended"
        self._let_go()
        if self.n_under_way and not self.is_gone:
            os.kill(self._process, signal.SIGKILL)  # it has nothing to lose; one that waits for work ends by itself
        _, status = os.waitpid(self._process, 0)
        self._process, self.is_gone = None, True
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"a worker process {how}"

    def _let_go(self) -> None:
        for end in (self.batches, self.results):
            _ours.discard(end)
            os.close(end)


def _live(start: _Start, batches: int, results: int) -> None:
    """What the child does, all its life."""
    while _ours:
        os.close(_ours.pop())
    with suppress(BrokenPipeError):  # the parent has ended
        _serve(start, batches, results)


def _serve(start: _Start, batches: int, results: int) -> None:
    work: Callable[[Any], Any] | None = None
    with ExitStack() as opened:
        requests = opened.enter_context(open(batches, "rb"))
        while size := requests.read(_SIZE_BYTES):
            try:
                batch = _of_bytes(requests.read(int.from_bytes(size, "little")))
                work = work or opened.enter_context(start())
                done = _Done(work(batch))
            except Exception as error:  # noqa: BLE001 - it is the parent's to raise
                error.add_note(f"in a worker:\n{traceback.format_exc()}")
                done = _Done(None, error)
            left = memoryview(_sized(done))
            while left:
                left = left[os.write(results, left) :]


def _sized(thing: object) -> bytes:
    """Return something as bytes, with their number before them."""
    import pickle  # noqa: PLC0415 - a quick start where there are no workers

    plain = pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    return len(plain).to_bytes(_SIZE_BYTES, "little") + plain


def _of_bytes(plain: bytes | memoryview) -> Any:
    import pickle  # noqa: PLC0415

    return pickle.loads(plain)  # noqa: S301 - from a process of ours
