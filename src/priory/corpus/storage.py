"""Opens mail files on this machine or at an address, and explains errors.

An address (s3://bucket/mail, https://host/inbox.mbox, file:///mnt/mail) is opened by fsspec. Unlike a path, it means
the same on every machine. It may name a file, a folder, or files by a pattern such as *.mbox. Some protocols need a
package of their own, such as s3fs; their errors say so. A message is read up to `LARGEST_MESSAGE` bytes.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any, Final

LARGEST_MESSAGE = 64 * 1024 * 1024
"""Bytes of a message that are read. The rest is cut off, and the parser copes with that."""

# Beyond 128 KiB the C library maps and unmaps memory for each read, which takes longer than reading a message.
# Each of 3,000 messages of trec07p took 27 µs with 256 KiB, 7 µs with 64 KiB.
FIRST_STEP = 64 * 1024

_PATTERN: Final = frozenset("*?[")


class CorpusError(Exception):
    """Mail that cannot be read; the text says what, where, and what to do.

    Malformed mail is never an error: it is passed on unchanged.
    """


@contextmanager
def corpus_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Turn an OSError about a path, or about a file below it, into a CorpusError.

    >>> with corpus_errors("spam.mbox"):
    ...     open("/no/such/folder/spam.mbox", "rb")
    Traceback (most recent call last):
    priory.corpus.storage.CorpusError: /no/such/folder/spam.mbox does not exist; check the path
    """
    try:
        yield
    except OSError as error:
        raise as_corpus_error(error, path) from error


def as_corpus_error(error: OSError, path: str | PathLike[str]) -> CorpusError:
    """Return the CorpusError for an OSError about a path, or about a file below it."""
    where, why = error.filename or path, error.strerror or error
    if isinstance(error, FileNotFoundError):
        return CorpusError(f"{where} does not exist; check the path")
    return CorpusError(f"cannot read {where}: {why}; check that it is a file this account may read")


def read_whole(stream: IO[bytes]) -> bytes:
    r"""Read the rest of a stream as one message.

    >>> import io
    >>> read_whole(io.BytesIO(b"Subject: lunch?\n\nAt noon.\n"))
    b'Subject: lunch?\n\nAt noon.\n'
    """
    raw = stream.read(FIRST_STEP)
    while raw and (more := stream.read(min(max(FIRST_STEP, len(raw)), LARGEST_MESSAGE - len(raw)))):
        raw += more
    return raw


def file_bytes(path: str) -> bytes | None:
    """Read a file that is one message, with as few system calls as possible; None for a folder, pipe or device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        size = min(status.st_size, LARGEST_MESSAGE)
        raw = os.read(descriptor, size)
        while len(raw) < size and (more := os.read(descriptor, size - len(raw))):
            raw += more
        return raw
    finally:
        os.close(descriptor)


def open_file(path: str) -> IO[bytes]:
    """Open a file, local or at an address, without a buffer: it is read in few large steps."""
    if is_address(path):
        with _protocol_errors(path):
            files, name = _file_system(path)
            stream: IO[bytes] = files.open(name, "rb")
            return stream
    return open(path, "rb", buffering=0)  # noqa: PTH123 - a Path for each message would cost more than reading it


def is_address(path: str) -> bool:
    """Tell an address from a path.

    >>> is_address("s3://mail/ham.mbox"), is_address("mail/ham.mbox"), is_address("imap:INBOX")
    (True, False, False)
    """
    return "://" in path


def files_at(address: str) -> list[str]:
    """Return the sorted addresses of the files below a folder or of a pattern; for a file, its own address.

    Hidden files, whose name or folder begins with a dot, are left out.
    """
    with _protocol_errors(address):
        files, root = _file_system(address)
        if _PATTERN.intersection(root):
            paths = [path for path in files.glob(root) if files.isfile(path)]
            below = root.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
        elif files.isdir(root):
            paths, below = files.find(root), root
        elif files.exists(root):
            return [address]
        else:
            raise CorpusError(f"{address} does not exist; check the address")
        visible = [path for path in sorted(paths) if "/." not in path.removeprefix(below)]
        return [files.unstrip_protocol(path) for path in visible]


def size_at(address: str) -> int | None:
    """Return the size in bytes of the file at an address; None if it is unknown."""
    with _protocol_errors(address):
        files, path = _file_system(address)
        size: int | None = files.size(path)
        return size


def _file_system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - loaded only for addresses
    except ImportError:
        raise CorpusError(
            f"cannot open {address} without fsspec: pip install '.[cluster]' in Priory's source folder"
        ) from None
    files, path = url_to_fs(address)
    return files, path


@contextmanager
def _protocol_errors(address: str) -> Iterator[None]:
    """Turn any exception into a CorpusError, because each protocol raises its own."""
    try:
        yield
    except (CorpusError, OSError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise CorpusError(f"cannot read {address}: {why}") from error
