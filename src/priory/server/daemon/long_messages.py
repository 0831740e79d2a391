"""A process of its own for long messages, so that no worker is held by one.

A worker that has received a message of more than `LONG_BYTES` hands it on and goes on answering other clients. The
master starts the process when the first long message waits, and the process exits after a minute without any.

All workers share the writing end of one queue of packets. A packet has the size of a message and one end of a socket
pair, over which the worker sends the message and gets the answer. The process reads one message after the other, the
shortest first, so that an ordinary attachment waits for one huge message at most. A message that has waited for
`PATIENCE_S` is next, and its verdict is from its beginning. So however many long messages come, each gets an answer.

Messages and answers are pickled: both sides are processes of this daemon, with the same rights to the same home.
"""

import asyncio
import os
import pickle
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from priory.filter.filter import Filter
from priory.filter.options import Options
from priory.journal import JournalAwayError, JournalBusyError, JournalError
from priory.processes.confinement import ConfinementError
from priory.processes.fork import give_way
from priory.processes.log import log, log_error
from priory.server.daemon.mail_check import MailCheck
from priory.server.daemon.worker_rights import drop_rights
from priory.server.options import RETIRE, ServeOptions
from priory.server.protocols.spamd_answers import tell
from priory.server.spool_thread import SpoolThread
from priory.server.write_lock import write_lock
from priory.wire.milter import MilterMessage
from priory.wire.spamd import Refused, Request

LONG_BYTES: Final = 64 * 1024  #: a worker checks messages up to this size itself
PATIENCE_S: Final = 20.0  #: seconds after which the verdict on a waiting message is from its first LONG_BYTES
IDLE_S: Final = 60.0  #: seconds without long messages after which the process exits
NICENESS: Final = 10
JOB_CPU_S: Final = 300.0  #: processor time for one message; a process that takes more is killed by SIGPROF
GIVE_UP_S: Final = 240.0  #: seconds after which a worker answers without a verdict
_TRANSFER_S: Final = 10.0  # for a worker to send a message, or to take the answer: it may be busy, but not for long
_RETRY_S: Final = 0.05
_PACKET: Final = struct.Struct("=Qd")  # the bytes of the pickled message, and since when it waits
_BEGUN: Final = b"b"  # sent before a message is read, and then the answer: whoever gets nothing may try again

Job: TypeAlias = Request | MilterMessage


class LongMessageError(Exception):
    """A long message could not be read; the text says why."""


def length(job: Job) -> int:
    """Return the bytes of the message in a request, or from a mail server."""
    return len(job.body) if isinstance(job, Request) else job.n_bytes


