r"""Reads a part of a large mbox, so that several can read it side by side: the messages that begin between two bytes.

A message begins with an envelope line after a blank line, wherever a reader comes from; who starts in the middle of a
message looks for the next one, and who is done reads its last message to its end. Which message of the file it is
cannot be known from the middle: its source is left to be numbered by who has all of them in order.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import IO, Final

from priory.corpus import looks, mbox
from priory.corpus.part import Part
from priory.corpus.raw import opened

SHARD_BYTES: Final = 4 * 1024 * 1024
_ENVELOPE: Final = re.compile(rb"\n\r?\nFrom ")
_LONGEST: Final = len(b"\n\r\nFrom ")
_TO_NUMBER: Final = "\0"  # which no path has in it
_FIRST: Final = "\0first"


def shards(part: Part, size_bytes: int, shard_bytes: int) -> list[Part] | None:
    """Return the parts of a file that is an mbox; None if it is none."""
    (path,) = part.where
    with opened(path) as stream:
        head = stream.read(looks.HEAD)
    if not head.startswith(mbox.FROM):
        return None
    starts = range(0, size_bytes, shard_bytes)
    ends = [*starts[1:], None]  # the last one reads what comes meanwhile, too
    return [
        part._replace(reader=read, where=(path, start, end), holds="shard")
        for start, end in zip(starts, ends, strict=True)
    ]


def read(path: str, start: int, end: int | None) -> Iterator[tuple[str, bytes]]:
    r"""Yield the messages of an mbox that begin between two bytes, with sources that are still to be numbered.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     inbox = Path(folder, "inbox.mbox")
    ...     _ = inbox.write_bytes(b"From ann@example.org\nSubject: lunch?\n\nFrom bob@example.org\nSubject: yes\n")
    ...     several = [*read(f"{inbox}", 0, 9), *read(f"{inbox}", 9, 20), *read(f"{inbox}", 20, None)]
    >>> numbers = Numbers()
    >>> [(numbers.of(source).removeprefix(folder), raw) for source, raw in several]
    [('/inbox.mbox:1', b'Subject: lunch?\n'), ('/inbox.mbox:2', b'Subject: yes\n')]
    """
    source = f"{path}{_TO_NUMBER}"
    with opened(path) as stream:
        first = 0 if start == 0 else _envelope(stream, start)
        last = None if end is None else _envelope(stream, end)
        if first is None or first == last:
            return
        stream.seek(first)
        blocks = _blocks(stream, None if last is None else last - first)
        if start == 0:  # as who reads the whole does: messages are cut off after so many bytes
            blocks = chain([next(blocks).removeprefix(mbox.FROM)], blocks)
            source = f"{path}{_FIRST}"
        for message in mbox.split(blocks):
            yield source, mbox.unwrapped(message)
            source = f"{path}{_TO_NUMBER}"


class Numbers:
    """Numbers the messages of shards, which come in the order of their file."""

    def __init__(self) -> None:
        self._n = 0

    def of(self, source: str) -> str:
        """Return a source with its number, or as it is if it needs none."""
        path, to_number, first = source.partition(_TO_NUMBER)
        if not to_number:
            return source
        self._n = 1 if first else self._n + 1
        return f"{path}:{self._n}"


def _envelope(stream: IO[bytes], at_least: int) -> int | None:
    """Return where the first message begins that begins there or later; None if there is none."""
    begin = max(at_least - _LONGEST, 0)
    stream.seek(begin)
    held = b""
    while block := stream.read(mbox.BLOCK):
        held += block
        for found in _ENVELOPE.finditer(held):
            place = begin + found.end() - len(mbox.FROM)
            if place >= at_least:
                return place
        begin += max(len(held) - _LONGEST, 0)
        held = held[-_LONGEST:]
    return None


def _blocks(stream: IO[bytes], size_bytes: int | None) -> Iterator[bytes]:
    """Yield so many bytes in blocks, or all that follow."""
    left = size_bytes
    while left != 0 and (block := stream.read(mbox.BLOCK if left is None else min(left, mbox.BLOCK))):
        yield block
        left = None if left is None else left - len(block)
