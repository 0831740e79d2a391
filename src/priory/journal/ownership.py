"""Files that root makes in the home of another account belong to that account: it could not use them otherwise."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def give_to_owner(path: Path) -> None:
    """Give a file of root's to the owner of its folder."""
    if os.geteuid() == 0:
        folder = path.parent.stat()
        with suppress(OSError):  # where root may not: on a network's file system
            if path.stat().st_uid == 0 != folder.st_uid:
                os.chown(path, folder.st_uid, folder.st_gid)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[bool]:
    """Tell whether nobody else is about a file, and keep others from it meanwhile if so."""
    beside = path.with_name(f"{path.name}.lock")
    with open(beside, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as lock:
        give_to_owner(beside)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
