"""Batches of mail for worker processes: file names where a worker can open them, contents where it cannot.

A path is valid on one machine only. So a batch names the machine that its paths belong to, and a worker on another
machine refuses it. An address, such as s3://…, is valid everywhere, and contents can be sent anywhere.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from priory.corpus import CorpusError, Labelled, Part, messages
from priory.corpus.shards import SHARD_BYTES, shards
from priory.corpus.storage import corpus_errors, is_address, size_at
from priory.filter.prepare import MOST_BYTES_TOGETHER, READ_TOGETHER, in_groups

#: A larger archive is unpacked here and its messages are sent, so that the result of a batch fits into memory.
LARGEST_ARCHIVE: Final = 4 * 1024 * 1024
_PlainPart: TypeAlias = tuple[Any, ...]  # a Part as a tuple, which is pickled faster than a named tuple


class Sizes(NamedTuple):
    """The size of a batch: the number of messages, and their bytes if their contents are sent."""

    most_messages: int = 4 * READ_TOGETHER
    most_bytes: int = MOST_BYTES_TOGETHER


class Batch(NamedTuple):
    """Parts of a corpus that are sent together, and the machine that their paths belong to, if they have paths."""

    parts: list[_PlainPart]
    machine: str


class BatchResult(NamedTuple):
    """The result of a batch, as far as it could be read."""

    value: Any
    passed_over: list[str]  #: files that are not mail
    error: CorpusError | None
    is_elsewhere: bool = False  #: not processed, because the paths belong to another machine


def process_batch(batch: Batch, work: Callable[[Iterator[Labelled]], Any]) -> BatchResult:
    """Call `work` with the messages of a batch, up to the first that cannot be read."""
    passed_over: list[str] = []
    errors: list[CorpusError] = []

    def readable() -> Iterator[Labelled]:
        try:
            yield from messages((Part(*part) for part in batch.parts), passed_over)
        except CorpusError as error:
            errors.append(error)

    if batch.machine not in ("", machine()):
        return BatchResult(None, [], None, is_elsewhere=True)
    return BatchResult(work(readable()), passed_over, errors[0] if errors else None)


def batches(parts: Iterable[Part], sizes: Sizes, *, sharded: bool = False) -> Iterator[Batch]:
    """Group parts into batches; the last batch may be empty, so that the workers start in any case.

    Set `sharded` to split large mboxes if the caller can number their messages afterwards.
    """
    return _group((sized for part in parts for sized in _sized_parts(part, sharded=sharded)), sizes)


def with_contents(path_batches: Iterable[Batch], sizes: Sizes) -> Iterator[Batch]:
    """Return the same mail in batches that contain the bytes of all files instead of their paths."""
    parts = (Part(*part) for batch in path_batches for part in batch.parts)
    sized_parts = (sized for part in parts for sized in (_read_here(part) if _is_local(part) else [(part, 0)]))
    return _group(sized_parts, sizes)


def _group(sized_parts: Iterable[tuple[Part, int]], sizes: Sizes) -> Iterator[Batch]:
    for group in in_groups(sized_parts, itemgetter(1), *sizes):
        has_paths = any(_is_local(part) for part, _ in group)
        yield Batch([tuple(part) for part, _ in group], machine() if has_paths else "")


@lru_cache(maxsize=1)
def machine() -> str:
    """Return an ID of this machine's file system; each container has its own."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    root = os.stat("/")  # noqa: PTH116
    return f"{boot}:{root.st_dev}:{root.st_ino}"


def _sized_parts(part: Part, *, sharded: bool) -> Iterable[tuple[Part, int]]:
    """Return a part as a worker can read it, split if it is large, with the number of bytes of each piece.

    A single message counts as 0 bytes, because a worker reads such files one by one.
    """
    if part.holds == "message":
        return [(part, 0)]
    if part.holds in {"file", "archive"}:
        size = _size(part.where[0])
        if size <= (MOST_BYTES_TOGETHER if part.holds == "file" else LARGEST_ARCHIVE):
            return [(part, size)]
        if part.holds == "file" and sharded:
            with corpus_errors(part.name):
                pieces = shards(part, size, SHARD_BYTES)
            if pieces is not None:
                return [(shard, SHARD_BYTES) for shard in pieces]
    return _read_here(part)


def _read_here(part: Part) -> Iterator[tuple[Part, int]]:
    """Read a part in this process and yield its messages as parts."""
    with corpus_errors(part.name):
        for source, raw in part.read():
            yield Part(part.label, part.name, _contents, (source, raw)), len(raw or b"")


def _contents(source: str, raw: bytes | None) -> list[tuple[str, bytes | None]]:
    return [(source, raw)]


def _is_local(part: Part) -> bool:
    """Tell whether a part is read from a path of this machine."""
    return part.reader is not _contents and not is_address(part.where[0])


def _size(path: str) -> int:
    try:
        return (size_at(path) or 0) if is_address(path) else os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0  # the reader reports the error
