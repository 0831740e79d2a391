"""Mail that was checked on arrival and about which people may still say something: a file per day, in the home.

A record has the identity of a message, its scores and what the filter said, but no text. A sample of the messages also
has its packed features, from which it can be learned. One call of the system appends a record, so it survives a killed
process; after a power cut, records that are damaged are skipped.
"""

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from priory.journal.files import give_to_owner
from priory.journal.lesson import JournalError

DAY_S: Final = 86_400.0
FOLDER: Final = "checked"
_MAGIC: Final = b"\xf0chk"
_FRAME: Final = struct.Struct("<4sII")  # magic, size, CRC-32
_HEAD: Final = struct.Struct("<32s3B")  # identity; the lengths of decision and sender; the number of scores
_MOST_BYTES: Final = 4 << 20  # of a day: its later messages are recorded without features


class CheckedMessage(NamedTuple):
    """A message that was checked on arrival."""

    identity: bytes  #: the identity that all copies of the message share
    decision: str  #: a label, or *unsure*
    scores: tuple[float, ...]  #: of each contrast, before calibration
    sender: str = ""
    features: bytes = b""  #: packed; empty if the message cannot be learned


class CheckedMailError(JournalError):
    """Checked mail cannot be recorded, or its files cannot be listed."""


class CheckedMail:
    """The files of one home into which one program writes: the daemon, or `priory imap`."""

    def __init__(self, home: Path, program: str, clock: Callable[[], float] = time.time) -> None:
        self._folder = home / FOLDER
        self._program = program
        self._clock = clock
        self._open: tuple[int, int] | None = None  # the day of the file that is open, and its descriptor

    def append(self, message: CheckedMessage) -> None:
        """Record a message; the record survives if this process is killed."""
        try:
            descriptor = self._descriptor()
            if message.features and os.lseek(descriptor, 0, os.SEEK_END) > _MOST_BYTES:
                message = message._replace(features=b"")
            os.write(descriptor, _packed(message))
        except OSError as error:
            raise CheckedMailError(f"cannot record checked mail in {self._folder}: {error.strerror}") from None

    def _descriptor(self) -> int:
        day = int(self._clock() // DAY_S)
        if self._open is None or self._open[0] != day:
            self.close()
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path = self._folder / f"{self._program}.{day}"
            self._open = day, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            give_to_owner(self._folder)
            give_to_owner(path)
        return self._open[1]

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            os.close(self._open[1])
            self._open = None


def is_recorded(home: Path) -> bool:
    """Tell whether mail that was checked in a home was ever recorded."""
    return (home / FOLDER).is_dir()


def checked_files_due(home: Path, program: str, days: int, clock: Callable[[], float] = time.time) -> list[Path]:
    """Return the files of a program whose last message was checked at least `days` days ago, the oldest first."""
    before = int(clock() // DAY_S) - days
    try:
        dated = [(path.suffix[1:], path) for path in (home / FOLDER).iterdir() if path.stem == program]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CheckedMailError(f"cannot read the checked mail in {home / FOLDER}: {error.strerror}") from None
    return [path for day, path in sorted(dated) if day.isdecimal() and int(day) < before]


def read_checked(path: Path) -> Iterator[CheckedMessage]:
    """Yield the messages that a file records; damaged records are skipped."""
    data = path.read_bytes()
    at = data.find(_MAGIC)
    while at >= 0:
        body = _body(data, at)
        if body is None:
            at = data.find(_MAGIC, at + 1)
        else:
            yield _unpacked(body)
            at = data.find(_MAGIC, at + _FRAME.size + len(body))


def n_damaged_bytes(path: Path) -> int:
    """Return how many bytes of a file belong to no readable record."""
    data = path.read_bytes()
    at = readable = 0
    while (at := data.find(_MAGIC, at)) >= 0:
        body = _body(data, at)
        size = _FRAME.size + len(body) if body is not None else 0
        readable += size
        at += max(size, 1)
    return len(data) - readable


@cache
def _scores_struct(n: int) -> struct.Struct:
    return struct.Struct(f"<{n}f")


def _packed(message: CheckedMessage) -> bytes:
    decision, sender = message.decision.encode()[:255], message.sender.encode("utf-8", "replace")[:255]
    lengths = bytes((len(decision), len(sender), len(message.scores)))
    scores = _scores_struct(len(message.scores)).pack(*message.scores)
    body = b"".join((message.identity, lengths, decision, sender, scores, message.features))
    return _FRAME.pack(_MAGIC, len(body), zlib.crc32(body)) + body


def _body(data: bytes, at: int) -> bytes | None:
    """Return the body of the record at an offset; None if it is damaged."""
    if len(data) - at < _FRAME.size:
        return None
    _, size, checksum = _FRAME.unpack_from(data, at)
    body = data[at + _FRAME.size : at + _FRAME.size + size]
    return body if len(body) == size >= _HEAD.size and zlib.crc32(body) == checksum else None


def _unpacked(body: bytes) -> CheckedMessage:
    identity, n_decision, n_sender, n_scores = _HEAD.unpack_from(body)
    decision_end = _HEAD.size + n_decision
    sender_end = decision_end + n_sender
    scores_end = sender_end + 4 * n_scores
    return CheckedMessage(
        identity,
        body[_HEAD.size : decision_end].decode(),
        _scores_struct(n_scores).unpack_from(body, sender_end),
        body[decision_end:sender_end].decode("utf-8", "replace"),
        body[scores_end:],
    )
