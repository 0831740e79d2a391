"""The process that administrators start and stop: it binds the listeners, forks the workers, and looks after them.

It opens no filter and answers nobody, so there is little that could end it. Workers come in crews, all of one
configuration. On SIGHUP the configuration is read again and a new crew started; once all of it is ready the old one
is told to retire, so there is always somebody who takes connections. A crew that cannot start changes nothing.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from priory.filter import Options
from priory.forking import forked
from priory.server.connection import DRAIN_S
from priory.server.listeners import Listener
from priory.server.log import log
from priory.server.notify import notify
from priory.server.options import Serving
from priory.server.worker import RETIRE, work

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_AGAIN_S: Final = 1.0  # after a worker could not start
_PATIENCE_S: Final = DRAIN_S + 25  # with workers that were told to stop: they may be learning


class Crew:
    """So many workers of one configuration, as their master sees them."""

    def __init__(self, options: Options, serving: Serving, listeners: list[Listener]) -> None:
        self.options = options
        self.serving = serving
        self.listeners = listeners
        self.workers: dict[int, int] = {}  #: by process, the pipe on which it says that it is ready; -1 if it did

    @property
    def sockets(self) -> dict[socket.socket, str]:
        """All that its workers take connections from, and what is spoken there."""
        return {each: listener.protocol for listener in self.listeners for each in listener.sockets}

    @property
    def is_short(self) -> bool:
        """Whether it lacks workers."""
        return len(self.workers) < self.serving.workers

    @property
    def is_ready(self) -> bool:
        """Whether it is whole and all have said that they are ready."""
        return not self.is_short and all(pipe == -1 for pipe in self.workers.values())


class Master:
    """A daemon for one home; `read` gives the configuration whenever it is asked."""

    def __init__(self, home: Path, read: Callable[[], tuple[Options, Serving]]) -> None:
        self._home = home
        self._read = read
        self._crew: Crew | None = None  # that serves
        self._next: Crew | None = None  # that is to take over
        self._leaving: set[int] = set()  # processes that were told to stop
        self._start_again_at = 0.0
        self._status: int | None = None  # to end with, once that is decided
        self._alive, self._held = os.pipe()
        self._woken, self._waking = os.pipe()

    def run(self) -> int:
        """Serve until told to stop; return the exit status. Raises ListenError if it cannot listen."""
        with _handled(self._waking):
            options, serving = self._read()
            self._next = Crew(options, serving, self._listening(serving, []))
            log("starting", home=self._home, workers=serving.workers)
            _announce(self._next.listeners)
            self._complete(self._next)
            while self._status is None:
                self._wait()
            return self._stop(self._status)

    def _wait(self) -> None:
        """Sleep until something happens, and see to it."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        for crew in self._crews():
            for pipe in crew.workers.values():
                if pipe != -1:
                    poll.register(pipe, select.POLLIN)
        happened = {end for end, _ in poll.poll(self._wait_ms())}
        for crew in self._crews():
            self._hear(crew, happened)
        if self._woken in happened:
            numbers = set(os.read(self._woken, 4096))
            if signal.SIGCHLD in numbers:
                self._bury()
            if signal.SIGHUP in numbers:
                self._reload()
            if numbers & {signal.SIGTERM, signal.SIGINT}:
                self._status = 0
        self._take_over()
        for crew in self._crews():
            if self._status is None and time.monotonic() >= self._start_again_at:
                self._complete(crew)

    def _wait_ms(self) -> float | None:
        is_short = any(crew.is_short for crew in self._crews())
        return max(0.0, self._start_again_at - time.monotonic()) * 1000 if is_short else None

    def _crews(self) -> Iterator[Crew]:
        yield from (crew for crew in (self._crew, self._next) if crew is not None)

    def _hear(self, crew: Crew, happened: set[int]) -> None:
        for process, pipe in crew.workers.items():
            if pipe in happened and os.read(pipe, 1):  # else it has ended, and will be found so
                os.close(pipe)
                crew.workers[process] = -1

    def _complete(self, crew: Crew) -> None:
        """Start as many workers as the crew lacks."""
        try:
            while crew.is_short:
                self._start_worker(crew)
        except OSError as error:
            log("error", what=repr(f"no process can be started: {error.strerror}"))
            self._start_again_at = time.monotonic() + _AGAIN_S

    def _start_worker(self, crew: Crew) -> None:
        ours, theirs = os.pipe()
        try:
            process = forked(lambda: self._become_worker(crew, ours, theirs), deaf_to=(signal.SIGHUP,))
        except OSError:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        crew.workers[process] = ours

    def _become_worker(self, crew: Crew, masters: int, ready: int) -> None:
        """What a fork does, all its life: it keeps nothing of its master's open but what it needs."""
        for end in (self._held, self._woken, self._waking, masters):
            os.close(end)
        for other in self._crews():
            for pipe in other.workers.values():
                if pipe != -1:
                    os.close(pipe)
            for listener in other.listeners:
                if listener not in crew.listeners:
                    listener.close()
        work(self._home, crew.options, crew.serving, crew.sockets, ready, self._alive)

    def _bury(self) -> None:
        """See which workers have ended, and what that means."""
        for crew in list(self._crews()):
            pipes = []
            for process in [each for each in crew.workers if _ended(each)]:
                pipes.append(crew.workers.pop(process))
                log("worker ended", worker=process)
            unready = [pipe for pipe in pipes if pipe != -1]
            for pipe in unready:
                os.close(pipe)
                self._start_again_at = time.monotonic() + _AGAIN_S
            if unready and crew is self._next:
                self._give_up(crew)
        self._leaving = {each for each in self._leaving if not _ended(each)}

    def _give_up(self, crew: Crew) -> None:
        """A crew that cannot start does not start."""
        self._next = None
        self._dismiss(crew, signal.SIGTERM)
        if self._crew is None:
            self._status = 1
        else:
            log("reload failed", serving="as before")
            notify("READY=1")

    def _reload(self) -> None:
        """Read the configuration again and start a crew with it, in place of one that is not ready yet."""
        notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        log("reloading")
        bound = [listener for crew in self._crews() for listener in crew.listeners]
        try:
            options, serving = self._read()
            crew = Crew(options, serving, self._listening(serving, bound))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the daemon goes on
            log("reload failed", why=repr(str(error)))
            if self._next is None:
                notify("READY=1")
            return
        _announce(listener for listener in crew.listeners if listener not in bound)
        before, self._next = self._next, crew
        if before is not None:
            self._dismiss(before, signal.SIGTERM)
        self._complete(crew)

    def _take_over(self) -> None:
        """Once the next crew is ready, let the one before it go."""
        if self._next is None or not self._next.is_ready:
            return
        before, self._crew, self._next = self._crew, self._next, None
        if before is not None:
            self._dismiss(before, RETIRE)
        log("ready", workers=self._crew.serving.workers)
        notify("READY=1", f"MAINPID={os.getpid()}")

    def _dismiss(self, crew: Crew, how: signal.Signals) -> None:
        """Tell the workers of a crew to stop, or to retire, and let go of what it alone listened on."""
        kept = [listener for other in self._crews() for listener in other.listeners]
        for listener in crew.listeners:
            if listener not in kept:
                listener.hide()
        for process, pipe in crew.workers.items():
            self._leaving.add(process)
            os.kill(process, how)  # it is there: nobody but us waits for it
            if pipe != -1:
                os.close(pipe)
        for listener in crew.listeners:
            if listener not in kept:
                listener.close()

    def _listening(self, serving: Serving, bound: list[Listener]) -> list[Listener]:
        """Bind what is to be listened on; what is bound already stays as it is."""
        there = {(listener.address, listener.protocol): listener for listener in bound}
        ours = str(self._home / "socket")
        wanted = [(address, "spamd") for address in (ours, *serving.spamd)]
        wanted += [(address, "milter") for address in serving.milter]
        listeners: list[Listener] = []
        try:
            for place in dict.fromkeys(wanted):
                listeners.append(there.get(place) or Listener(*place, private=place[0] == ours))  # noqa: PERF401
        except Exception:
            for listener in listeners:
                if listener not in bound:
                    listener.hide()
                    listener.close()
            raise
        return listeners

    def _stop(self, status: int) -> int:
        """Let the workers finish what they have begun."""
        notify("STOPPING=1")
        log("stopping")
        for process in self._leaving:
            os.kill(process, signal.SIGTERM)
        crews = list(self._crews())
        self._crew = self._next = None
        for crew in crews:
            self._dismiss(crew, signal.SIGTERM)
        end = time.monotonic() + _PATIENCE_S
        while self._leaving and time.monotonic() < end:
            if select.select([self._woken], [], [], 0.1)[0]:
                os.read(self._woken, 4096)
            self._bury()
        for process in self._leaving:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        log("stopped")
        return status


def _announce(listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        for name in listener.names:
            log("listening", on=name, protocol=listener.protocol)


def _ended(process: int) -> bool:
    """Tell whether a process of ours has ended; then it is gone for good."""
    try:
        return os.waitpid(process, os.WNOHANG)[0] == process
    except ChildProcessError:
        return True


@contextmanager
def _handled(waking: int) -> Iterator[None]:
    """Have the numbers of signals written to a pipe, and nothing else done about them."""
    os.set_blocking(waking, False)
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    woken_before = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in before.items():
            signal.signal(number, handler)
