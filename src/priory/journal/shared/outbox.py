"""The outbox: lessons and requests to forget that wait in a file until the journal can be reached.

Each entry has the time at which it was acknowledged. So it may be delivered late or twice: a journal that has a later
lesson about the message ignores it.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from priory.journal.database import stored_user
from priory.journal.files import give_to_owner
from priory.journal.lesson import JournalError
from priory.journal.sqlite.database import translate_errors

NAME: Final = "outbox.sqlite"
FORMAT: Final = 2
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
_STEPS: Final = (_SCHEMA, "ALTER TABLE kept ADD COLUMN subject TEXT NOT NULL DEFAULT ''")
_COLUMNS: Final = "letter, digest, label, features, user, source, sender, time, subject"


class OutboxEntry(NamedTuple):
    """A lesson that a person has taught, or the request to forget one."""

    identity: bytes  #: of the message, the same for all copies; empty if that is not needed
    digest: bytes
    label: str | None  #: None to forget the lesson
    features: bytes
    user: str
    source: str
    sender: str
    time: float
    subject: str = ""  #: if the journal keeps subjects


class Outbox:
    """The entries of a home that wait for one journal, given by its id; the file is created with the first entry."""

    def __init__(self, home: Path, journal: str) -> None:
        self._path = home / NAME
        self._journal = journal

    def keep(self, entries: Iterable[OutboxEntry]) -> None:
        """Append entries; they are durable when this returns."""
        with self._transaction() as db:
            db.executemany(
                f"INSERT INTO kept (journal, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                [(self._journal, *entry._replace(user=stored_user(entry.user))) for entry in entries],
            )

    def first(self, most: int) -> tuple[list[OutboxEntry], int]:
        """Return the oldest entries, and the number of the last of them."""
        if not self._path.exists():
            return [], 0
        with self._transaction() as db:
            sql = f"SELECT number, {_COLUMNS} FROM kept WHERE journal = ? ORDER BY number LIMIT ?"  # noqa: S608
            rows = db.execute(sql, (self._journal, most)).fetchall()
        return [OutboxEntry._make(entry) for _, *entry in rows], rows[-1][0] if rows else 0

    def drop(self, last: int) -> None:
        """Delete the entries up to a number, which were delivered."""
        with self._transaction() as db:
            db.execute("DELETE FROM kept WHERE journal = ? AND number <= ?", (self._journal, last))

    def drop_user(self, user: str) -> None:
        """Delete all entries of a user."""
        if self._path.exists():
            with self._transaction() as db:
                db.execute("DELETE FROM kept WHERE user = ?", (user,))

    def n_entries(self) -> int:
        """Return how many entries wait for this journal."""
        if not self._path.exists():
            return 0
        with self._transaction() as db:
            (n,) = db.execute("SELECT count(*) FROM kept WHERE journal = ?", (self._journal,)).fetchone()
            return int(n)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction: it is rarely used, and an idle connection could hold others up."""
        with translate_errors(self._path, _WAIT_S):
            _touch(self._path)
            db = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None)
            try:
                db.execute("PRAGMA synchronous = FULL")
                db.execute("PRAGMA secure_delete = ON")
                db.execute("BEGIN IMMEDIATE")
                format_ = _format(self._path, db)
                if format_ < FORMAT:  # checked first, so that a mere reader does not wait for the disk
                    for step in _STEPS[format_:]:
                        db.execute(step)
                    db.execute(f"PRAGMA user_version = {FORMAT}")
                yield db
                db.execute("COMMIT")
            finally:
                db.close()


def is_waiting(home: Path) -> bool:
    """Tell whether an outbox has entries for any journal; True also while another process writes to it."""
    if not (home / NAME).exists():
        return False
    with closing(sqlite3.connect(home / NAME, timeout=0)) as db:
        try:
            (has_entries,) = db.execute("SELECT EXISTS (SELECT 1 FROM kept)").fetchone()
        except sqlite3.Error:
            return True
    return bool(has_entries)


def _touch(path: Path) -> None:
    """Create the file, for its owner alone.

    An existing file is not opened: closing it would release the locks of another thread, see `sqlite.database`.
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
            f"{path} cannot be created: {os.strerror(error.errno or 0)}. Check that the folder is writable."
        ) from None


def _format(path: Path, db: sqlite3.Connection) -> int:
    (format_,) = db.execute("PRAGMA user_version").fetchone()
    if format_ > FORMAT:
        raise JournalError(f"{path} has format {format_}, this Priory knows up to {FORMAT}: use a newer Priory.")
    return int(format_)
