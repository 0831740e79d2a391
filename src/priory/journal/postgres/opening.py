"""To open a journal on a server, and to make its tables."""

import uuid
from typing import Any

import psycopg

from priory.journal.address import Store
from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, Identity, JournalError
from priory.journal.postgres.connecting import Connections, connect
from priory.journal.postgres.database import PostgresDatabase
from priory.journal.postgres.errors import named
from priory.journal.postgres.schema import FORMAT, format_of, take_steps
from priory.journal.postgres.snapshots import ChunkedSnapshots


def prepare(store: Store, features_version: int, bits: int, personal_bits: int = PERSONAL_BITS) -> int:
    """Make the tables of a journal, or bring those of an older Priory up to date; return the format they have then."""
    name = store.name
    with connect(store) as connection:
        try:
            connection.execute("SET statement_timeout = 0")
            _refuse_newer(format_of(connection) or 0, name)
            found = take_steps(connection)
            connection.execute(
                "INSERT INTO journal "
                "(id, features_version, bits, personal_bits, change, stamp, settled, labels, snapshot) "
                "SELECT %s, %s, %s, %s, 0, '', 0, '', '' WHERE NOT EXISTS (SELECT FROM journal)",
                (uuid.uuid4().hex, features_version, bits, personal_bits),
            )
        except psycopg.Error as error:
            raise named(error, name) from None
    return found


def open_server(store: Store, features_version: int, wait_s: float = 10.0) -> Journal:
    """Open the journal in a database; its tables must be there and be those of this Priory."""
    connections = Connections(store)
    try:
        with connections.taken() as connection:
            _refuse_other_format(connection, connections.name)
            _refuse_features(connection, connections.name, features_version)
        database = PostgresDatabase(connections, wait_s)
        return Journal(database, store.node, ChunkedSnapshots(database))
    except psycopg.Error as error:
        connections.close()
        raise named(error, connections.name) from None
    except BaseException:
        connections.close()
        raise


def open_later(store: Store, known: Identity, wait_s: float = 10.0) -> Journal:
    """Open a journal that cannot be reached now, by what is known of it: whatever needs it fails until it can."""
    database = PostgresDatabase(Connections(store), wait_s, is_away=True)
    return Journal(database, store.node, ChunkedSnapshots(database), known)


def _refuse_other_format(connection: psycopg.Connection[Any], name: str) -> None:
    found = format_of(connection)
    if found is None:
        raise JournalError(f"{name} has no tables of Priory's: make them with priory store prepare.")
    _refuse_newer(found, name)
    if found < FORMAT:
        raise JournalError(
            f"{name} has format {found} of an older Priory, this one needs {FORMAT}: bring it up to date with priory "
            "store prepare."
        )


def _refuse_newer(found: int, name: str) -> None:
    if found > FORMAT:
        raise JournalError(f"{name} has format {found}, this Priory knows up to {FORMAT}: use a newer Priory.")


def _refuse_features(connection: psycopg.Connection[Any], name: str, version: int) -> None:
    for (found,) in connection.execute("SELECT features_version FROM journal"):
        if found != version:
            raise JournalError(
                f"{name} holds features of version {found}, this Priory makes version {version}: learn the mail anew "
                "into another database."
            )
