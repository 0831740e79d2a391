"""Folders for filters that are taught, judged and thrown away: in memory, and gone when their process is."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "priory-lab-"


def fleeting_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a new folder that is removed when it is left; and remove those whose process was killed before it could.

    >>> with fleeting_folder() as folder:
    ...     Path(folder).is_dir()
    True
    >>> Path(folder).is_dir()
    False
    """
    # A lesson is durable when it is learned, and here none need be: in memory that costs nothing.
    shared = Path("/dev/shm")  # noqa: S108
    root = shared if shared.is_dir() else Path(tempfile.gettempdir())
    for left in root.glob(f"{_PREFIX}*"):
        with suppress(ValueError, OSError):
            if not _is_alive(int(left.name.removeprefix(_PREFIX).partition("-")[0])):
                shutil.rmtree(left)
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=root)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
