"""A thread that stores mail in the spool, so that neither the event loop nor the sender of a message waits."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from priory.filter.options import SpoolLimits
from priory.filter.questions import is_worth_asking
from priory.filter.spool import MOST_MESSAGE_BYTES, Spool
from priory.filter.verdict import Verdict
from priory.processes.log import log, log_error

TIDY_S: Final = 60.0  #: seconds between two passes that delete old messages
PAUSE_S: Final = 60.0  #: seconds without storing after an error, such as a full disk
MOST_WAITING: Final = 32  #: messages that may wait to be stored; further ones are not stored


class SpoolThread:
    """Stores messages that are worth a question, and deletes old ones; its methods never wait and never fail."""

    def __init__(self, home: Path, limits: SpoolLimits | None) -> None:
        self._spool = Spool(home, limits)
        self._thread = ThreadPoolExecutor(1)
        self._waiting: set[Future[None]] = set()
        self._tidy_at = 0.0
        self._keep_at = 0.0  # not before

    def offer(self, raw: bytes, verdict: Verdict) -> None:
        """Store a checked message if the spool is on and a person should be asked about it."""
        if (
            self._spool.limits is not None
            and len(raw) <= MOST_MESSAGE_BYTES
            and is_worth_asking(verdict)
            and len(self._waiting) < MOST_WAITING
            and time.monotonic() >= self._keep_at
        ):
            self._submit(partial(self._spool.keep, raw, verdict.expected_cost))

    def tidy(self) -> None:
        """Delete what is too old, now and then; if the spool is off, delete all."""
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + TIDY_S
            self._submit(self._spool.tidy)

    def close(self) -> None:
        """Finish what was submitted, and end the thread."""
        self._thread.shutdown()

    def _submit(self, call: Callable[[], None]) -> None:
        future = self._thread.submit(call)
        self._waiting.add(future)
        future.add_done_callback(self._on_done)

    def _on_done(self, future: "Future[None]") -> None:
        self._waiting.discard(future)
        error = future.exception()
        if error is None:
            return
        is_known = time.monotonic() < self._keep_at  # messages that waited behind one that failed fail alike
        self._keep_at = time.monotonic() + PAUSE_S
        if isinstance(error, OSError):  # its text names the file, and so the digest of a message
            if not is_known:
                log("error", what=repr(f"cannot write to {self._spool.folder}: {error.strerror}"))
        elif isinstance(error, Exception):
            log_error(error)
