"""What people said while the journal could not be reached: kept in a file until it can, then taken in, in order.

Each act has the time at which it was acknowledged. So it does no harm if one is taken in twice, or late: a journal
that has heard something later about the message stays as it is.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from priory.journal.lesson import JournalError
from priory.journal.ownership import give_to_owner
from priory.journal.sqlite.errors import errors_named

NAME: Final = "outbox.sqlite"
FORMAT: Final = 1
_WAIT_S: Final = 10.0
_SCHEMA: Final = """
CREATE TABLE kept (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  journal TEXT NOT NULL,            -- whose lessons these are: features fit no other journal
  letter BLOB NOT NULL,
  digest BLOB NOT NULL,
  label TEXT,                       -- none if the lesson is to be forgotten
  features BLOB NOT NULL,
  user TEXT NOT NULL,
  source TEXT NOT NULL,
  sender TEXT NOT NULL,
  time REAL NOT NULL
)
"""
_COLUMNS: Final = "letter, digest, label, features, user, source, sender, time"


class Kept(NamedTuple):
    """Something that a person said: a message is of a label, or what was learned of it is to be forgotten."""

    letter: bytes  #: the name of the message whoever's copy it is; empty if that does not matter
    digest: bytes
    label: str | None  #: None if the lesson is to be forgotten
    features: bytes
    user: str
    source: str
    sender: str
    time: float


class Outbox:
    """The file of a home in which acts wait for the journal of an id; there is none until something must wait."""

    def __init__(self, home: Path, journal: str) -> None:
        self._path = home / NAME
        self._journal = journal

    def keep(self, acts: Iterable[Kept]) -> None:
        """Write acts down; durable when this returns."""
        with self._opened() as db:
            db.executemany(
                f"INSERT INTO kept (journal, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                [(self._journal, *act) for act in acts],
            )

    def first(self, most: int) -> tuple[list[Kept], int]:
        """Return the acts that came first, and the number of the last of them."""
        if not self._path.exists():
            return [], 0
        with self._opened() as db:
            sql = f"SELECT number, {_COLUMNS} FROM kept WHERE journal = ? ORDER BY number LIMIT ?"  # noqa: S608
            rows = db.execute(sql, (self._journal, most)).fetchall()
        return [Kept._make(act) for _, *act in rows], rows[-1][0] if rows else 0

    def drop(self, last: int) -> None:
        """Let go of the acts up to a number, which the journal has taken in."""
        with self._opened() as db:
            db.execute("DELETE FROM kept WHERE journal = ? AND number <= ?", (self._journal, last))

    def drop_user(self, user: str) -> None:
        """Let go of all that a user said."""
        if self._path.exists():
            with self._opened() as db:
                db.execute("DELETE FROM kept WHERE user = ?", (user,))

    def __len__(self) -> int:
        if not self._path.exists():
            return 0
        with self._opened() as db:
            (n,) = db.execute("SELECT count(*) FROM kept WHERE journal = ?", (self._journal,)).fetchone()
            return int(n)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction: few come by, and none holds the others up."""
        with errors_named(self._path, _WAIT_S):
            _touch(self._path)
            db = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
            try:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA secure_delete = ON")
                db.execute("BEGIN IMMEDIATE")
                if _format(self._path, db) < FORMAT:  # else who looks would write, and wait for the disk
                    db.execute(_SCHEMA)
                    db.execute(f"PRAGMA user_version = {FORMAT}")
                yield db
                db.execute("COMMIT")
            finally:
                db.close()


def is_waiting(home: Path) -> bool:
    """Tell whether something is kept in a home, for whichever journal; where somebody is writing, there will be."""
    if not (home / NAME).exists():
        return False
    with closing(sqlite3.connect(home / NAME, timeout=0)) as db:
        try:
            (is_kept,) = db.execute("SELECT EXISTS (SELECT 1 FROM kept)").fetchone()
        except sqlite3.Error:
            return True
    return bool(is_kept)


def _touch(path: Path) -> None:
    """Make the file, for its owner alone.

    One that is there is left alone: to close it would give up the locks that another thread has on it, see `in_use`.
    """
    if path.exists():
        return
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))
        give_to_owner(path)
    except FileExistsError:
        return
    except OSError as error:
        raise JournalError(
            f"{path} cannot be made: {os.strerror(error.errno or 0)}. Check that the folder is writable."
        ) from None


def _format(path: Path, db: sqlite3.Connection) -> int:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > FORMAT:
        raise JournalError(f"{path} has format {found}, this Priory knows up to {FORMAT}: use a newer Priory.")
    return int(found)
