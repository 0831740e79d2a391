"""One line per event on standard error, for an administrator: never anything of a message."""

import os
import sys
from contextlib import suppress


def log(event: str, **figures: object) -> None:
    """Say what has happened.

    `priory[4711]: request verb=CHECK bytes=2345 verdict=spam us=312`
    """
    about = "".join(f" {name}={value}" for name, value in figures.items())
    with suppress(OSError):  # nobody reads it: mail is answered all the same
        sys.stderr.write(f"priory[{os.getpid()}]: {event}{about}\n")
        sys.stderr.flush()
