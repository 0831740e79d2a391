"""To open the file of a journal: what is no journal is refused and left as it is."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, JournalError
from priory.journal.ownership import give_to_owner
from priory.journal.sqlite import in_use
from priory.journal.sqlite.database import SqliteDatabase
from priory.journal.sqlite.errors import errors_named
from priory.journal.sqlite.rights import may_write
from priory.journal.sqlite.schema import APPLICATION_ID, FORMAT, OLDEST, bring_up_to_date, create

_MAGIC: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 100
_CACHE_KB: Final = 16_000
_WAL_PAGES: Final = 4_000  #: then they are copied to the database: pages that change often are copied once


def open_file(
    path: Path, features_version: int, bits: int, wait_s: float = 10.0, personal_bits: int = PERSONAL_BITS
) -> Journal:
    """Open a journal, or make one where there is no file. A file that is none is refused and left as it is.

    A journal of an older Priory is brought up to date.
    """
    file = in_use.enter(path, _seen_and_made)
    with errors_named(path, wait_s), _left_if_unopened(file):
        connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
        try:
            create(connection, features_version, bits, personal_bits)
            _refuse_other_format(path, connection)
            _write_ahead(connection, wait_s)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
            _refuse_features(path, connection, features_version)
            bring_up_to_date(connection)
            return Journal(SqliteDatabase(path, file, connection, wait_s))
        except BaseException:
            connection.close()
            raise


def open_file_to_read(path: Path, features_version: int) -> Journal:
    """Open a journal that is there and change nothing about it, also where this account may only read."""
    if not path.exists():
        raise JournalError(f"there is no journal {path}.")
    if not path.is_file() or not path.stat().st_size:
        raise JournalError(f"{path} is not a Priory journal: there is nothing in it.")
    file = in_use.enter(path, _refuse_foreign)
    # Where nobody can write, nobody can change it meanwhile; elsewhere SQLite needs its own files beside it.
    mode = "mode=ro" if may_write(path.parent) else "mode=ro&immutable=1"
    with errors_named(path, 0), _left_if_unopened(file):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)
        try:
            if _refuse_other_format(path, connection) < FORMAT:
                raise JournalError(
                    f"{path} is of an older Priory. Who may write to it brings it up to date with "
                    f"priory stats --home {path.parent}."
                )
            _refuse_features(path, connection, features_version)
            return Journal(SqliteDatabase(path, file, connection, 0))
        except BaseException:
            connection.close()
            raise


@contextmanager
def _left_if_unopened(file: in_use.File) -> Iterator[None]:
    try:
        yield
    except BaseException:
        in_use.leave(file)
        raise


def _write_ahead(connection: sqlite3.Connection, wait_s: float) -> None:
    """Go over to the write-ahead log; SQLite does not wait here for others who are about to do the same, so we do."""
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


def _seen_and_made(path: Path) -> None:
    _refuse_foreign(path)
    _touch(path)


def _touch(path: Path) -> None:
    """Make the file, for its owner alone; SQLite gives the files beside it the same mode."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
        give_to_owner(path)
    except OSError as error:
        raise JournalError(
            f"{path} cannot be made: {os.strerror(error.errno or 0)}. Check that the folder is writable."
        ) from None


def _refuse_foreign(path: Path) -> None:
    """Look at a file's first bytes before SQLite does: it would take some for its own, and tidy up after others."""
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
    """Refuse what we do not know; return the number of the format."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    _refuse_number(path, found)
    return int(found)


def _refuse_number(path: Path, found: int) -> None:
    """A number of 0 is a journal that is just being made."""
    if found > FORMAT:
        raise JournalError(f"{path} has format {found}, this Priory knows up to {FORMAT}: use a newer Priory.")
    if 0 < found < OLDEST:
        raise JournalError(
            f"{path} has format {found} of an older Priory, this one knows {OLDEST} and later. It was left as it is: "
            "learn the mail anew into another home."
        )


def _refuse_features(path: Path, connection: sqlite3.Connection, version: int) -> None:
    for (found,) in connection.execute("SELECT features_version FROM journal"):
        if found != version:
            raise JournalError(
                f"{path} holds features of version {found}, this Priory makes version {version}: learn the mail anew "
                "into another home."
            )
