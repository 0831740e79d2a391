"""A mail server that asks about each message while it arrives, and does with it what the verdict and the costs say.

Whatever goes wrong here, the message goes on: at worst it is marked as not checked.
"""

import time
from collections.abc import Callable
from typing import Final

from priory.filter import Filter
from priory.marking import OURS, fields
from priory.reading import Prepared
from priory.server.actions import action
from priory.server.connection import DRAIN_S, Connection, Stage, log_error
from priory.server.counted import CHECK_TIMES
from priory.server.log import log
from priory.server.options import Policy
from priory.server.scoreboard import Tally
from priory.verdict import Verdict, digits
from priory.wire.milter import ACCEPT, CONTINUE, Begun, BrokenError, Message, Milter, rejected

UNCHECKED: Final = [("X-Priory-Verdict", "unchecked")]
#: Forged fields that are removed. For each a server may read all headers: 20,000 kept a Postfix busy for 90 seconds.
MOST_REMOVED: Final = 500
_PATIENCE_S: Final = 3600.0  # a mail server keeps a connection as long as somebody talks to it


class MilterConnection(Connection):
    """A connection of a mail server, with any number of messages."""

    protocol = "milter"
    makes_way = False

    def __init__(  # noqa: PLR0913, PLR0917 - all that it is given
        self,
        most_bytes: int,
        filter_: Filter,
        policy: Policy,
        tally: Tally,
        gone: Callable[[Connection], None],
        certain: Callable[[Prepared, str], None] = lambda *_: None,
    ) -> None:
        super().__init__(tally, gone)
        self._certain = certain
        self._milter = Milter(most_bytes, watched=OURS)
        self._filter = filter_
        self._policy = policy

    def hurry(self) -> None:
        """Hang up between two messages; one that is under way is waited for."""
        super().hurry()
        if self._milter.is_between_messages:
            self._close()

    def patience(self, timeout: float) -> float:  # noqa: ARG002 - the server has a limit, too
        """Return how many seconds a server may be silent."""
        return DRAIN_S if self._is_hurried else _PATIENCE_S

    def expire(self) -> None:
        """Let go of a server that is silent for too long."""
        self._tally.add(("refused", "milter", "timeout"))
        super().expire()

    def pause_writing(self) -> None:
        """Hear nothing more from a server until it has read what it was told."""
        assert self._transport is not None
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        assert self._transport is not None
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Take what the server has sent, and answer it."""
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

    def _decide(self, before: bytes, decision: Begun | Message) -> None:
        if isinstance(decision, Message):
            self._answer(before, decision)
            return
        is_known = bool(decision.macros.get("auth_authen")) and not self._policy.checks_authenticated
        if is_known:
            self._tally.add(("unchecked", "milter", "authenticated"))
        self._write(before + (ACCEPT if is_known else CONTINUE))

    def _answer(self, before: bytes, message: Message) -> None:
        start, raw, queue = time.monotonic(), message.raw, _plain(message.macros.get("i", ""))
        forged = self._milter.removed(message.watched[:MOST_REMOVED])
        if len(message.watched) > MOST_REMOVED:
            log("forged fields left", queue=queue, fields=len(message.watched) - MOST_REMOVED)
        try:
            read = self._filter.prepare(raw)
            verdict = self._filter.check(read, message.recipient)
            if self._filter.would_learn(verdict) and not message.is_cut:  # a part would have another digest
                self._certain(read, verdict.label)
            done, answer = self._done(verdict)
            said = verdict.label
        except Exception as error:  # noqa: BLE001 - mail flows, whatever is wrong with us
            log_error(error, queue=queue, bytes=len(raw))
            done, answer, said = "mark", self._milter.inserted(UNCHECKED) + CONTINUE, ""
        seconds = time.monotonic() - start
        self._count(said, done, len(raw), seconds)
        self._write(before + forged + answer)
        if self._is_hurried:
            self._close()
        log("message", queue=queue, bytes=len(raw), verdict=said or "unchecked", action=done, us=round(seconds * 1e6))

    def _count(self, said: str, done: str, n_bytes: int, seconds: float) -> None:
        tally = self._tally
        tally.add(("bytes", "milter"), n_bytes)
        tally.add(("actions", done))
        if said:
            tally.add(("checked", "milter", said))
            tally.time(CHECK_TIMES["milter"], seconds)
        else:
            tally.add(("unchecked", "milter", "error"))
            tally.add(("errors", "check"))

    def _done(self, verdict: Verdict) -> tuple[str, bytes]:
        """Return what is done with a message, and how the server is told."""
        what = action(self._policy, verdict)
        if what == "reject":
            return what, rejected(f"this looks like {verdict.label}; if it is none, please tell the postmaster")
        marks = self._milter.inserted(fields(verdict))
        if what == "quarantine":
            marks += self._milter.quarantined(f"priory: {verdict.label} with probability {digits(verdict.probability)}")
        return what, marks + CONTINUE


def _plain(number: str) -> str:
    """A queue's number as it may stand in a log."""
    return "".join(filter(str.isalnum, number))[:40]
