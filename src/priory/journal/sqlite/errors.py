"""What SQLite says is wrong, in our words: which file, what is wrong with it, what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from priory.journal.lesson import JournalBusyError, JournalError


@contextmanager
def errors_named(path: Path, wait_s: float) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise named(error, path, wait_s) from None


def named(error: sqlite3.Error, path: Path, wait_s: float) -> Exception:
    """Return our error in place of one of SQLite's; a mistake in the calling code stays what it is."""
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
        return error
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in str(error) or "busy" in str(error):
            return JournalBusyError(
                f"{path} is being written to by another process, which did not finish within {wait_s:g} s: "
                "try again later."
            )
        return JournalError(f"{path}: {error}. Check that the folder is writable and the disk is not full.")
    return JournalError(f"{path} is damaged ({error}). It was left as it is; restore it from a backup.")
