"""What a process does with a message that arrives: it answers with a verdict, and records and stores the message."""

import time
from collections.abc import Callable
from typing import Final

from priory.filter.filter import Filter
from priory.filter.prepare import Prepared
from priory.filter.verdict import Verdict
from priory.journal.checked import CheckedMailError
from priory.processes.log import log
from priory.server.options import Policy
from priory.server.protocols.milter_answer import MilterAnswer, judge
from priory.server.protocols.spamd_answers import answer
from priory.wire.milter import MilterMessage
from priory.wire.spamd import Request

COMPLAIN_S: Final = 60.0  #: seconds between two complaints that checked mail cannot be recorded


class MailCheck:
    """Checks messages with one filter. `spool` is offered each message that was checked as a whole."""

    def __init__(self, filter_: Filter, policy: Policy, spool: Callable[[bytes, Verdict], None]) -> None:
        self._filter = filter_
        self._policy = policy
        self._spool = spool
        self._complain_at = 0.0  # not before this time about mail that cannot be recorded

    def answer(self, request: Request, most_read: int | None = None) -> tuple[bytes, str]:
        """Answer a request that changes nothing; return the answer, and the verdict's label for the log.

        With `most_read`, the verdict is from the beginning of the message, and the message is not recorded.
        """
        if most_read is not None:
            return answer(request, self._filter, most_read=most_read)
        return answer(request, self._filter, self._record, self._spool)

    def judge(self, message: MilterMessage, most_read: int | None = None) -> MilterAnswer:
        """Return what a mail server is to do with a message, with the same meaning of `most_read`."""
        if most_read is not None:
            return judge(message, self._filter, self._policy, most_read=most_read)
        return judge(message, self._filter, self._policy, self._record, self._spool)

    def _record(self, message: Prepared, verdict: Verdict) -> None:
        """Record a message that was checked on arrival, before its sender gets the answer; mail flows if that fails."""
        try:
            self._filter.silence.record(message, verdict)
        except CheckedMailError as error:
            if time.monotonic() >= self._complain_at:
                self._complain_at = time.monotonic() + COMPLAIN_S
                log("error", what=repr(str(error)))
