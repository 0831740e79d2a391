"""Prints progress to standard error, so that a long run does not look like a hang."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

_EVERY_S = 30.0


def progressed(text: str) -> None:
    """Print the progress."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def taking_long(what: str, about_s: float | None = None, every_s: float = _EVERY_S) -> Iterator[None]:
    """Print the start of a step and its expected duration, then the elapsed time from time to time, then the end."""
    about = f" of about {minutes(about_s)}" if about_s else ""
    progressed(f"{what}: 0:00{about} minutes")
    start, over = time.monotonic(), threading.Event()

    def tell() -> None:
        while not over.wait(every_s):
            progressed(f"{what}: {minutes(time.monotonic() - start)}{about} minutes")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
    progressed(f"{what}: done in {minutes(time.monotonic() - start)} minutes")


def minutes(seconds: float) -> str:
    """Write seconds as minutes.

    >>> minutes(95.4)
    '1:35'
    """
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}" if seconds % 60 < 59.5 else f"{seconds // 60 + 1:.0f}:00"
