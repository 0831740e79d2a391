"""Says what is wrong with the mail folder, archive or index someone named, and what to do about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike


class CorpusError(Exception):
    """Mail that was asked for cannot be read; the text says what, where, and what to do.

    Mail that is merely malformed is never an error: it is handed on as it is.
    """


@contextmanager
def explained(path: str | PathLike[str]) -> Iterator[None]:
    """Turn what the system says about a path, or about a file below it, into a CorpusError.

    >>> with explained("spam.mbox"):
    ...     open("/no/such/folder/spam.mbox", "rb")
    Traceback (most recent call last):
    priory.corpus.error.CorpusError: /no/such/folder/spam.mbox does not exist; check the path
    """
    try:
        yield
    except OSError as error:
        raise told(error, path) from error


def told(error: OSError, path: str | PathLike[str]) -> CorpusError:
    """Return what the system says about a path, or about a file below it, as a CorpusError."""
    where, why = error.filename or path, error.strerror or error
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{where} does not exist; check the path")
    return CorpusError(f"cannot read {where}: {why}; check that it is a file this account may read")
