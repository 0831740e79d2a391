"""The spool: the checked messages about which a person may be asked, in a folder of the home.

Mail passes through the filter and is gone, so whoever is to be asked about it needs a copy. The spool is off unless the
options have limits for it. Each message is a file of its own, byte for byte as it was checked, and its name has all
that decides how long it stays:

    COST-TIME-IDENTITY-DIGEST.eml    expected cost of the verdict, time of storing in ms, identity of its copies, digest

Beyond the limits the message with the lowest cost is deleted first, of equals the oldest. A message that was answered
or skipped gets the ending `.left`; it is deleted a few minutes later, so that a person can undo the answer. Files are
renamed and deleted, never changed: every process may do so at any time, without a lock, and a crash leaves at most a
temporary file, which the next pass deletes.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from priory.filter.options import SpoolLimits
from priory.journal.files import give_to_owner, replacing
from priory.message import identity, parse

FOLDER: Final = "spool"
SOURCE: Final = "spool"  #: the source of lessons that are learned from here
MOST_MESSAGES: Final = 500  #: checking all of them for the next questions takes a third of a second
MOST_MESSAGE_BYTES: Final = 256_000  #: a larger message is not stored
UNDO_S: Final = 600.0  #: seconds for which an answered message can be asked about again
_ENDING, _LEFT = ".eml", ".left"
_IDENTITY_DIGITS: Final = 32
_DIGEST_DIGITS: Final = 64


class SpooledMessage(NamedTuple):
    """A message in the spool, as its file name describes it."""

    cost: float  #: expected cost of the verdict when it was stored
    time: float  #: when it was stored, in seconds
    identity: str
    digest: str
    has_left: bool  #: whether it was answered or skipped

    @property
    def name(self) -> str:
        """The name of its file.

        >>> SpooledMessage.of(SpooledMessage(4.0, 1793525400.25, 32 * "a", 64 * "0", has_left=False).name)
        SpooledMessage(cost=4.0, time=1793525400.25, identity='aaaa...', digest='0000...', has_left=False)
        """
        ending = f"{_ENDING}{_LEFT}" if self.has_left else _ENDING
        return f"{self.cost!r}-{round(1000 * self.time)}-{self.identity}-{self.digest}{ending}"

    @classmethod
    def of(cls, name: str) -> "SpooledMessage | None":
        """Read the name of a file; None if it is no message of the spool."""
        stem = name.removesuffix(_LEFT)
        start, identity_, digest = stem.removesuffix(_ENDING).rsplit("-", 2) if stem.count("-") >= 3 else ("", "", "")
        cost, _, milliseconds = start.rpartition("-")
        if not (stem.endswith(_ENDING) and len(identity_) == _IDENTITY_DIGITS and len(digest) == _DIGEST_DIGITS):
            return None
        try:
            message = cls(float(cost), int(milliseconds) / 1000, identity_, digest, stem != name)
        except ValueError:
            return None
        return message if message.name == name else None


class Spool:
    """The spool of a home; without limits it is off, and `tidy` deletes what is in it."""

    def __init__(self, home: Path, limits: SpoolLimits | None) -> None:
        self.folder = home / FOLDER
        self.limits = limits

    def __len__(self) -> int:
        """Return the number of messages to ask about."""
        return sum(not message.has_left for message in self._messages())

    def size_bytes(self) -> int:
        """Return the size of all files."""
        return sum(status.st_size for _, status in self._files())

    def keep(self, raw: bytes, cost: float) -> None:
        """Store a message with the expected cost of its verdict, and delete what is too much.

        A copy of a message replaces it. If it has been answered or skipped a moment ago, the copy is not stored.
        """
        if self.limits is None or len(raw) > min(MOST_MESSAGE_BYTES, self.limits.n_bytes):
            return
        message = parse(raw)
        new = SpooledMessage(
            float(cost), time.time(), identity(message).hex()[:_IDENTITY_DIGITS], message.digest.hex(), has_left=False
        )
        copies = [stored for stored in self._messages() if stored.identity == new.identity]
        if any(copy.has_left for copy in copies):
            return
        self._make_folder()
        with replacing(self.folder / new.name, sync=False, suffix=f"new{os.getpid()}") as file:
            file.write(raw)
        for copy in copies:
            self._delete(copy.name)
        self.tidy()

    def tidy(self) -> None:
        """Delete what is too old or too much, what was answered some minutes ago, and what a crash has left behind."""
        if self.limits is None:
            self._clear()
            return
        kept: list[tuple[SpooledMessage, int]] = []
        for name, status in self._files():
            message = SpooledMessage.of(name)
            if self._is_over(message, status.st_mtime, self.limits.age_s):
                self._delete(name)
            elif message is not None:
                kept.append((message, status.st_size))
        kept.sort(key=lambda stored: (not stored[0].has_left, stored[0].cost, stored[0].time), reverse=True)
        n_bytes = 0
        for i, (message, size_bytes) in enumerate(kept):
            n_bytes += size_bytes
            if i >= MOST_MESSAGES or n_bytes > self.limits.n_bytes:
                self._delete(message.name)

    @staticmethod
    def _is_over(message: SpooledMessage | None, changed: float, age_s: float) -> bool:
        """Tell whether the time of a file is over; a clock that was wrong must not make it stay."""
        now = time.time()
        if message is not None and abs(now - message.time) > age_s:
            return True
        return (message is None or message.has_left) and abs(now - changed) > UNDO_S

    def mail(self, is_taught: Callable[[bytes], object]) -> Iterator[tuple[bytes, str]]:
        """Yield each message to ask about, and its source.

        A message leaves if a person has taught one with its digest, on any machine. One that a crash has damaged is
        deleted.
        """
        for message in list(self._messages()):
            if message.has_left or (raw := self._read(message)) is None:
                continue
            if parse(raw).digest.hex() != message.digest:
                self._delete(message.name)
            elif is_taught(bytes.fromhex(message.digest)):
                self._mark([message], has_left=True)
            else:
                yield raw, SOURCE

    def damaged(self) -> Iterator[Path]:
        """Yield the files whose messages are not what was stored."""
        for message in list(self._messages()):
            raw = self._read(message)
            if raw is not None and parse(raw).digest.hex() != message.digest:
                yield self.folder / message.name

    def find(self, digest: str, *, has_left: bool = False) -> bytes | None:
        """Return the message with this digest, among those to ask about or among those that have left."""
        for message in self._messages():
            if message.digest == digest and message.has_left is has_left:
                return self._read(message)
        return None

    def leave(self, digest: str) -> bool:
        """Ask no more about the message with this digest; tell whether there was one."""
        return self._mark([message for message in self._messages() if message.digest == digest], has_left=True)

    def leave_copies(self, identities: Iterable[bytes]) -> None:
        """Ask no more about copies of the messages with these identities: a person has taught them."""
        names = {identity_.hex()[:_IDENTITY_DIGITS] for identity_ in identities}
        with suppress(OSError):  # a lesson does not fail because of the spool
            self._mark([message for message in self._messages() if message.identity in names], has_left=True)

    def restore(self, digest: str) -> bool:
        """Ask again about a message that was answered or skipped; tell whether it is still here."""
        return self._mark([message for message in self._messages() if message.digest == digest], has_left=False)

    def _mark(self, messages: Iterable[SpooledMessage], *, has_left: bool) -> bool:
        n_marked = 0
        for message in messages:
            if message.has_left is not has_left:
                with suppress(FileNotFoundError):
                    os.utime(self.folder / message.name)  # the time from which the minutes to undo are counted
                    (self.folder / message.name).rename(self.folder / message._replace(has_left=has_left).name)
                    n_marked += 1
        return n_marked > 0

    def _messages(self) -> Iterator[SpooledMessage]:
        for name in self._names():
            if (message := SpooledMessage.of(name)) is not None:
                yield message

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.folder)  # noqa: PTH208 - with many files, paths take ten times as long
        except FileNotFoundError:
            return []

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield names and states of our files, temporary ones included; files of other names are not ours."""
        for name in self._names():
            stem, ending, _ = name.partition(_ENDING)
            if SpooledMessage.of(stem + ending) is not None:
                with suppress(FileNotFoundError):  # another process has deleted it
                    yield name, (self.folder / name).stat()

    def _read(self, message: SpooledMessage) -> bytes | None:
        try:
            return (self.folder / message.name).read_bytes()
        except FileNotFoundError:
            return None

    def _delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def _clear(self) -> None:
        for name, _ in self._files():
            self._delete(name)
        with suppress(OSError):  # there is none, or it has files of others
            self.folder.rmdir()

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            give_to_owner(self.folder)
