"""The tables of a journal in SQLite, and how those of an older Priory become these, step by step."""

import sqlite3
import uuid
from collections.abc import Callable
from typing import Final

from priory.journal.sqlite.bundles import BUNDLES, Bundles

FORMAT: Final = 4
OLDEST: Final = 3  #: the first format that can be brought up to date
APPLICATION_ID: Final = 0x50524A4C
_FORGOTTEN: Final = """
CREATE TABLE forgotten (
  change INTEGER PRIMARY KEY,
  learned INTEGER NOT NULL,
  user TEXT NOT NULL,
  shared INTEGER NOT NULL,
  label TEXT NOT NULL,
  held_out BLOB,
  start INTEGER NOT NULL,
  size INTEGER NOT NULL
)"""
_SCHEMA: Final = f"""
CREATE TABLE journal (
  id TEXT NOT NULL,                 -- tells this journal's snapshots from others
  features_version INTEGER NOT NULL,
  bits INTEGER NOT NULL,
  change INTEGER NOT NULL,          -- the number of the last change
  settled INTEGER NOT NULL,         -- lessons forgotten up to this change are gone from the list below
  labels TEXT NOT NULL,             -- in the order in which lessons were scored, new ones at the end
  snapshot TEXT NOT NULL,           -- the digest of the counts as they stood then: no other snapshot fits
  personal_bits INTEGER NOT NULL DEFAULT 22
);
CREATE TABLE tally (label TEXT PRIMARY KEY, n INTEGER NOT NULL);  -- some lessons once more, see `tallied`
CREATE TABLE lessons (
  change INTEGER PRIMARY KEY,
  digest BLOB NOT NULL,
  user TEXT NOT NULL,
  label TEXT NOT NULL,
  time REAL NOT NULL,
  source TEXT NOT NULL,
  sender TEXT NOT NULL,
  held_out BLOB,
  start INTEGER NOT NULL,           -- where in its bundle its features are
  size INTEGER NOT NULL,
  shared INTEGER NOT NULL DEFAULT 1,
  node TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX learned_once ON lessons (substr(digest, 17), user);
{BUNDLES};
{_FORGOTTEN};
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""


def create(connection: sqlite3.Connection, features_version: int, bits: int, personal_bits: int) -> None:
    """Make the tables of an empty database; the first process to come does it, the others wait.

    This comes before the WAL, so that the first bytes of the file itself say what it is from the first moment on.
    """
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO journal VALUES (?, ?, ?, 0, 0, '', '', ?)",
            (uuid.uuid4().hex, features_version, bits, personal_bits),
        )
    connection.execute("COMMIT")


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Take the steps from the format that is there to ours, all or none; the first process to come does it."""
    if _format(connection) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        while (found := _format(connection)) < FORMAT:
            _STEPS[found](connection)
            connection.execute(f"PRAGMA user_version = {found + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _who_and_for_whom(connection: sqlite3.Connection) -> None:
    """Lessons say which machine has learned them and for whom they count.

    What was forgotten before has not said so. It goes for good, and the counts are built anew.
    """
    connection.execute("ALTER TABLE journal ADD COLUMN personal_bits INTEGER NOT NULL DEFAULT 22")
    connection.execute("ALTER TABLE lessons ADD COLUMN shared INTEGER NOT NULL DEFAULT 1")
    connection.execute("ALTER TABLE lessons ADD COLUMN node TEXT NOT NULL DEFAULT ''")
    gone = [learned for (learned,) in connection.execute("SELECT learned FROM forgotten")]
    (settled,) = connection.execute("SELECT settled FROM journal").fetchone()
    connection.execute("DROP TABLE forgotten")
    connection.execute(_FORGOTTEN)
    Bundles(connection).tidy(gone, settled)
    connection.execute("UPDATE journal SET settled = change, snapshot = ''")


_STEPS: Final[dict[int, Callable[[sqlite3.Connection], None]]] = {3: _who_and_for_whom}
