"""The master process: it binds the listeners, forks the workers, restarts them, and handles signals.

It opens no filter and answers no client, so there is little that could end it. Its processes belong to generations, one
per configuration: workers, and one process for HTTP if that is configured, for which no worker waits. On SIGHUP the
master reads the configuration again and starts a new generation. Once all of it is ready, the old one gets a signal to
retire, so connections are accepted at every moment. If the new generation cannot start, the old one goes on.

Signal handlers do nothing but write to a pipe (`signal.set_wakeup_fd`). All work is done in one loop that polls this
pipe and the children's pipes, so that no handler can interrupt a fork or a change to the tables.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from priory.decision import Costs
from priory.filter.options import Options
from priory.processes.confinement import missing_protections
from priory.processes.fork import fork_child
from priory.processes.log import log
from priory.server.daemon.generation import ChildProcess, Generation
from priory.server.daemon.listeners import Listener
from priory.server.daemon.long_messages import read_long_messages
from priory.server.daemon.worker import work
from priory.server.http.state import Daemon
from priory.server.metrics.history import HistoryRecorder
from priory.server.metrics.names import (
    COSTS,
    HTTP,
    LONG,
    READY,
    ROLES,
    WORKER,
    add_labels,
    costs_fingerprint,
    scoreboard,
)
from priory.server.options import DRAIN_S, RETIRE, ServeOptions

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
#: Seconds to wait after a process failed to start. Starting the HTTP process takes half a second of a core.
_RETRY_S: Final = {WORKER: 1.0, HTTP: 3.0, LONG: 1.0}
_STOP_TIMEOUT_S: Final = DRAIN_S + 25  # for children that have to stop: they may be learning


class Master:
    """A daemon for one home; `read` returns the current configuration, `set_costs` changes it."""

    def __init__(
        self, home: Path, read: Callable[[], tuple[Options, ServeOptions]], set_costs: Callable[[Costs], str]
    ) -> None:
        self._home = home
        self._read = read
        self._set_costs = set_costs
        self._current: Generation | None = None  # serves
        self._next: Generation | None = None  # starts, and is to replace the current one
        self._leaving: dict[int, int] = {}  # processes that have to stop or retire, each with its slot
        self._process = os.getpid()
        self._started = time.time()
        # The shared memory of the scoreboard must exist before the first fork.
        self._board = scoreboard()
        self._tally = self._board.tally(self._board.take())
        self._retry_at = dict.fromkeys(ROLES, 0.0)  # per role: a failing one delays no other
        self._status: int | None = None  # the exit status, once the daemon is to stop
        # Only the master holds the writing end of this pipe. However the master ends, the kernel closes that end, and
        # the children, which watch the reading end, stop.
        self._alive, self._alive_writer = os.pipe()
        self._signals, self._signals_writer = os.pipe()
        # The queue of long messages lasts for all generations: workers that retire may still have some. The master
        # keeps both ends, so that messages in the queue survive the process that reads them.
        self._long_queue, self._long_writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._long_queue.setblocking(False)
        self._long_writer.setblocking(False)
        self._long_process: int | None = None  # the process that reads long messages, unless it has to end

    def run(self) -> int:
        """Serve until told to stop; return the exit status. Raises ListenError if it cannot listen."""
        with _signals_written_to(self._signals_writer):
            options, serving = self._read()
            self._next = Generation(options, serving, self._bind(serving, []))
            add_labels(self._board, options.labels)
            store = {"store": options.store.name} if options.store else {}
            log("starting", home=self._home, **store, workers=serving.workers)
            _log_listening(self._next.listeners)
            if missing := missing_protections():
                log("not fully confined", missing=repr(", ".join(missing)))
            self._start_missing(self._next)
            while self._status is None:
                self._handle_events()
            return self._stop(self._status)

    def _handle_events(self) -> None:
        """Sleep until something happens, and handle it."""
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        if self._current is not None and self._may_start_long_process():
            poll.register(self._long_queue, select.POLLIN)
        for generation in self._generations():
            for child in generation.children.values():
                if child.ready_pipe is not None:
                    poll.register(child.ready_pipe, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll(self._retry_ms())}
        for generation in self._generations():
            self._read_ready_pipes(generation, readable)
        if self._signals in readable:
            numbers = set(os.read(self._signals, 4096))
            if signal.SIGCHLD in numbers:
                self._reap()
            if signal.SIGHUP in numbers:
                self._reload()
            if numbers & {signal.SIGTERM, signal.SIGINT}:
                self._status = 0
        self._replace_current_if_ready()
        for generation in self._generations():
            if self._status is None:
                self._start_missing(generation)
        if self._current is not None and self._long_queue.fileno() in readable:
            self._start_role(self._current, LONG)
        self._count_ready()

    def _may_start_long_process(self) -> bool:
        return self._long_process is None and time.monotonic() >= self._retry_at[LONG]

    def _count_ready(self) -> None:
        self._tally.put(READY, self._current.n_workers_ready if self._current is not None else 0)

    def _retry_ms(self) -> float | None:
        """Return the milliseconds until the next missing process may be started; None if none is missing."""
        times = [self._retry_at[role] for generation in self._generations() for role in generation.missing_roles]
        if self._long_process is None and not self._may_start_long_process():
            times.append(self._retry_at[LONG])
        return max(0.0, min(times) - time.monotonic()) * 1000 if times else None

    def _generations(self) -> Iterator[Generation]:
        yield from (generation for generation in (self._current, self._next) if generation is not None)

    def _read_ready_pipes(self, generation: Generation, readable: set[int]) -> None:
        for child in generation.children.values():
            # The end of the file instead of a byte means that the child has died: SIGCHLD follows.
            if child.ready_pipe is not None and child.ready_pipe in readable and os.read(child.ready_pipe, 1):
                os.close(child.ready_pipe)
                child.ready_pipe = None

    def _start_missing(self, generation: Generation) -> None:
        """Start the processes that a generation lacks, except roles that failed a moment ago."""
        for role in generation.missing_roles:
            if time.monotonic() >= self._retry_at[role]:
                self._start_role(generation, role)

    def _start_role(self, generation: Generation, role: str) -> None:
        try:
            self._start(generation, role)
        except OSError as error:
            log("error", what=repr(f"cannot start a process: {error.strerror}"))
            self._delay(role)

    def _delay(self, role: str) -> None:
        self._retry_at[role] = time.monotonic() + _RETRY_S[role]

    def _start(self, generation: Generation, role: str) -> None:
        slot = self._board.take()
        try:
            reader, writer = os.pipe()
            child = ChildProcess(role, slot, reader)
            try:
                process = fork_child(lambda: self._run_child(generation, child, writer), ignored=(signal.SIGHUP,))
            except OSError:
                os.close(reader)
                raise
            finally:
                os.close(writer)
        except OSError:
            self._board.release(slot)
            raise
        generation.children[process] = child
        if role == LONG:
            self._long_process = process

    def _run_child(self, generation: Generation, child: ChildProcess, ready: int) -> None:
        """Run in the fork, until it exits."""
        # Close the master's descriptors. A child that kept the writing end of the alive pipe would never see the master
        # die, and one that kept a listener would hold its port after a reload.
        for descriptor in (self._alive_writer, self._signals, self._signals_writer, child.ready_pipe):
            if descriptor is not None:
                os.close(descriptor)
        needed = generation.listeners_of(child.role)
        for other in self._generations():
            for sibling in other.children.values():
                if sibling.ready_pipe is not None:
                    os.close(sibling.ready_pipe)
            for listener in other.listeners:
                if listener not in needed:
                    listener.close()
        if child.role != LONG:
            self._long_queue.close()
        if child.role != WORKER:
            self._long_writer.close()
        sockets, tally = generation.sockets(child.role), self._board.tally(child.slot)
        if child.role == LONG:
            read_long_messages(self._home, generation.options, generation.serving, self._long_queue, ready)
        elif child.role == HTTP:
            from priory.server.http.process import serve  # noqa: PLC0415 - only this process needs FastAPI and uvicorn

            daemon = Daemon(
                self._home,
                generation.serving,
                self._board,
                self._started,
                generation.options,
                tally,
                self._alive,
                self._process,
                self._set_costs,
            )
            serve(daemon, list(sockets), ready, self._alive)
        else:
            work(
                self._home,
                generation.options,
                generation.serving,
                sockets,
                tally,
                self._long_writer,
                ready,
                self._alive,
            )

    def _reap(self) -> None:
        """Wait for the processes that have ended, and decide what follows.

        Several SIGCHLD may arrive as one signal, so the status of every process is read.
        """
        for generation in list(self._generations()):
            failed_roles = set()
            for process, how in _ended(generation.children):
                child = generation.children.pop(process)
                self._board.release(child.slot)
                if process == self._long_process:
                    self._long_process = None
                # The process for long messages exits by itself when none have come for a while.
                if child.role != LONG or not child.is_ready or how.get("status") != 0:
                    log(f"{child.role} ended", **{child.role: process}, **how)
                    if generation is self._current:
                        self._tally.add(("restarts", child.role))
                if child.ready_pipe is not None:
                    os.close(child.ready_pipe)
                    failed_roles.add(child.role)
                if not child.is_ready or child.role == HTTP:
                    self._delay(child.role)
            # At the first start mail does not wait for HTTP. A later generation replaces the current one only if all of
            # it starts.
            if generation is self._next and failed_roles & ({WORKER} if self._current is None else {WORKER, HTTP}):
                self._give_up(generation)
        for process, how in _ended(self._leaving):
            if process == self._long_process:
                self._long_process = None
            self._board.release(self._leaving.pop(process))
            if how.get("signal") not in {None, signal.SIGTERM.name, RETIRE.name}:  # from us, before it was ready
                log("process ended", process=process, **how)

    def _give_up(self, generation: Generation) -> None:
        """Drop the next generation, which cannot start; exit if there is no other."""
        self._next = None
        self._dismiss(generation, signal.SIGTERM)
        if self._current is None:
            self._status = 1
        else:
            self._tally.add(("reloads", "failed"))
            log("reload failed", serving="as before")
            _notify_systemd("READY=1")

    def _reload(self) -> None:
        """Read the configuration again and start a generation with it, in place of one that is still starting."""
        _notify_systemd("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        log("reloading")
        bound = [listener for generation in self._generations() for listener in generation.listeners]
        try:
            options, serving = self._read()
            generation = Generation(options, serving, self._bind(serving, bound))
            add_labels(self._board, options.labels)  # before the fork: a child knows the keys that it was forked with
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the configuration, the daemon goes on
            self._tally.add(("reloads", "failed"))
            log("reload failed", why=repr(str(error)))
            if self._next is None:
                _notify_systemd("READY=1")
            return
        _log_listening(listener for listener in generation.listeners if listener not in bound)
        before, self._next = self._next, generation
        if before is not None:
            self._dismiss(before, signal.SIGTERM)
        self._retry_at = dict.fromkeys(ROLES, 0.0)  # the administrator may have removed the cause
        self._start_missing(generation)

    def _replace_current_if_ready(self) -> None:
        """Once the next generation is ready, let the current one retire."""
        if self._next is None or not self._next.is_ready:
            return
        before, self._current, self._next = self._current, self._next, None
        if before is not None:
            self._dismiss(before, RETIRE)
            self._tally.add(("reloads", "done"))
        self._tally.put(COSTS, costs_fingerprint(self._current.options.costs))
        self._count_ready()
        log("ready", workers=self._current.serving.workers)
        _notify_systemd("READY=1", f"MAINPID={os.getpid()}")

    def _dismiss(self, generation: Generation, how: signal.Signals) -> None:
        """Send a signal to the processes of a generation, and close the listeners that only it has used."""
        in_use = [listener for other in self._generations() for listener in other.listeners]
        # Remove the path first: no client may connect after the processes have stopped accepting.
        for listener in generation.listeners:
            if listener not in in_use:
                listener.hide()
        for process, child in generation.children.items():
            self._leaving[process] = child.slot
            if child.role == LONG and how == RETIRE:
                self._long_process = None
            if child.role != LONG or how == RETIRE:  # while workers stop, they may need it; it ends after them
                os.kill(process, how)  # the id is still this child's: only this process waits for it
            if child.ready_pipe is not None:
                os.close(child.ready_pipe)
        for listener in generation.listeners:
            if listener not in in_use:
                listener.close()

    def _bind(self, serving: ServeOptions, bound: list[Listener]) -> list[Listener]:
        """Return a listener for each configured address; those that are bound already are used again."""
        existing = {(listener.address, listener.protocol): listener for listener in bound}
        home_socket = str(self._home / "socket")
        wanted = [(address, "spamd") for address in (home_socket, *serving.spamd)]
        wanted += [(address, "milter") for address in serving.milter]
        wanted += [(address, HTTP) for address in serving.http]
        listeners: list[Listener] = []
        try:
            for place in dict.fromkeys(wanted):
                listeners.append(existing.get(place) or Listener(*place, private=place[0] == home_socket))  # noqa: PERF401
        except Exception:
            for listener in listeners:
                if listener not in bound:
                    listener.hide()
                    listener.close()
            raise
        return listeners

    def _stop(self, status: int) -> int:
        """Let the processes finish their requests; kill those that take too long."""
        _notify_systemd("STOPPING=1")
        log("stopping")
        for process in self._leaving:  # retiring processes have to hurry
            os.kill(process, signal.SIGTERM)
        generations = list(self._generations())
        self._current = self._next = None
        for generation in generations:
            self._dismiss(generation, signal.SIGTERM)
        end = time.monotonic() + _STOP_TIMEOUT_S
        self._long_writer.close()  # so the queue ends with the last worker
        while self._leaving and time.monotonic() < end:
            if select.select([self._signals], [], [], 0.1)[0]:
                os.read(self._signals, 4096)
            self._reap()
            if generations and self._may_start_long_process() and _has_packet(self._long_queue):
                self._start_role(generations[0], LONG)
                if self._long_process is not None:
                    self._leaving[self._long_process] = generations[0].children[self._long_process].slot
        for process in self._leaving:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        if any(generation.serving.http for generation in generations):
            # The HTTP process records the history. Workers may have counted more after it had ended.
            HistoryRecorder(self._home, self._board, self._started).record()
        log("stopped")
        return status


def _has_packet(queue: socket.socket) -> bool:
    """Tell whether something waits in a queue, which may have ended."""
    try:
        return bool(queue.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def _log_listening(listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        for name in listener.names:
            log("listening", on=name, protocol=listener.protocol)


def _ended(processes: Iterable[int]) -> list[tuple[int, dict[str, object]]]:
    """Return the children that have ended, each with its exit status or the signal that ended it.

    Their process ids are released.
    """
    ended: list[tuple[int, dict[str, object]]] = []
    for process in processes:
        try:
            process_ended, status = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            ended.append((process, {}))
            continue
        if process_ended:
            code = os.waitstatus_to_exitcode(status)
            ended.append((process, {"status": code} if code >= 0 else {"signal": _signal_name(-code)}))
    return ended


def _signal_name(number: int) -> str:
    """Return the name of a signal; real-time signals have only numbers."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


@contextmanager
def _signals_written_to(pipe: int) -> Iterator[None]:
    """Have the numbers of signals written to a pipe, and restore the handlers afterwards."""
    os.set_blocking(pipe, False)  # if it is full, the signals that it holds wake the loop anyway
    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    pipe_before = signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(pipe_before)
        for number, handler in before.items():
            signal.signal(number, handler)


def _notify_systemd(*lines: str) -> None:
    """Send lines such as READY=1 to systemd, if it has set NOTIFY_SOCKET; nothing depends on their arrival."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            # An address that begins with @ is in Linux's abstract namespace, which has a NUL there.
            sender.sendto("\n".join(lines).encode(), address.replace("@", "\0", 1) if address[0] == "@" else address)