class LongMessages:
    """The workers' side: hands long messages to the process that reads them, at most `most` at a time."""

    def __init__(self, queue: socket.socket, most: int) -> None:
        self._queue = queue
        self._most = most
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_full(self) -> bool:
        """Whether as many messages as allowed are waiting."""
        return len(self._tasks) >= self._most

    def submit(self, job: Job) -> "asyncio.Task[Any]":
        """Have a message read; the result is that of `LongMessageReader`, or the exception that it raised."""
        task = asyncio.get_running_loop().create_task(self._exchange(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _exchange(self, job: Job) -> Any:
        content, since = pickle.dumps(job, pickle.HIGHEST_PROTOCOL), time.monotonic()
        try:
            async with asyncio.timeout(GIVE_UP_S):
                # If the process dies before it has begun, another message was the cause.
                while not (reply := await self._send(content, since)):
                    await asyncio.sleep(_RETRY_S)
        except TimeoutError:
            raise LongMessageError("the long message was not read in time") from None
        if reply == _BEGUN:
            raise LongMessageError("the process that read the long message has died")
        result = pickle.loads(memoryview(reply)[1:])  # noqa: S301 - from our own process
        if isinstance(result, Exception):
            raise result
        return result

    async def _send(self, content: bytes, since: float) -> bytearray:
        """Send a message; return what comes back until the end."""
        loop, reply = asyncio.get_running_loop(), bytearray()
        ours, theirs = socket.socketpair()
        with ours:
            ours.setblocking(False)
            try:
                with theirs:
                    socket.send_fds(self._queue, [_PACKET.pack(len(content), since)], [theirs.fileno()])
                await loop.sock_sendall(ours, content)
                while data := await loop.sock_recv(ours, 256 * 1024):
                    reply += data
            except OSError:  # the queue is full, or the process has died
                pass
        return reply


@dataclass(slots=True)
class WaitingMessage:
    """A message that waits to be read."""

    n_bytes: int  #: as it is transferred
    since: float
    client: socket.socket

    def is_late(self, now: float) -> bool:
        """Tell whether it has waited for so long that only its beginning is read."""
        return now - self.since > PATIENCE_S


def take_next(waiting: list[WaitingMessage], now: float) -> WaitingMessage:
    """Remove and return the message to read next: the one that is late for longest, otherwise the shortest."""
    message = min(waiting, key=lambda one: (0, one.since) if one.is_late(now) else (1, one.n_bytes))
    waiting.remove(message)
    return message


def read_long_messages(home: Path, options: Options, serving: ServeOptions, queue: socket.socket, ready: int) -> None:
    """Read long messages until told to retire, until there are none for a while, or until all workers have ended."""
    give_way(NICENESS)
    try:
        drop_rights(home, options)
        with Filter.open(home, options) as filter_:
            filter_.check(b"")
            filter_.follow()
            spool = SpoolThread(home, options.spool)
            os.write(ready, b"r")
            LongMessageReader(filter_, MailCheck(filter_, serving.policy, spool.offer), queue).run()
            spool.close()
    except (JournalError, ConfinementError) as error:
        log("error", what=repr(str(error)))


class LongMessageReader:
    """Takes messages from the queue and reads one after the other."""

    def __init__(self, filter_: Filter, check: MailCheck, queue: socket.socket) -> None:
        self._filter = filter_
        self._check = check
        self._queue = queue
        self._waiting: list[WaitingMessage] = []
        self._is_ending = False

    def run(self) -> None:
        """Read messages until the end."""
        woken, waker = socket.socketpair()
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        for number in (RETIRE, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        poll = select.poll()
        for end in (woken, self._queue):
            poll.register(end, select.POLLIN)
        while self._waiting or not self._is_ending:
            readable = {descriptor for descriptor, _ in poll.poll(0 if self._waiting else IDLE_S * 1000)}
            if woken.fileno() in readable:
                woken.recv(4096)
                self._is_ending = True  # the next process takes what is still in the queue
            elif self._queue.fileno() in readable:
                self._is_ending = not self._take_waiting()
            elif not self._waiting:
                return
            if self._is_ending:
                poll = select.poll()
            if self._waiting:
                now = time.monotonic()
                self._read(take_next(self._waiting, now), now)

    def _take_waiting(self) -> bool:
        """Take all messages from the queue; tell whether more can come."""
        while True:
            try:
                packet, clients, _, _ = socket.recv_fds(self._queue, _PACKET.size, 1)
            except BlockingIOError:
                return True
            if not packet:
                return False
            if clients:
                n_bytes, since = _PACKET.unpack(packet)
                self._waiting.append(WaitingMessage(n_bytes, since, socket.socket(fileno=clients[0])))

    def _read(self, message: WaitingMessage, now: float) -> None:
        with message.client as client:
            client.settimeout(_TRANSFER_S)
            try:
                job = pickle.loads(_receive(client, message.n_bytes))  # noqa: S301 - from our own worker
                client.sendall(_BEGUN)
                signal.setitimer(signal.ITIMER_PROF, JOB_CPU_S)
                result = self._result(job, LONG_BYTES if message.is_late(now) else None)
                signal.setitimer(signal.ITIMER_PROF, 0)
                client.sendall(pickle.dumps(result, pickle.HIGHEST_PROTOCOL))
            except (OSError, EOFError):  # the worker has died, or does not take the answer
                pass

    def _result(self, job: Job, most_read: int | None) -> object:
        try:
            if most_read is not None:
                log("late", bytes=length(job), read=most_read)
            if isinstance(job, MilterMessage):
                return self._check.judge(job, most_read)
            if job.verb == "TELL":
                with write_lock(self._filter.home):
                    return tell(job, self._filter)
            return self._check.answer(job, most_read)
        except (Refused, JournalAwayError, JournalBusyError) as error:
            return error
        except Exception as error:  # noqa: BLE001 - an error must not affect other messages
            log_error(error, bytes=length(job))
            return LongMessageError("the long message could not be read; the error is in the log")


def _receive(client: socket.socket, n_bytes: int) -> bytearray:
    content = bytearray(n_bytes)
    left = memoryview(content)
    while left:
        n = client.recv_into(left)
        if not n:
            raise EOFError
        left = left[n:]
    return content
