"""A client made for SpamAssassin: its request comes in pieces, its answer goes out, and that is all."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

from priory.journal import JournalAwayError, JournalBusyError
from priory.server.connection import Connection, Stage, log_error
from priory.server.counted import CHECK_TIMES, LESSON_TIMES, REASONS
from priory.server.log import log
from priory.server.scoreboard import Tally
from priory.wire.spamd import EX_SOFTWARE, EX_TEMPFAIL, EX_TIMEOUT, RATING_VERBS, Incoming, Refused, Request

#: What answers a request: now, or later where that takes longer.
Answering: TypeAlias = Callable[[Request], "tuple[bytes, str] | asyncio.Future[tuple[bytes, str]]"]


class SpamdConnection(Connection):
    """A connection with one request."""

    protocol = "spamd"

    def __init__(self, most_bytes: int, answering: Answering, tally: Tally, gone: Callable[[Connection], None]) -> None:
        super().__init__(tally, gone)
        self._incoming = Incoming(most_bytes)
        self._answering = answering
        self._is_heard_out = False  # the client sends no more

    def data_received(self, data: bytes) -> None:
        """Take a piece of the request; what comes after it is dropped."""
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.receive(data)
            except Refused as refused:
                self._refuse(refused)
            else:
                if request is not None:
                    self._answer(request)

    def eof_received(self) -> bool:
        """The client sends no more, but may wait for its answer."""
        self._is_heard_out = True
        if self.stage is Stage.LINGERING:
            return False
        if self.stage is Stage.RECEIVING:
            try:
                request = self._incoming.finish()
            except Refused as refused:
                if self._incoming.has_begun:
                    self._refuse(refused)
                else:  # somebody has looked whether we are here
                    self._dismiss(refused)
                return False
            self._answer(request)
        return True

    def expire(self) -> None:
        """Let go of a client that takes too long."""
        if self.stage is Stage.RECEIVING and self._transport is not None:
            self._is_heard_out = True
            self._refuse(Refused(EX_TIMEOUT, "Timeout: (the request did not come in time)"))
        else:
            super().expire()

    def _answer(self, request: Request) -> None:
        self._reach(Stage.WORKING)
        self._tally.add(("requests", request.verb))
        self._tally.add(("bytes", "spamd"), len(request.body))
        try:
            answer = self._answering(request)
        except Exception as error:  # noqa: BLE001 - a request that fails is one request
            self._fail(request, error)
            return
        if isinstance(answer, tuple):
            self._send(request, *answer)
        else:
            answer.add_done_callback(lambda done: self._came_later(request, done))

    def _came_later(self, request: Request, done: "asyncio.Future[tuple[bytes, str]]") -> None:
        error = done.exception()
        if isinstance(error, Exception):
            self._fail(request, error)
        else:
            self._send(request, *done.result())

    def _send(self, request: Request, answer: bytes, said: str) -> None:
        seconds = time.monotonic() - self.since
        self._count(request, said, seconds)  # before the client can know: what was answered was counted
        self._reach(Stage.SENDING)
        self._write(answer)
        self._write_eof()
        self._close()
        log("request", verb=request.verb, bytes=len(request.body), verdict=said, us=round(seconds * 1e6))

    def _count(self, request: Request, said: str, seconds: float) -> None:
        tally = self._tally
        if request.verb in RATING_VERBS:
            tally.add(("checked", "spamd", said))
            tally.time(CHECK_TIMES["spamd"], seconds)
        elif request.verb == "TELL":
            tally.add(("lessons", said))
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
        """Say why, and give the client time to read it: to close while it sends would throw away what it was told."""
        self._reach(Stage.LINGERING)
        self._write(refused.answer)
        self._write_eof()
        if self._is_heard_out:
            self._close()
