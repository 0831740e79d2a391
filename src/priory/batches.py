"""Mail as it is sent to others who read it: by name where they can open it, by its bytes where they cannot.

A path means something on one machine only. So a batch says whose paths it has, and who is asked to read it elsewhere
refuses. An address means the same everywhere, and what was read here already is only carried.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from priory.corpus import CorpusError, Labelled, Part, messages
from priory.corpus.address import is_address, size_bytes
from priory.corpus.error import explained
from priory.corpus.shards import SHARD_BYTES, shards
from priory.reading import MOST_BYTES_TOGETHER, READ_TOGETHER, together

#: A larger archive is unpacked here, and its messages are sent: what comes of one batch should fit in memory with ease.
LARGEST_ARCHIVE: Final = 4 * 1024 * 1024
_Plain: TypeAlias = tuple[Any, ...]  # a Part as it is sent: a named tuple takes longer


class Sizes(NamedTuple):
    """How much goes to another process together: so many messages, of so many bytes if they are sent themselves."""

    most_messages: int = 4 * READ_TOGETHER
    most_bytes: int = MOST_BYTES_TOGETHER


class Batch(NamedTuple):
    """Parts of a corpus that are sent together, and the machine whose paths they are of, if that matters."""

    parts: list[_Plain]
    machine: str


class Done(NamedTuple):
    """What was made of a batch, as far as it could be read."""

    value: Any
    passed_over: list[str]
    error: CorpusError | None
    is_elsewhere: bool = False  #: nothing was made of it: the paths are those of another machine


def done(batch: Batch, work: Callable[[Iterator[Labelled]], Any]) -> Done:
    """Do the work on the messages of a batch, until one cannot be read."""
    passed_over: list[str] = []
    errors: list[CorpusError] = []

    def found() -> Iterator[Labelled]:
        try:
            yield from messages((Part(*part) for part in batch.parts), passed_over)
        except CorpusError as error:
            errors.append(error)

    if batch.machine not in ("", machine()):
        return Done(None, [], None, is_elsewhere=True)
    return Done(work(found()), passed_over, errors[0] if errors else None)


def batches(parts: Iterable[Part], sizes: Sizes, *, sharded: bool = False) -> Iterator[Batch]:
    """Put parts together that are sent together; the last batch may be empty: whoever works begins nevertheless.

    Whether large mboxes are `sharded` is for who can number their messages afterwards.
    """
    return _together((each for part in parts for each in _to_send(part, sharded=sharded)), sizes)


def carried(those: Iterable[Batch], sizes: Sizes) -> Iterator[Batch]:
    """Return batches anew, with the bytes of whatever has the path of a file."""
    parts = (Part(*part) for batch in those for part in batch.parts)
    return _together((each for part in parts for each in (_given_of(part) if _is_here(part) else [(part, 0)])), sizes)


def _together(parts: Iterable[tuple[Part, int]], sizes: Sizes) -> Iterator[Batch]:
    for some in together(parts, itemgetter(1), *sizes):
        has_paths = any(_is_here(part) for part, _ in some)
        yield Batch([tuple(part) for part, _ in some], machine() if has_paths else "")


@lru_cache(maxsize=1)
def machine() -> str:
    """Return a name for this machine, as far as paths go: those of a container are its own."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    root = os.stat("/")  # noqa: PTH116
    return f"{boot}:{root.st_dev}:{root.st_ino}"


def _to_send(part: Part, *, sharded: bool) -> Iterable[tuple[Part, int]]:
    """Return a part that can be read elsewhere, or what it is made of; of those that cannot, the messages.

    With each of them, how many bytes it counts for: none if it is one message by name, as these are read one by one.
    """
    if part.holds == "message":
        return [(part, 0)]
    if part.holds in {"file", "archive"}:
        size = _size(part.where[0])
        if size <= (MOST_BYTES_TOGETHER if part.holds == "file" else LARGEST_ARCHIVE):
            return [(part, size)]
        if part.holds == "file" and sharded:
            with explained(part.name):
                found = shards(part, size, SHARD_BYTES)
            if found is not None:
                return [(shard, SHARD_BYTES) for shard in found]
    return _given_of(part)


def _given_of(part: Part) -> Iterator[tuple[Part, int]]:
    """Read a part here."""
    with explained(part.name):
        for source, raw in part.read():
            yield Part(part.label, part.name, _given, (source, raw)), len(raw or b"")


def _given(source: str, raw: bytes | None) -> list[tuple[str, bytes | None]]:
    return [(source, raw)]


def _is_here(part: Part) -> bool:
    """Tell whether a part is to be read from a path of this machine."""
    return part.reader is not _given and not is_address(part.where[0])


def _size(path: str) -> int:
    try:
        return (size_bytes(path) or 0) if is_address(path) else os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0  # who reads it will say what is wrong
