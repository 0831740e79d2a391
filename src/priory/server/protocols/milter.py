"""The milter protocol: a mail server asks about each message while it receives it, and marks, holds or refuses it.

Whatever error occurs here, the mail server gets an answer: at worst the message is marked as unchecked.
"""

import time
from collections.abc import Callable
from typing import Final

from priory.filter.filter import Filter
from priory.filter.headers import OURS, fields
from priory.filter.prepare import Prepared
from priory.filter.verdict import Verdict, digits
from priory.processes.log import log, log_error
from priory.server.metrics.names import CHECK_TIMES
from priory.server.metrics.scoreboard import ProcessTally
from priory.server.options import DRAIN_S, Action, Policy
from priory.server.protocols.actions import cheapest_action
from priory.server.protocols.connection import Connection, Stage
from priory.wire.milter import ACCEPT, CONTINUE, Begun, BrokenError, Milter, MilterMessage, reject_packet

UNCHECKED: Final = [("X-Priory-Verdict", "unchecked")]
#: Forged header fields to remove at most. A server may read all headers for each: 20,000 took Postfix 90 seconds.
MAX_REMOVED: Final = 500
_SILENCE_S: Final = 3600.0  # a mail server keeps its connection as long as its own client is connected


class MilterConnection(Connection):
    """A connection from a mail server, for any number of messages."""

    protocol = "milter"
    makes_way = False

    def __init__(  # noqa: PLR0913, PLR0917 - all that it needs
        self,
        max_bytes: int,
        filter_: Filter,
        policy: Policy,
        tally: ProcessTally,
        on_closed: Callable[[Connection], None],
        record: Callable[[Prepared, Verdict], None] = lambda *_: None,
        spool: Callable[[bytes, Verdict], None] = lambda *_: None,
    ) -> None:
        super().__init__(tally, on_closed)
        self._record = record
        self._spool = spool
        self._milter = Milter(max_bytes, watched=OURS)
        self._filter = filter_
        self._policy = policy

    def hurry(self) -> None:
        """Close the connection, but only between two messages."""
        super().hurry()
        if self._milter.is_between_messages:
            self._close()

    def patience(self, timeout: float) -> float:  # noqa: ARG002 - the mail server has limits of its own
        """Return the seconds for which a server may be silent."""
        return DRAIN_S if self._is_hurried else _SILENCE_S

    def expire(self) -> None:
        """End the connection of a server that is silent for too long."""
        self._tally.add(("refused", "milter", "timeout"))
        super().expire()

    def pause_writing(self) -> None:
        """Read nothing from a server until it has read its answers, so that they do not fill the memory."""
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        assert self._transport is not None
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Answer what the server has sent."""
        self._reach(Stage.RECEIVING)
        try:
            answer, decision = self._milter.receive(data)
            while decision is not None:
                self._decide(answer, decision)
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
            self._answer(before, decision)
            return
        is_exempt = bool(decision.macros.get("auth_authen")) and not self._policy.checks_authenticated
        if is_exempt:
            self._tally.add(("unchecked", "milter", "authenticated"))
        self._write(before + (ACCEPT if is_exempt else CONTINUE))

    def _answer(self, before: bytes, message: MilterMessage) -> None:
        start, raw, queue = time.monotonic(), message.raw, _alphanumeric(message.macros.get("i", ""))
        forged = self._milter.remove_fields(message.watched[:MAX_REMOVED])
        if len(message.watched) > MAX_REMOVED:
            log("forged fields left", queue=queue, fields=len(message.watched) - MAX_REMOVED)
        try:
            prepared = self._filter.prepare(raw, located=True)
            verdict = self._filter.check(prepared, message.recipient)
            self._record(prepared, verdict)
            if not message.is_cut:  # part of a message is another message
                self._spool(raw, verdict)
            action, answer = self._act_on(verdict)
            label = verdict.label
        except Exception as error:  # noqa: BLE001 - mail must flow whatever is wrong here
            log_error(error, queue=queue, bytes=len(raw))
            action, answer, label = Action.MARK, self._milter.insert_fields(UNCHECKED) + CONTINUE, ""
        seconds = time.monotonic() - start
        self._count(label, action, len(raw), seconds)
        self._write(before + forged + answer)
        if self._is_hurried:
            self._close()
        us = round(seconds * 1e6)
        log("message", queue=queue, bytes=len(raw), verdict=label or "unchecked", action=action, us=us)

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

    def _act_on(self, verdict: Verdict) -> tuple[Action, bytes]:
        """Return the action for a message, and the commands that carry it out."""
        action = cheapest_action(self._policy, verdict)
        if action is Action.REJECT:
            return action, reject_packet(f"this looks like {verdict.label}; if it is not, please tell the postmaster")
        marks = self._milter.insert_fields(fields(verdict))
        if action is Action.QUARANTINE:
            marks += self._milter.quarantine(f"priory: {verdict.label} with probability {digits(verdict.probability)}")
        return action, marks + CONTINUE


def _alphanumeric(queue_id: str) -> str:
    """Return a queue id without characters that could break a line of the log."""
    return "".join(filter(str.isalnum, queue_id))[:40]
