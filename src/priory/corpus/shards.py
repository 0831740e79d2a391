r"""Reads shards of a large mbox, so that several processes can read it in parallel.

A shard has the messages that begin between two byte positions. Its reader skips to the first envelope line after the
start and reads its last message to the end. The reader of a shard does not know the numbers of its messages. Their
sources carry a mark instead, which `ShardNumbering` replaces once the messages of all shards are back in order.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import IO, Final

from priory.corpus import mbox
from priory.corpus.mail_file import HEAD
from priory.corpus.part import Part
from priory.corpus.storage import open_file

SHARD_BYTES: Final = 4 * 1024 * 1024
_ENVELOPE: Final = re.compile(rb"\n\r?\nFrom ")
_LONGEST: Final = len(b"\n\r\nFrom ")
_TO_NUMBER: Final = "\0"  # no path contains it
_FIRST: Final = "\0first"


def shards(part: Part, size_bytes: int, shard_bytes: int) -> list[Part] | None:
    """Split the part of an mbox file into shards; return None if the file is not an mbox."""
    (path,) = part.where
    with open_file(path) as stream:
        head = stream.read(HEAD)
    if not head.startswith(mbox.FROM):
        return None
    starts = range(0, size_bytes, shard_bytes)
    ends = [*starts[1:], None]  # the last shard includes mail that is appended meanwhile
    return [
        part._replace(reader=read, where=(path, start, end), holds="shard")
        for start, end in zip(starts, ends, strict=True)
    ]


def read(path: str, start: int, end: int | None) -> Iterator[tuple[str, bytes]]:
    r"""Yield the messages of an mbox that begin between two positions, with sources that are still to be numbered.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     inbox = Path(folder, "inbox.mbox")
    ...     _ = inbox.write_bytes(b"From ann@example.org\nSubject: lunch?\n\nFrom bob@example.org\nSubject: yes\n")
    ...     messages = [*read(f"{inbox}", 0, 9), *read(f"{inbox}", 9, 20), *read(f"{inbox}", 20, None)]
    >>> numbering = ShardNumbering()
    >>> [(numbering.number(source).removeprefix(folder), raw) for source, raw in messages]
    [('/inbox.mbox:1', b'Subject: lunch?\n'), ('/inbox.mbox:2', b'Subject: yes\n')]
    """
    source = f"{path}{_TO_NUMBER}"
    with open_file(path) as stream:
        first = 0 if start == 0 else _envelope(stream, start)
        last = None if end is None else _envelope(stream, end)
        if first is None or first == last:
            return
        stream.seek(first)
        blocks = _blocks(stream, None if last is None else last - first)
        if start == 0:  # as in `mbox.read`, so that LARGEST_MESSAGE cuts at the same byte
            blocks = chain([next(blocks).removeprefix(mbox.FROM)], blocks)
            source = f"{path}{_FIRST}"
        for message in mbox.split(blocks):
            yield source, mbox.unwrap(message)
            source = f"{path}{_TO_NUMBER}"


class ShardNumbering:
    """Numbers the messages of shards, which must come in the order of their file."""

    def __init__(self) -> None:
        self._n = 0

    def number(self, source: str) -> str:
        """Return a source with its number; sources that are not from shards are unchanged."""
        path, to_number, first = source.partition(_TO_NUMBER)
        if not to_number:
            return source
        self._n = 1 if first else self._n + 1
        return f"{path}:{self._n}"


def _envelope(stream: IO[bytes], at_least: int) -> int | None:
    """Return the position of the first message that begins at `at_least` or later, or None."""
    begin = max(at_least - _LONGEST, 0)
    stream.seek(begin)
    held = b""
    while block := stream.read(mbox.BLOCK):
        held += block
        for envelope in _ENVELOPE.finditer(held):
            position = begin + envelope.end() - len(mbox.FROM)
            if position >= at_least:
                return position
        begin += max(len(held) - _LONGEST, 0)
        held = held[-_LONGEST:]
    return None


def _blocks(stream: IO[bytes], size_bytes: int | None) -> Iterator[bytes]:
    """Yield the next `size_bytes` bytes in blocks, or all that follow if it is None."""
    left = size_bytes
    while left != 0 and (block := stream.read(mbox.BLOCK if left is None else min(left, mbox.BLOCK))):
        yield block
        left = None if left is None else left - len(block)
