"""Open the file of a journal, or create it. A file that is not a journal is refused and stays unchanged."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from priory.journal.files import give_to_owner, may_write
from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, JournalError
from priory.journal.sqlite.database import FileId, SqliteDatabase, register_closed, register_open, translate_errors
from priory.journal.sqlite.schema import (
    APPLICATION_ID,
    FORMAT,
    NAMELESS_FEATURES,
    OLDEST,
    bring_up_to_date,
    create,
)

_MAGIC: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 100
_CACHE_KB: Final = 16_000
_WAL_PAGES: Final = 4_000  #: before SQLite copies the log to the database; pages that change often are copied once


def open_file(
    path: Path, features_version: int, bits: int, wait_s: float = 10.0, personal_bits: int = PERSONAL_BITS
) -> Journal:
    """Open a journal, or create it if there is no file. A journal of an older Priory is upgraded."""
    file = register_open(path, _inspect_and_create)
    with translate_errors(path, wait_s), _leave_on_error(file):
        connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
        try:
            create(connection, features_version, bits, personal_bits)
            _refuse_other_format(path, connection)
            _switch_to_wal(connection, wait_s)
            connection.execute("PRAGMA synchronous = FULL")  # a commit waits until the log is on disk
            connection.execute("PRAGMA secure_delete = ON")  # forgotten lessons are overwritten with zeros
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
            _refuse_features(path, connection, features_version, NAMELESS_FEATURES)
            bring_up_to_date(connection)
            return Journal(SqliteDatabase(path, file, connection, wait_s))
        except BaseException:
            connection.close()
            raise


def open_file_to_read(path: Path, features_version: int) -> Journal:
    """Open an existing journal without changing it, also where this account may only read."""
    if not path.exists():
        raise JournalError(f"there is no journal {path}.")
    if not path.is_file() or not path.stat().st_size:
        raise JournalError(f"{path} is not a Priory journal: it is empty.")
    file = register_open(path, _refuse_foreign)
    # SQLite needs to write its own files beside a journal. Where it cannot, we tell it that the journal never changes.
    mode = "mode=ro" if may_write(path.parent) else "mode=ro&immutable=1"
    with translate_errors(path, 0), _leave_on_error(file):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
        try:
            require_format(path, connection)
            _refuse_features(path, connection, features_version)
            return Journal(SqliteDatabase(path, file, connection, 0))
        except BaseException:
            connection.close()
            raise


@contextmanager
def _leave_on_error(file: FileId) -> Iterator[None]:
    try:
        yield
    except BaseException:
        register_closed(file)
        raise


def _switch_to_wal(connection: sqlite3.Connection, wait_s: float) -> None:
    """Switch to the write-ahead log; SQLite does not wait here for others that do the same, so we retry."""
    until = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _inspect_and_create(path: Path) -> None:
    _refuse_foreign(path)
    _create_file(path)


def _create_file(path: Path) -> None:
    """Create the file, for its owner alone; SQLite gives the files beside it the same mode."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
        give_to_owner(path)
    except OSError as error:
        raise JournalError(
            f"{path} cannot be created: {os.strerror(error.errno or 0)}. Check that the folder is writable."
        ) from None


def _refuse_foreign(path: Path) -> None:
    """Refuse a file by its first bytes, before SQLite opens it and perhaps changes it."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise JournalError(f"{path} cannot be read: {reason}. Make it readable or name another home.") from None
    if not head:
        return
    if not head.startswith(_MAGIC):
        raise JournalError(f"{path} is not a Priory journal. It was left as it is; name another home.")
    # https://sqlite.org/fileformat2.html#the_database_header
    if int.from_bytes(head[68:72]) != APPLICATION_ID:
        raise JournalError(f"{path} is a database of another program. It was left as it is; name another home.")
    _refuse_number(path, int.from_bytes(head[60:64]))


def _refuse_other_format(path: Path, connection: sqlite3.Connection) -> int:
    """Refuse formats that this Priory does not know; return the number of the format."""
    (format_,) = connection.execute("PRAGMA user_version").fetchone()
    _refuse_number(path, format_)
    return int(format_)


def require_format(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a journal of an older Priory, which is upgraded when it is opened for writing."""
    if _refuse_other_format(path, connection) < FORMAT:
        raise JournalError(
            f"{path} has the format of an older Priory. As a user who may write to it, upgrade it with "
            f"priory stats --home {path.parent}."
        )


def _refuse_number(path: Path, format_: int) -> None:
    """Refuse the number of an unknown format; 0 is a journal that is just being created."""
    if format_ > FORMAT:
        raise JournalError(f"{path} has format {format_}, this Priory knows up to {FORMAT}: use a newer Priory.")
    if 0 < format_ < OLDEST:
        raise JournalError(
            f"{path} has format {format_} of an older Priory, this one knows {OLDEST} and later. It was left as it is: "
            "learn the mail again in another home."
        )


def _refuse_features(path: Path, connection: sqlite3.Connection, version: int, upgradable: int | None = None) -> None:
    for (stored,) in connection.execute("SELECT features_version FROM journal"):
        if stored not in {version, upgradable}:
            raise JournalError(
                f"{path} holds features of version {stored}, this Priory makes version {version}: learn the mail again "
                "in another home."
            )
