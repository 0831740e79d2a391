"""Where the page of a daemon is that `priory open` has started at an address of its own choice.

The address is noted in the home, under a lock that is held as long as the daemon runs: however it ended, a note
without it is old.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from pathlib import Path
from typing import Final

_NAME: Final = "page.lock"


@contextmanager
def noted(home: Path, address: str) -> Iterator[None]:
    """Note an address while something is done; in a home that cannot be written there are no notes."""
    with ExitStack() as stack:
        with suppress(OSError):
            note = stack.enter_context((home / _NAME).open("a", encoding="utf-8"))
            flock(note, LOCK_EX | LOCK_NB)
            note.truncate(0)
            note.write(address)
            note.flush()
        yield


def noted_address(home: Path) -> str:
    """Return the address that is noted in a home; nothing if there is none, or the daemon has ended."""
    try:
        with (home / _NAME).open(encoding="utf-8") as note:
            try:
                flock(note, LOCK_SH | LOCK_NB)
            except BlockingIOError:
                return note.read()
    except OSError:
        pass
    return ""
