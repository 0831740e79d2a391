"""Append-only files in which a changed or removed record is detected: the format of sealed test sets.

One JSON object per line. Each line ends with a digest of itself and of the digest before it, so a line that is changed
or removed breaks the chain. The first line has the number of records that follow, in a field of fixed width, so that
cutting off the last ones is detected, too. `append_record` syncs the record to disk, then the number, before it
returns. A line that was cut off, by a crash or a full disk, stays in place and counts as a record without content.
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
    """The first record, the appended ones (None if cut off by a crash), and the state for the next append."""

    first: Record
    records: tuple[Record | None, ...]
    chain: bytes
    ends_whole: bool


def create_chain(path: Path, first: Record) -> None:
    """Write a new file atomically; raise `LabError` if it exists."""
    numbered = b'{"n": %*d, ' % (_COUNT_WIDTH, 0) + _plain(first)[1:]
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with _problems(path):
        try:
            with beside.open("xb") as file:
                file.write(_append_digest(numbered, _next_digest(b"", _without_count(numbered[:-1]))))
                file.flush()
                os.fsync(file.fileno())
            os.link(beside, path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(path.parent)


def read_chain(path: Path) -> Content:
    """Return the records of a file; raise `LabError` if it was changed or shortened."""
    with _open_file(path, os.O_RDONLY, fcntl.LOCK_SH) as file:
        return _content(path, file)


def append_record(path: Path, record: Record) -> None:
    """Append a record and sync it to disk, under an exclusive lock."""
    with _open_file(path, os.O_RDWR, fcntl.LOCK_EX) as file:
        content = _content(path, file)
        body = _plain(record)
        line = _append_digest(body, _next_digest(content.chain, body[:-1]))
        _write(file, line if content.ends_whole else b"\n" + line, os.lseek(file, 0, os.SEEK_END))
        _write(file, b"%*d" % (_COUNT_WIDTH, len(content.records) + 1), _COUNT_AT)


def _content(path: Path, file: int) -> Content:
    raw = os.pread(file, os.fstat(file).st_size, 0)
    head, *added = raw.removesuffix(b"\n").split(b"\n")
    numbered = _HEAD.match(head)
    chain = _chain_of(b"", head, _without_count)
    if numbered is None or chain is None or not _TAIL.search(head):
        raise LabError(
            f"{path} is no sealed test set, or its first line was changed: restore it, or seal the set again"
        )
    records: list[Record | None] = []
    for number, line in enumerate(added, start=2):
        chain = _chain_of(chain, line)
        if chain is None:
            raise LabError(f"{path} was changed in line {number} or before: restore it from a backup")
        records.append(_parse_record(line) if _TAIL.search(line) else None)
    if int(numbered[1]) > len(records):
        n = int(numbered[1])
        had = f"{n} look{'s' * (n != 1)}"
        raise LabError(f"{path} was shortened: it had {had} and has {len(records)}; restore it from a backup")
    return Content(_parse_record(head), tuple(records), chain, raw.endswith(b"\n"))


def _parse_record(line: bytes) -> Record:
    """Return the record of a line, without the fields of the chain."""
    return {key: value for key, value in json.loads(line).items() if key not in ("n", "chain")}


def _chain_of(before: bytes, line: bytes, part: Callable[[bytes], bytes] = bytes) -> bytes | None:
    """Return the digest up to and including a line, or None if the line states another. A cut-off line states none."""
    stated = _TAIL.search(line)
    chain = _next_digest(before, part(line[: stated.start()] if stated else line))
    return chain if stated is None or stated[1] == chain else None


def _next_digest(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).hexdigest().encode()


def _without_count(head: bytes) -> bytes:
    return head[:_COUNT_AT] + head[_COUNT_AT + _COUNT_WIDTH :]


def _plain(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def _append_digest(body: bytes, chain: bytes) -> bytes:
    return body[:-1] + b', "chain": "' + chain + b'"}\n'


def _write(file: int, content: bytes, at: int) -> None:
    """Write all of it and sync it to disk."""
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
def _open_file(path: Path, flags: int, lock: int) -> Iterator[int]:
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
        raise LabError(f"{path} exists: sealing it again would lose its looks; name another file") from None
    except OSError as error:
        raise LabError(f"cannot use the sealed test set {path}: {error.strerror}") from None
