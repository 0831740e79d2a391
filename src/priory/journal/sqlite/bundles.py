"""Bundles: the features of several lessons in one row, so that the pages of the database are full.

A page has 4 kB and the features of a lesson about 3.1 kB: one row per lesson would leave a third of the file empty. So
the features of consecutive lessons share a row, a bundle. A bundle has the number of its first lesson. A lesson is in
the last bundle whose number is not above its own; its row says where in the bundle its features start, and their size.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from priory.native.blocks import checksum_of

FULL: Final = 256 * 1024  #: bytes; on average half a page of a bundle is empty, 0.8 % of this
SMALL: Final = 16 * 1024  #: bytes; `tidy` joins smaller bundles
BUNDLES: Final = """
CREATE TABLE bundles (
  first INTEGER PRIMARY KEY,
  features BLOB NOT NULL,
  checksum INTEGER                  -- of the features, none in a bundle of an older Priory
)"""
_END: Final = 1 << 62


class _Bundle(NamedTuple):
    """A bundle, and the number of the next bundle."""

    first: int
    features: bytes | None  #: None if they are damaged
    end: int


class Bundles:
    """The bundles of a journal; `lessons` has the columns change, start and size."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def append(self, learned: Iterable[tuple[int, bytes]]) -> list[int]:
        """Store the features of lessons, in ascending order of their numbers; return where each starts."""
        starts: list[int] = []
        parts: list[bytes] = []
        first = size = 0
        for change, features in learned:
            if size + len(features) > FULL:
                self._insert(first, parts)
                parts, size = [], 0
            if not parts:
                first = change
            starts.append(size)
            parts.append(features)
            size += len(features)
        self._insert(first, parts)
        return starts

    def _insert(self, first: int, parts: list[bytes]) -> None:
        if parts:
            features = b"".join(parts)
            row = first, features, _checksum(features)
            self._db.execute("INSERT INTO bundles (first, features, checksum) VALUES (?, ?, ?)", row)

    def read(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], bytes | None]]:
        """Yield rows, which begin with a lesson's number, start and size, each with the lesson's features.

        None stands for features that are damaged or missing.
        """
        bundle = _Bundle(0, b"", 0)
        for row in rows:
            change, start, size = row[:3]
            if not isinstance(change, int):
                continue
            if not bundle.first <= change < bundle.end:
                bundle = self._bundle(change)
            yield row, _part(bundle.features, start, size)

    def _bundle(self, change: int) -> _Bundle:
        row = self._db.execute(
            "SELECT first, features, checksum FROM bundles WHERE first <= ? ORDER BY first DESC LIMIT 1", (change,)
        ).fetchone()
        if row is None:
            return _Bundle(change, None, change + 1)
        first, features, checksum = row
        is_whole = isinstance(features, bytes) and checksum in {None, _checksum(features)}
        return _Bundle(first, features if is_whole else None, self._after(first))

    def _after(self, first: int) -> int:
        (after,) = self._db.execute("SELECT min(first) FROM bundles WHERE first > ?", (first,)).fetchone()
        return _END if after is None else int(after)

    def tidy(self, gone: Iterable[int], since: int) -> None:
        """Remove the features of deleted lessons, and join the small bundles stored after a change."""
        numbers = (change for change in gone if isinstance(change, int))
        for first in sorted({bundle.first for bundle in map(self._bundle, numbers) if bundle.features is not None}):
            self._rewrite([first])
        rows = self._db.execute("SELECT first, length(features) FROM bundles WHERE first > ? ORDER BY first", (since,))
        run: list[int] = []
        run_bytes = 0
        for first, size in rows.fetchall():
            if run_bytes + size > FULL or size >= SMALL:
                self._join(run)
                run, run_bytes = [], 0
            if size < SMALL:
                run.append(first)
                run_bytes += size
        self._join(run)

    def _join(self, run: Sequence[int]) -> None:
        if len(run) > 1:
            self._rewrite(run)

    def _rewrite(self, run: Sequence[int]) -> None:
        """Replace consecutive bundles by new ones that hold the lessons that remain."""
        lessons = self._db.execute(
            "SELECT change, start, size FROM lessons WHERE change >= ? AND change < ? ORDER BY change",
            (run[0], self._after(run[-1])),
        ).fetchall()
        left = [(row[0], features) for row, features in self.read(lessons) if features is not None]
        if len(left) < len(lessons):
            return  # what is damaged stays as it is
        self._db.executemany("DELETE FROM bundles WHERE first = ?", [(first,) for first in run])
        starts = self.append(left)
        self._db.executemany(
            "UPDATE lessons SET start = ? WHERE change = ?",
            [(start, change) for start, (change, _) in zip(starts, left, strict=True)],
        )


def _checksum(features: bytes) -> int:
    """Return a checksum of 31 bits, which SQLite stores in 4 bytes; CRC-32 takes twice the instructions."""
    return checksum_of(features) & 0x7FFFFFFF


def _part(features: bytes | None, start: object, size: object) -> bytes | None:
    """Return a part of a bundle; None if there is no such part."""
    if features is None or not (isinstance(start, int) and isinstance(size, int)):
        return None
    return features[start : start + size] if 0 <= start <= start + size <= len(features) else None
