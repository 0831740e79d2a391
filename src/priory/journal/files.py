"""Files: replaced as a whole, private, and owned by the account whose folder they are in.

A file that is replaced as a whole is written beside the old one and renamed over it. A reader sees the old or the new
content, never a part, even after a crash.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def give_to_owner(path: Path) -> None:
    """Give a file that root has made to the owner of its folder, who could not use it otherwise."""
    if os.geteuid() == 0:
        folder = path.parent.stat()
        with suppress(OSError):  # network file systems may refuse chown even to root
            if path.stat().st_uid == 0 != folder.st_uid:
                os.chown(path, folder.st_uid, folder.st_gid)


@contextmanager
def replacing(
    path: Path, settle: Callable[[Path], None] = give_to_owner, *, sync: bool = True, suffix: str = "new"
) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends without an error.

    Only one process may do so at a time, unless each has its own `suffix` for the temporary file. The file is private
    until `settle` sets its owner and mode. Without `sync`, a crash of the machine may leave the file empty.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "mail") as file:
    ...         _ = file.write(b"Lunch?")
    ...     (Path(folder) / "mail").read_bytes(), len(list(Path(folder).iterdir()))
    (b'Lunch?', 1)
    """
    beside = path.with_name(f"{path.name}.{suffix}")
    try:
        with open(beside, "wb", opener=private_opener) as file:
            yield file
            file.flush()
            settle(beside)
            if sync:  # before the rename: the name must never point to content that is not on disk
                os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make the rename of a replaced file durable; without this a crash may bring the old file back."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def private_opener(name: str, flags: int) -> int:
    """Open a file, an `opener` for `open`; a new file is readable by its owner alone."""
    return os.open(name, flags, 0o600)


def owner_and_mode_of(path: Path) -> Callable[[Path], None]:
    """Return a `settle` for `replacing` that copies owner, mode and extended attributes from an existing file."""
    import shutil  # noqa: PLC0415 - slow to load, and rarely needed

    def settle(beside: Path) -> None:
        was = path.stat()
        os.chown(beside, was.st_uid, was.st_gid)
        shutil.copystat(path, beside)
        os.utime(beside)

    return settle


def may_write(path: Path) -> bool:
    """Tell whether this process, with its effective user, may write to a file or a folder."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


@contextmanager
def one_at_a_time(path: Path) -> Iterator[bool]:
    """Try to lock a file against other processes; yield whether the lock was free.

    The lock is on a file beside it, because `path` itself is replaced while the lock is held.
    """
    beside = path.with_name(f"{path.name}.lock")
    with open(beside, "ab", opener=private_opener) as lock:
        give_to_owner(beside)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True  # closing the file releases the lock
