"""Opens mail at an address: s3://bucket/mail, https://host/inbox.mbox, file:///mnt/mail, whatever fsspec knows.

An address means the same wherever it is opened, which a path does not. It may name a file, a folder, or files by a
pattern such as *.mbox. A protocol may need a package of its own, such as s3fs, and says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from priory.corpus.error import CorpusError

_PATTERN: Final = frozenset("*?[")


def is_address(path: str) -> bool:
    """Tell an address from a path.

    >>> is_address("s3://mail/ham.mbox"), is_address("mail/ham.mbox"), is_address("imap:INBOX")
    (True, False, False)
    """
    return "://" in path


def listing(address: str) -> list[str]:
    """Return the addresses of the files below a folder or of a pattern, sorted; of a file, its own.

    Hidden ones, with a name or a folder that begins with a dot, are left out.
    """
    with _told(address):
        files, root = _opened_at(address)
        if _PATTERN.intersection(root):
            found = [path for path in files.glob(root) if files.isfile(path)]
            below = root.partition("*")[0].partition("?")[0].partition("[")[0].rpartition("/")[0]
        elif files.isdir(root):
            found, below = files.find(root), root
        elif files.exists(root):
            return [address]
        else:
            raise CorpusError(f"{address} does not exist; check the address")
        visible = [path for path in sorted(found) if "/." not in path.removeprefix(below)]
        return [files.unstrip_protocol(path) for path in visible]


def opened(address: str) -> IO[bytes]:
    """Open the file at an address."""
    with _told(address):
        files, path = _opened_at(address)
        stream: IO[bytes] = files.open(path, "rb")
        return stream


def size_bytes(address: str) -> int | None:
    """Return how large the file at an address is; None where that is not known."""
    with _told(address):
        files, path = _opened_at(address)
        size: int | None = files.size(path)
        return size


def _opened_at(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - only people with addresses pay for it
    except ImportError:
        raise CorpusError(f"to open {address} takes fsspec: pip install 'priory[cluster]'") from None
    files, path = url_to_fs(address)
    return files, path


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn whatever goes wrong into a CorpusError: each protocol has errors of its own."""
    try:
        yield
    except (CorpusError, OSError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise CorpusError(f"cannot read {address}: {why}") from error
