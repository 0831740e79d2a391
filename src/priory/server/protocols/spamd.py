"""The spamd protocol, which SpamAssassin's clients such as spamc speak: one request and one answer per connection."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

from priory.journal import JournalAwayError, JournalBusyError
from priory.processes.log import log, log_error
from priory.server.metrics.names import CHECK_TIMES, LESSON_TIMES, REASONS
from priory.server.metrics.scoreboard import ProcessTally
from priory.server.protocols.connection import Connection, Stage
from priory.wire.spamd import EX_SOFTWARE, EX_TEMPFAIL, EX_TIMEOUT, RATING_VERBS, Incoming, Refused, Request

#: Returns the answer to a request and its outcome in one word, or a future for them.
AnswerFunction: TypeAlias = Callable[[Request], "tuple[bytes, str] | asyncio.Future[tuple[bytes, str]]"]


class SpamdConnection(Connection):
    """A connection with one request."""

    protocol = "spamd"

    def __init__(
        self,
        max_bytes: int,
        compute_answer: AnswerFunction,
        tally: ProcessTally,
        on_closed: Callable[[Connection], None],
    ) -> None:
        super().__init__(tally, on_closed)
        self._incoming = Incoming(max_bytes)
        self._compute_answer = compute_answer
        self._is_eof = False  # the client has finished sending

    def data_received(self, data: bytes) -> None:
        """Take a piece of the request; anything after the request is dropped."""
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.receive(data)
            except Refused as refused:
                self._refuse(refused)
            else:
                if request is not None:
                    self._answer(request)

    def eof_received(self) -> bool:
        """Note that the client has finished sending; it may still wait for its answer."""
        self._is_eof = True
        if self.stage is Stage.LINGERING:
            return False
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.finish()
            except Refused as refused:
                if self._incoming.has_begun:
                    self._refuse(refused)
                else:  # a probe that only connects, as monitoring does: no error
                    self._dismiss(refused)
                return False
            self._answer(request)
        return True

    def expire(self) -> None:
        """Refuse a client that takes too long to send, and disconnect one that is slow to read."""
        if self.stage is Stage.RECEIVING and self._transport is not None:
            self._is_eof = True
            self._refuse(Refused(EX_TIMEOUT, "Timeout: (the request did not come in time)"))
        else:
            super().expire()

    def _answer(self, request: Request) -> None:
        self._reach(Stage.WORKING)
        self._tally.add(("requests", request.verb))
        self._tally.add(("bytes", "spamd"), len(request.body))
        try:
            answer = self._compute_answer(request)
        except Exception as error:  # noqa: BLE001 - an error must not affect other requests
            self._fail(request, error)
            return
        if isinstance(answer, tuple):
            self._send(request, *answer)
        else:
            answer.add_done_callback(lambda future: self._send_result(request, future))

    def _send_result(self, request: Request, future: "asyncio.Future[tuple[bytes, str]]") -> None:
        if future.cancelled():  # the worker exits, after the client has hung up
            return
        error = future.exception()
        if isinstance(error, Exception):
            self._fail(request, error)
        else:
            self._send(request, *future.result())

    def _send(self, request: Request, answer: bytes, outcome: str) -> None:
        seconds = time.monotonic() - self.since
        self._count(request, outcome, seconds)  # first, so that a client that was answered finds itself counted
        self._reach(Stage.SENDING)
        self._write(answer)
        self._write_eof()
        self._close()
        log("request", verb=request.verb, bytes=len(request.body), verdict=outcome, us=round(seconds * 1e6))

    def _count(self, request: Request, outcome: str, seconds: float) -> None:
        tally = self._tally
        if request.verb in RATING_VERBS:
            tally.add(("checked", "spamd", outcome))
            tally.time(CHECK_TIMES["spamd"], seconds)
        elif request.verb == "TELL":
            tally.add(("lessons", outcome))
            tally.time(LESSON_TIMES, seconds)

    def _fail(self, request: Request, error: Exception) -> None:
        if isinstance(error, JournalBusyError | JournalAwayError):
            why = "another process is writing to the journal"
            if isinstance(error, JournalAwayError):
                log_error(error, verb=request.verb)
                why = "the journal cannot be reached"
            error = Refused(EX_TEMPFAIL, f"Temporary failure: {why}; try again later")
        if not isinstance(error, Refused):
            log_error(error, verb=request.verb, bytes=len(request.body))
            self._tally.add(("errors", "lesson" if request.verb == "TELL" else "check"))
            if request.verb in RATING_VERBS:
                self._tally.add(("unchecked", "spamd", "error"))
            error = Refused(EX_SOFTWARE, "Internal software error: the log of the daemon says more")
        self._refuse(error)

    def _refuse(self, refused: Refused) -> None:
        self._tally.add(("refused", "spamd", REASONS.get(refused.status, "error")))
        self._dismiss(refused)
        log("refused", why=repr(str(refused)))

    def _dismiss(self, refused: Refused) -> None:
        """Send the reason, and wait for the client to read it.

        Closing a socket while the client still sends would reset the connection and discard the reason.
        """
        self._reach(Stage.LINGERING)
        self._write(refused.answer)
        self._write_eof()
        if self._is_eof:
            self._close()
