"""The process that administrators start and stop: it binds the listeners, forks the workers, and looks after them.

It opens no filter and answers nobody, so there is little that could end it. Workers come in crews, all of one
configuration, each with a process for HTTP if that is set, which no worker waits for. On SIGHUP the configuration is
read again and a new crew started; once all of it is ready the old one is told to retire, so there is always somebody
who takes connections. A crew that cannot start changes nothing.
"""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from priory.decision import Costs
from priory.forking import forked
from priory.options import Options
from priory.server.connection import DRAIN_S
from priory.server.counted import COSTS, HTTP, READY, ROLES, WORKER, know, number_of, scoreboard
from priory.server.crew import Crew, Member
from priory.server.http.state import Daemon
from priory.server.listeners import Listener
from priory.server.log import log
from priory.server.notify import notify
from priory.server.options import Serving
from priory.server.recording import Recording
from priory.server.worker import RETIRE, work

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
#: After a process could not start, the next is. To start one for HTTP takes half a second of a core that mail may need.
_AGAIN_S: Final = {WORKER: 1.0, HTTP: 3.0}
_PATIENCE_S: Final = DRAIN_S + 25  # with workers that were told to stop: they may be learning


class Master:
    """A daemon for one home; `read` gives the configuration whenever it is asked, `set_costs` changes it."""

    def __init__(
        self, home: Path, read: Callable[[], tuple[Options, Serving]], set_costs: Callable[[Costs], str]
    ) -> None:
        self._home = home
        self._read = read
        self._set_costs = set_costs
        self._crew: Crew | None = None  # that serves
        self._next: Crew | None = None  # that is to take over
        self._leaving: dict[int, int] = {}  # processes that were told to stop, each with its slot
        self._process = os.getpid()
        self._started = time.time()
        self._board = scoreboard()
        self._tally = self._board.tally(self._board.take())
        self._start_again_at = dict.fromkeys(ROLES, 0.0)  # one that cannot start keeps no other waiting
        self._status: int | None = None  # to end with, once that is decided
        self._alive, self._held = os.pipe()
        self._woken, self._waking = os.pipe()

    def run(self) -> int:
        """Serve until told to stop; return the exit status. Raises ListenError if it cannot listen."""
        with _handled(self._waking):
            options, serving = self._read()
            self._next = Crew(options, serving, self._listening(serving, []))
            know(self._board, options.labels)
            store = {"store": options.store.name} if options.store else {}
            log("starting", home=self._home, **store, workers=serving.workers)
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
            for member in crew.members.values():
                if member.pipe != -1:
                    poll.register(member.pipe, select.POLLIN)
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
            if self._status is None:
                self._complete(crew)
        self._count_ready()

    def _count_ready(self) -> None:
        self._tally.put(READY, self._crew.workers_ready if self._crew is not None else 0)

    def _wait_ms(self) -> float | None:
        starts = [self._start_again_at[role] for crew in self._crews() for role in crew.lacking]
        return max(0.0, min(starts) - time.monotonic()) * 1000 if starts else None

    def _crews(self) -> Iterator[Crew]:
        yield from (crew for crew in (self._crew, self._next) if crew is not None)

    def _hear(self, crew: Crew, happened: set[int]) -> None:
        for member in crew.members.values():
            if member.pipe in happened and os.read(member.pipe, 1):  # else it has ended, and will be found so
                os.close(member.pipe)
                member.pipe = -1

    def _complete(self, crew: Crew) -> None:
        """Start the processes that the crew lacks, but none too soon after one of its kind could not start."""
        for role in crew.lacking:
            if time.monotonic() >= self._start_again_at[role]:
                try:
                    self._start(crew, role)
                except OSError as error:
                    log("error", what=repr(f"no process can be started: {error.strerror}"))
                    self._wait_with(role)

    def _wait_with(self, role: str) -> None:
        self._start_again_at[role] = time.monotonic() + _AGAIN_S[role]

    def _start(self, crew: Crew, role: str) -> None:
        slot = self._board.take()
        try:
            ours, theirs = os.pipe()
            member = Member(role, ours, slot)
            try:
                process = forked(lambda: self._become(crew, member, theirs), deaf_to=(signal.SIGHUP,))
            except OSError:
                os.close(ours)
                raise
            finally:
                os.close(theirs)
        except OSError:
            self._board.release(slot)
            raise
        crew.members[process] = member

    def _become(self, crew: Crew, member: Member, ready: int) -> None:
        """What a fork does, all its life: it keeps nothing of its master's open but what it needs."""
        for end in (self._held, self._woken, self._waking, member.pipe):
            os.close(end)
        needed = crew.listeners_of(member.role)
        for other in self._crews():
            for each in other.members.values():
                if each.pipe != -1:
                    os.close(each.pipe)
            for listener in other.listeners:
                if listener not in needed:
                    listener.close()
        sockets, tally = crew.sockets(member.role), self._board.tally(member.slot)
        if member.role == HTTP:
            from priory.server.http.process import show  # noqa: PLC0415 - what it needs, no other process loads

            daemon = Daemon(
                self._home,
                crew.serving,
                self._board,
                self._started,
                crew.options,
                tally,
                self._alive,
                self._process,
                self._set_costs,
            )
            show(daemon, list(sockets), ready, self._alive)
        else:
            work(self._home, crew.options, crew.serving, sockets, tally, ready, self._alive)

    def _bury(self) -> None:
        """See which processes have ended, and what that means."""
        for crew in list(self._crews()):
            unready = set()
            for process in [each for each in crew.members if _ended(each)]:
                member = crew.members.pop(process)
                log(f"{member.role} ended", **{member.role: process})
                self._board.release(member.slot)
                if crew is self._crew:
                    self._tally.add(("restarts", member.role))
                if member.pipe != -1:
                    os.close(member.pipe)
                    unready.add(member.role)
                if member.pipe != -1 or member.role == HTTP:
                    self._wait_with(member.role)
            # At the start mail does not wait for HTTP; later a crew that is not whole need not take over.
            if crew is self._next and unready & ({WORKER} if self._crew is None else {WORKER, HTTP}):
                self._give_up(crew)
        for process in [each for each in self._leaving if _ended(each)]:
            self._board.release(self._leaving.pop(process))

    def _give_up(self, crew: Crew) -> None:
        """A crew that cannot start does not start."""
        self._next = None
        self._dismiss(crew, signal.SIGTERM)
        if self._crew is None:
            self._status = 1
        else:
            self._tally.add(("reloads", "failed"))
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
            know(self._board, options.labels)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the daemon goes on
            self._tally.add(("reloads", "failed"))
            log("reload failed", why=repr(str(error)))
            if self._next is None:
                notify("READY=1")
            return
        _announce(listener for listener in crew.listeners if listener not in bound)
        before, self._next = self._next, crew
        if before is not None:
            self._dismiss(before, signal.SIGTERM)
        self._start_again_at = dict.fromkeys(ROLES, 0.0)  # who has mended something need not wait
        self._complete(crew)

    def _take_over(self) -> None:
        """Once the next crew is ready, let the one before it go."""
        if self._next is None or not self._next.is_ready:
            return
        before, self._crew, self._next = self._crew, self._next, None
        if before is not None:
            self._dismiss(before, RETIRE)
            self._tally.add(("reloads", "done"))
        self._tally.put(COSTS, number_of(self._crew.options.costs))
        self._count_ready()
        log("ready", workers=self._crew.serving.workers)
        notify("READY=1", f"MAINPID={os.getpid()}")

    def _dismiss(self, crew: Crew, how: signal.Signals) -> None:
        """Tell the processes of a crew to stop, or to retire, and let go of what it alone listened on."""
        kept = [listener for other in self._crews() for listener in other.listeners]
        for listener in crew.listeners:
            if listener not in kept:
                listener.hide()
        for process, member in crew.members.items():
            self._leaving[process] = member.slot
            os.kill(process, how)  # it is there: nobody but us waits for it
            if member.pipe != -1:
                os.close(member.pipe)
        for listener in crew.listeners:
            if listener not in kept:
                listener.close()

    def _listening(self, serving: Serving, bound: list[Listener]) -> list[Listener]:
        """Bind what is to be listened on; what is bound already stays as it is."""
        there = {(listener.address, listener.protocol): listener for listener in bound}
        ours = str(self._home / "socket")
        wanted = [(address, "spamd") for address in (ours, *serving.spamd)]
        wanted += [(address, "milter") for address in serving.milter]
        wanted += [(address, HTTP) for address in serving.http]
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
        if any(crew.serving.http for crew in crews):  # what was counted after the process for HTTP had ended
            Recording(self._home, self._board, self._started).look()
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
