"""Stores sightings of messages in a database of its own: numbers and digests, nothing of any message."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import IO, Any, Final

from priory.imap.account import MailboxError
from priory.imap.sightings import (
    Change,
    Due,
    FolderMark,
    MailboxState,
    Origin,
    PastFiling,
    Role,
    Sighting,
    SightingRemoved,
)
from priory.journal.files import give_to_owner

FORMAT: Final = 1
#: How long to remember that a message was in Junk. Servers empty the trash sooner, usually after 30 days.
RETENTION_S: Final = 90 * 24 * 3600
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS marks (
  account TEXT, folder TEXT, role TEXT, uidvalidity INTEGER, next_uid INTEGER, before INTEGER,
  PRIMARY KEY (account, folder)
);
CREATE TABLE IF NOT EXISTS entries (
  account TEXT, folder TEXT, uidvalidity INTEGER, uid INTEGER, digest BLOB, put TEXT, due TEXT,
  PRIMARY KEY (account, folder, uidvalidity, uid)
);
CREATE TABLE IF NOT EXISTS gone_from_junk (
  account TEXT, digest BLOB, put TEXT, time REAL,
  PRIMARY KEY (account, digest)
);
PRAGMA user_version = {FORMAT};
"""


class SightingStore:
    """The stored state of one account; one process at a time may have it open."""

    def __init__(self, home: Path, account: str) -> None:
        self._path = home / "imap.sqlite"
        self._account = account
        self._lock = _lock(home / "imap.lock")
        try:
            with self._name_errors():
                self._db = sqlite3.connect(self._path, isolation_level=None)
                self._open()
                self.state = self._load()
            give_to_owner(self._path)
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise MailboxError(
                f"{self._path} was written by another Priory (format {version}); use that version, or remove the file"
            )
        self._db.execute("PRAGMA synchronous = FULL")  # a change must be durable before its task is done
        self._db.executescript(_SCHEMA)
        expired = time.time() - RETENTION_S
        self._db.execute("DELETE FROM gone_from_junk WHERE account = ? AND time < ?", (self._account, expired))

    def _load(self) -> MailboxState:
        return MailboxState(
            [
                *starmap(_mark, self._rows("folder, role, uidvalidity, next_uid, before", "marks")),
                *starmap(_sighting, self._rows("folder, uid, digest, put, due", "entries")),
                *starmap(_past_filing, self._rows("digest, put", "gone_from_junk")),
            ]
        )

    def _rows(self, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT {columns} FROM {table} WHERE account = ?"  # noqa: S608 - both are constants of this module
        return self._db.execute(sql, (self._account,))

    def write(self, changes: Iterable[Change]) -> None:
        """Write changes in one transaction; they are durable before they are applied to the state."""
        all_ = list(changes)
        if not all_:
            return
        with self._name_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                marks = dict(self.state.marks)
                for change in all_:
                    self._write(change, marks)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SIGTERM may interrupt right after the commit
                    self._db.execute("ROLLBACK")
                raise
        self.state.apply(all_)

    def _write(self, change: Change, marks: dict[str, FolderMark]) -> None:
        match change:
            case FolderMark(folder, role, uidvalidity, next_uid, before):
                marks[folder] = change
                values = (str(role), uidvalidity, next_uid, before)
                self._db.execute("REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?)", (self._account, folder, *values))
            case Sighting(folder, uid, digest, origin, due):
                place = (self._account, folder, marks[folder].uidvalidity, uid)
                meaning = (digest, origin.value, str(due) if due else "")
                self._db.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, *meaning))
            case SightingRemoved():
                sql = "DELETE FROM entries WHERE account = ? AND folder = ? AND uid = ?"
                self._db.execute(sql, (self._account, *change))
            case PastFiling(digest, origin):
                filing = (self._account, digest, origin.value, time.time())
                self._db.execute("REPLACE INTO gone_from_junk VALUES (?, ?, ?, ?)", filing)

    def close(self) -> None:
        """Close the database, and release the lock."""
        self._db.close()
        self._lock.close()

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValueError) as error:  # ValueError: an unknown role, task or origin
            raise MailboxError(
                f"{self._path}: {error}. Check the disk and the rights of this account. If the file is damaged, remove "
                "it: mail that is in Junk then counts as having been there before."
            ) from None


def _mark(folder: str, role: str, uidvalidity: int, next_uid: int, before: int) -> FolderMark:
    return FolderMark(folder, Role.parse(role), uidvalidity, next_uid, before)


def _sighting(folder: str, uid: int, digest: bytes, origin: str, due: str) -> Sighting:
    return Sighting(folder, uid, digest, Origin(origin), Due.parse(due) if due else None)


def _past_filing(digest: bytes, origin: str) -> PastFiling:
    return PastFiling(digest, Origin(origin))


def _lock(path: Path) -> IO[bytes]:
    """Lock a file until it is closed or the process ends, however it ends."""
    try:
        file = path.open("ab")
    except OSError as error:
        raise MailboxError(f"{path} cannot be written: {error.strerror}. Check the rights of this account.") from None
    give_to_owner(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise MailboxError(f"another priory imap runs in {path.parent}; wait until it has ended") from None
    os.set_inheritable(file.fileno(), False)  # a password_command that goes on running must not keep the lock
    return file
