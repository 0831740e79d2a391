"""The milter protocol: a mail server asks about each message while it receives it, and marks, holds or refuses it.

Whatever error occurs here, the mail server gets an answer: at worst the message is marked as unchecked.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from priory.filter.headers import OURS
from priory.processes.log import log, log_error
from priory.server.metrics.names import CHECK_TIMES
from priory.server.metrics.scoreboard import ProcessTally
from priory.server.options import DRAIN_S, Action
from priory.server.protocols.connection import Connection, Stage
from priory.server.protocols.milter_answer import UNCHECKED, MilterAnswer
from priory.wire.milter import ACCEPT, CONTINUE, Begun, BrokenError, Milter, MilterMessage, reject_packet

#: Returns what is to be done with a message, or a future for it.
JudgeFunction: TypeAlias = Callable[[MilterMessage], "MilterAnswer | asyncio.Future[MilterAnswer]"]
#: Forged header fields to remove at most. A server may read all headers for each: 20,000 took Postfix 90 seconds.
MAX_REMOVED: Final = 500
_SILENCE_S: Final = 3600.0  # a mail server keeps its connection as long as its own client is connected


class MilterConnection(Connection):
    """A connection from a mail server, for any number of messages."""

    protocol = "milter"

    def __init__(
        self,
        max_bytes: int,
        judge: JudgeFunction,
        tally: ProcessTally,
        on_closed: Callable[[Connection], None],
        *,
        checks_authenticated: bool = False,
    ) -> None:
        super().__init__(tally, on_closed)
        self._judge = judge
        self._checks_authenticated = checks_authenticated
        self._milter = Milter(max_bytes, watched=OURS)
        self._is_clogged = False  # the server does not read its answers

    @property
    def makes_way(self) -> bool:
        """Whether it may be closed for others: a mail server, which has negotiated, checks no further mail if it is."""
        return not self._milter.has_negotiated

    def hurry(self) -> None:
        """Close the connection, but only between two messages."""
        super().hurry()
        if self._milter.is_between_messages and self.stage is not Stage.WORKING:
            self._close()

    def patience(self, timeout: float) -> float:
        """Return the seconds for which a server may be silent; it has limits of its own."""
        if self.stage is Stage.WORKING or not self._milter.has_negotiated:
            return super().patience(timeout)
        return DRAIN_S if self._is_hurried else _SILENCE_S

    def expire(self) -> None:
        """End the connection of a server that is silent for too long."""
        self._tally.add(("refused", "milter", "timeout"))
        super().expire()

    def pause_writing(self) -> None:
        """Read nothing from a server until it has read its answers, so that they do not fill the memory."""
        self._is_clogged = True
        self._read_if_possible()

    def resume_writing(self) -> None:
        """Read again."""
        self._is_clogged = False
        self._read_if_possible()

    def _read_if_possible(self) -> None:
        """Read unless the server has answers to read, or waits for one."""
        assert self._transport is not None
        if self._is_clogged or self.stage is Stage.WORKING:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Answer what the server has sent."""
        self._reach(Stage.RECEIVING)
        try:
            answer, decision = self._milter.receive(data)
            while decision is not None:
                self._decide(answer, decision)
                if self.stage is Stage.WORKING:  # the server waits; what it has sent already is read after the answer
                    return
                answer, decision = self._milter.receive(b"")
        except BrokenError as error:
            self._tally.add(("refused", "milter", "malformed"))
            log("refused", why=repr(str(error)))
            self._close()
            return
        self._write(answer)
        if self._milter.is_over:
            self._close()

    def _decide(self, before: bytes, decision: Begun | MilterMessage) -> None:
        if isinstance(decision, MilterMessage):
            self._answer(before + self._removal(decision), decision)
            return
        is_exempt = bool(decision.macros.get("auth_authen")) and not self._checks_authenticated
        if is_exempt:
            self._tally.add(("unchecked", "milter", "authenticated"))
        self._write(before + (ACCEPT if is_exempt else CONTINUE))

    def _removal(self, message: MilterMessage) -> bytes:
        """Return the commands that remove forged header fields."""
        if len(message.watched) > MAX_REMOVED:
            log("forged fields left", queue=_queue(message), fields=len(message.watched) - MAX_REMOVED)
        return self._milter.remove_fields(message.watched[:MAX_REMOVED])

    def _answer(self, before: bytes, message: MilterMessage) -> None:
        start = time.monotonic()
        try:
            answer = self._judge(message)
        except Exception as error:  # noqa: BLE001 - mail must flow whatever is wrong here
            answer = self._fail(message, error)
        if isinstance(answer, MilterAnswer):
            self._send(before, message, answer, start)
            return
        self._reach(Stage.WORKING)
        self._read_if_possible()
        answer.add_done_callback(lambda future: self._go_on(before, message, future, start))

    def _go_on(
        self, before: bytes, message: MilterMessage, future: "asyncio.Future[MilterAnswer]", start: float
    ) -> None:
        """Send an answer that has taken a while, and read again."""
        if future.cancelled():  # the worker exits, after the server has hung up
            return
        error = future.exception()
        self._reach(Stage.RECEIVING)
        self._send(before, message, self._fail(message, error) if error else future.result(), start)
        assert self._transport is not None
        if not self._transport.is_closing():
            self._read_if_possible()
            self.data_received(b"")

    def _fail(self, message: MilterMessage, error: BaseException) -> MilterAnswer:
        if not isinstance(error, Exception):
            raise error
        log_error(error, queue=_queue(message), bytes=message.n_bytes)
        return UNCHECKED

    def _send(self, before: bytes, message: MilterMessage, answer: MilterAnswer, start: float) -> None:
        seconds, n_bytes = time.monotonic() - start, message.n_bytes
        self._count(answer.label, answer.action, n_bytes, seconds)
        self._write(before + self._commands(answer))
        if self._is_hurried:
            self._close()
        log(
            "message",
            queue=_queue(message),
            bytes=n_bytes,
            verdict=answer.label or "unchecked",
            action=answer.action,
            us=round(seconds * 1e6),
        )

    def _commands(self, answer: MilterAnswer) -> bytes:
        """Return the commands that carry out an answer."""
        if answer.action is Action.REJECT:
            return reject_packet(f"this looks like {answer.label}; if it is not, please tell the postmaster")
        marks = self._milter.insert_fields(answer.fields)
        if answer.action is Action.QUARANTINE:
            reason = f"priory: {answer.label} with probability {answer.probability}"
            marks += self._milter.quarantine(reason)
        return marks + CONTINUE

    def _count(self, label: str, action: Action, n_bytes: int, seconds: float) -> None:
        tally = self._tally
        tally.add(("bytes", "milter"), n_bytes)
        tally.add(("actions", action))
        if label:
            tally.add(("checked", "milter", label))
            tally.time(CHECK_TIMES["milter"], seconds)
        else:
            tally.add(("unchecked", "milter", "error"))
            tally.add(("errors", "check"))


def _queue(message: MilterMessage) -> str:
    """Return the queue id of a message without characters that could break a line of the log."""
    return "".join(filter(str.isalnum, message.macros.get("i", "")))[:40]
