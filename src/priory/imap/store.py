"""Remembers what was seen in folders, in a database of its own: numbers and digests, nothing of any mail."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from priory.imap.errors import MailboxError
from priory.imap.sightings import Change, Entry, Gone, Left, Mark, State
from priory.journal.ownership import give_to_owner

FORMAT: Final = 1
#: How long it is remembered that a message was in Junk. Trash is emptied sooner, most often after 30 days.
REMEMBERED_S: Final = 90 * 24 * 3600
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


class Store:
    """The memory of one account; only one process at a time has it."""

    def __init__(self, home: Path, account: str) -> None:
        self._path = home / "imap.sqlite"
        self._account = account
        self._lock = _locked(home / "imap.lock")
        try:
            with self._errors_named():
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
                f"{self._path} is of another version of Priory (format {version}); use that, or remove the file"
            )
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_SCHEMA)
        past = time.time() - REMEMBERED_S
        self._db.execute("DELETE FROM gone_from_junk WHERE account = ? AND time < ?", (self._account, past))

    def _load(self) -> State:
        return State(
            [
                *map(Mark._make, self._rows("folder, role, uidvalidity, next_uid, before", "marks")),
                *map(Entry._make, self._rows("folder, uid, digest, put, due", "entries")),
                *map(Left._make, self._rows("digest, put", "gone_from_junk")),
            ]
        )

    def _rows(self, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT {columns} FROM {table} WHERE account = ?"  # noqa: S608 - both are ours
        return self._db.execute(sql, (self._account,))

    def write(self, changes: Iterable[Change]) -> None:
        """Take in changes, all together; they are durable before the state has them."""
        several = list(changes)
        if not several:
            return
        with self._errors_named():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                marks = dict(self.state.marks)
                for change in several:
                    self._write(change, marks)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SIGTERM may strike right after it was committed
                    self._db.execute("ROLLBACK")
                raise
        self.state.apply(several)

    def _write(self, change: Change, marks: dict[str, Mark]) -> None:
        match change:
            case Mark():
                marks[change.folder] = change
                self._db.execute("REPLACE INTO marks VALUES (?, ?, ?, ?, ?, ?)", (self._account, *change))
            case Entry(folder, uid, digest, put, due):
                where = (self._account, folder, marks[folder].uidvalidity, uid)
                self._db.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (*where, digest, put, due))
            case Gone():
                sql = "DELETE FROM entries WHERE account = ? AND folder = ? AND uid = ?"
                self._db.execute(sql, (self._account, *change))
            case Left():
                row = (self._account, *change, time.time())
                self._db.execute("REPLACE INTO gone_from_junk VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Let go of the files."""
        self._db.close()
        self._lock.close()

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise MailboxError(
                f"{self._path}: {error}. Check the disk and the rights of this account; if the file is damaged, remove "
                "it: then what is in Junk counts as having been there before."
            ) from None


def _locked(path: Path) -> IO[bytes]:
    """Hold a lock until the file is closed or the process ends, however it does."""
    try:
        file = path.open("ab")
    except OSError as error:
        raise MailboxError(f"{path} cannot be written: {error.strerror}. Check the rights of this account.") from None
    give_to_owner(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise MailboxError(f"another priory imap is at work in {path.parent}; wait until it has ended") from None
    os.set_inheritable(file.fileno(), False)
    return file
