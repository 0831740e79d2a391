"""Files that are replaced as a whole: whoever reads one has the old or the new, never a half, also after a crash."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from priory.journal.ownership import give_to_owner


@contextmanager
def replacing(path: Path, settle: Callable[[Path], None] = give_to_owner) -> Iterator[BinaryIO]:
    """Give a file to write beside another, whose place it takes at the end; one writer at a time.

    Nobody else may read it until `settle` says whose it is. If writing fails, all is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "mail") as file:
    ...         _ = file.write(b"Lunch?")
    ...     (Path(folder) / "mail").read_bytes(), len(list(Path(folder).iterdir()))
    (b'Lunch?', 1)
    """
    beside = path.with_name(f"{path.name}.new")
    try:
        with open(beside, "wb", opener=private) as file:
            yield file
            file.flush()
            settle(beside)
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def private(name: str, flags: int) -> int:
    """Open a file that nobody else may read, if it is not there yet."""
    return os.open(name, flags, 0o600)


def like(path: Path) -> Callable[[Path], None]:
    """Return what gives a file the owner, the mode and what else may be said about it of another that is there."""
    import shutil  # noqa: PLC0415 - a quick start for all who only replace what is theirs

    def settle(beside: Path) -> None:
        was = path.stat()
        os.chown(beside, was.st_uid, was.st_gid)
        shutil.copystat(path, beside)
        os.utime(beside)

    return settle


def keep_replaced(path: Path) -> None:
    """Have a file that has taken the place of another do so for good, whatever becomes of the machine."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
