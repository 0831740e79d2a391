"""The tables of a journal in SQLite, and the steps that upgrade the tables of an older Priory."""

import sqlite3
import uuid
from collections.abc import Callable
from typing import Final

from priory.journal.sqlite.bundles import BUNDLES, Bundles

FORMAT: Final = 7
OLDEST: Final = 3  #: the first format that can be upgraded
NAMELESS_FEATURES: Final = 2  #: the version of features before they had names
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
_RULES: Final = """
CREATE TABLE rules (
  user TEXT NOT NULL,               -- empty for everyone
  thing TEXT NOT NULL,
  text TEXT NOT NULL,
  effect TEXT NOT NULL,
  label TEXT NOT NULL,
  time REAL NOT NULL,
  author TEXT NOT NULL,
  PRIMARY KEY (user, thing, text)
) WITHOUT ROWID;
CREATE TABLE rule_revision (revision TEXT NOT NULL)"""
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
CREATE TABLE tally (label TEXT PRIMARY KEY, n INTEGER NOT NULL);  -- see `stored_tally`
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
{_RULES};
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""


def create(connection: sqlite3.Connection, features_version: int, bits: int, personal_bits: int) -> None:
    """Create the tables of an empty database; of several processes the first does it, and the others wait.

    This comes before the switch to WAL, so that the header of the file itself says at once what it is.
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
    """Take the steps from the stored format to ours, all or none; of several processes the first does it."""
    if _format(connection) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        while (format_ := _format(connection)) < FORMAT:
            _STEPS[format_](connection)
            connection.execute(f"PRAGMA user_version = {format_ + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _add_node_and_shared(connection: sqlite3.Connection) -> None:
    """Add columns for the machine that learned a lesson, and for the users it counts for.

    Forgotten lessons of before do not say so. They are deleted, and the counts are rebuilt.
    """
    connection.execute("ALTER TABLE journal ADD COLUMN personal_bits INTEGER NOT NULL DEFAULT 22")
    connection.execute("ALTER TABLE lessons ADD COLUMN shared INTEGER NOT NULL DEFAULT 1")
    connection.execute("ALTER TABLE lessons ADD COLUMN node TEXT NOT NULL DEFAULT ''")
    gone = [learned for (learned,) in connection.execute("SELECT learned FROM forgotten")]
    (settled,) = connection.execute("SELECT settled FROM journal").fetchone()
    connection.execute("DROP TABLE forgotten")
    connection.execute(_FORGOTTEN)
    _add_checksums(connection)  # which `tidy` needs
    Bundles(connection).tidy(gone, settled)
    connection.execute("UPDATE journal SET settled = change, snapshot = ''")


def _add_rules(connection: sqlite3.Connection) -> None:
    """Add the tables of people's rules."""
    for statement in _RULES.split(";"):
        connection.execute(statement)


def _allow_names(connection: sqlite3.Connection) -> None:
    """Let new lessons give their features names; the features of earlier lessons stay without."""
    update = "UPDATE journal SET features_version = ?, snapshot = '' WHERE features_version = ?"
    connection.execute(update, (NAMELESS_FEATURES + 1, NAMELESS_FEATURES))


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Add a column for the checksums of bundles; those that exist stay without until they are written again."""
    if not connection.execute("SELECT 1 FROM pragma_table_info('bundles') WHERE name = 'checksum'").fetchone():
        connection.execute("ALTER TABLE bundles ADD COLUMN checksum INTEGER")


_STEPS: Final[dict[int, Callable[[sqlite3.Connection], None]]] = {
    3: _add_node_and_shared,
    4: _allow_names,
    5: _add_rules,
    6: _add_checksums,
}
