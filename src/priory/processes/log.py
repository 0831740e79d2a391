"""The log: one line per event on standard error, without any content of messages."""

import os
import sys
from contextlib import suppress


def log(event: str, **figures: object) -> None:
    """Write one event to the log.

    `priory[4711]: request verb=CHECK bytes=2345 verdict=spam us=312`
    """
    about = "".join(f" {name}={value}" for name, value in figures.items())
    with suppress(OSError):  # a closed standard error must not stop the service
        sys.stderr.write(f"priory[{os.getpid()}]: {event}{about}\n")
        sys.stderr.flush()


def log_error(error: Exception, **figures: object) -> None:
    """Log an exception with the file and line that raised it.

    The text of exceptions that other packages raise is left out: it may quote a message.
    """
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at else "nowhere"
    text = repr(str(error)) if type(error).__module__.startswith("priory.") else ""
    log("error", **figures, what=f"{type(error).__name__}({text}) at {place}")
