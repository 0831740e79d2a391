"""A file to which records are added and from which none can be taken unnoticed: the memory of a sealed test set.

One JSON object per line. Each line ends with a digest of itself and of the digest before it, so a line that is changed
or taken out breaks the chain. The first line has the number of records that follow, in a place of fixed width, so that
cutting off the last ones is noticed, too. A record is on the disk, and then the number, before `append` returns. A line
that was torn, because the machine went down or the disk was full, stays where it is and is a record of which nothing
can be read.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from priory.lab.error import LabError

Record = dict[str, Any]

_COUNT_WIDTH: Final = 9
_COUNT_AT: Final = len(b'{"n": ')
_HEAD: Final = re.compile(rb'\{"n": (?=[ \d]{%d}, )( *(?:0|[1-9]\d*)), ' % _COUNT_WIDTH)
_TAIL: Final = re.compile(rb', "chain": "([0-9a-f]{64})"\}\Z')


@dataclass(frozen=True, slots=True)
class Content:
    """What a file has: the first record, those that were added (None if torn), and how the next one is joined on."""

    first: Record
    records: tuple[Record | None, ...]
    chain: bytes
    ends_whole: bool


def create(path: Path, first: Record) -> None:
    """Write a new file, which is there in full or not at all and never takes the place of another."""
    numbered = b'{"n": %*d, ' % (_COUNT_WIDTH, 0) + _plain(first)[1:]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with _problems(path):
        try:
            with beside.open("xb") as file:
                file.write(_closed(numbered, _after(b"", _uncounted(numbered[:-1]))))
                file.flush()
                os.fsync(file.fileno())
            os.link(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(path.parent)


def read(path: Path) -> Content:
    """Return what a file has; an error if it was changed or shortened."""
    with _opened(path, os.O_RDONLY, fcntl.LOCK_SH) as file:
        return _content(path, file)


def append(path: Path, record: Record) -> None:
    """Add one record, durably, while no other process can add one."""
    with _opened(path, os.O_RDWR, fcntl.LOCK_EX) as file:
        found = _content(path, file)
        body = _plain(record)
        line = _closed(body, _after(found.chain, body[:-1]))
        _write(file, line if found.ends_whole else b"\n" + line, os.lseek(file, 0, os.SEEK_END))
        _write(file, b"%*d" % (_COUNT_WIDTH, len(found.records) + 1), _COUNT_AT)


def _content(path: Path, file: int) -> Content:
    raw = os.pread(file, os.fstat(file).st_size, 0)
    head, *added = raw.removesuffix(b"\n").split(b"\n")
    numbered = _HEAD.match(head)
    chain = _chain_of(b"", head, _uncounted)
    if numbered is None or chain is None or not _TAIL.search(head):
        raise LabError(f"{path} is no sealed test set, or its first line was changed: restore it, or seal the set anew")
    records: list[Record | None] = []
    for number, line in enumerate(added, start=2):
        chain = _chain_of(chain, line)
        if chain is None:
            raise LabError(f"{path} was changed in line {number} or before: restore it, or its looks cannot be counted")
        records.append(_parsed(line) if _TAIL.search(line) else None)
    if int(numbered[1]) > len(records):
        raise LabError(
            f"{path} was shortened: it had {int(numbered[1])} looks and has {len(records)}; restore it, for a look "
            "without a record is still a look"
        )
    return Content(_parsed(head), tuple(records), chain, raw.endswith(b"\n"))


def _parsed(line: bytes) -> Record:
    """A line's record without what the chain added to it."""
    return {key: value for key, value in json.loads(line).items() if key not in ("n", "chain")}


def _chain_of(before: bytes, line: bytes, part: Callable[[bytes], bytes] = bytes) -> bytes | None:
    """Return the digest up to and with a line; None if the line says another one. A torn line says none."""
    said = _TAIL.search(line)
    found = _after(before, part(line[: said.start()] if said else line))
    return found if said is None or said[1] == found else None


def _after(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).hexdigest().encode()


def _uncounted(head: bytes) -> bytes:
    return head[:_COUNT_AT] + head[_COUNT_AT + _COUNT_WIDTH :]


def _plain(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def _closed(body: bytes, chain: bytes) -> bytes:
    return body[:-1] + b', "chain": "' + chain + b'"}\n'


def _write(file: int, content: bytes, at: int) -> None:
    """Write all of it, durably."""
    while content:
        n = os.pwrite(file, content, at)
        content, at = content[n:], at + n
    os.fsync(file)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _opened(path: Path, flags: int, lock: int) -> Iterator[int]:
    with _problems(path):
        file = os.open(path, flags | os.O_CLOEXEC)
        try:
            fcntl.flock(file, lock)
            yield file
        finally:
            os.close(file)


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise LabError(f"{path} exists: sealed again, it would forget its looks; name another file") from None
    except OSError as error:
        raise LabError(f"the sealed test set {path} cannot be used: {error.strerror}") from None
