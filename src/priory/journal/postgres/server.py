"""Open a journal on a server, or create its tables."""

import uuid
from typing import Any

import psycopg

from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, Identity, JournalError
from priory.journal.postgres.connection import USUAL_WAIT_S, CachedConnection, connect, translated_error
from priory.journal.postgres.database import PostgresDatabase
from priory.journal.postgres.schema import FORMAT, format_of, take_steps
from priory.journal.postgres.snapshots import SharedSnapshots
from priory.journal.shared.store import StoreAddress


def prepare(store: StoreAddress, features_version: int, bits: int, personal_bits: int = PERSONAL_BITS) -> int:
    """Create the tables of a journal, or upgrade the tables of an older Priory; return their format."""
    name = store.name
    with connect(store) as connection:
        try:
            connection.execute("SET statement_timeout = 0")
            _refuse_newer(format_of(connection) or 0, name)
            format_ = take_steps(connection)
            connection.execute(
                "INSERT INTO journal "
                "(id, features_version, bits, personal_bits, change, stamp, settled, labels, snapshot) "
                "SELECT %s, %s, %s, %s, 0, '', 0, '', '' WHERE NOT EXISTS (SELECT FROM journal)",
                (uuid.uuid4().hex, features_version, bits, personal_bits),
            )
        except psycopg.Error as error:
            raise translated_error(error, name) from None
    return format_


def open_server(store: StoreAddress, features_version: int, wait_s: float = USUAL_WAIT_S) -> Journal:
    """Open the journal in a database, whose tables must have the format of this Priory."""
    cache = CachedConnection(store)
    try:
        with cache.borrow() as connection:
            _refuse_other_format(connection, cache.name)
            _refuse_features(connection, cache.name, features_version)
        database = PostgresDatabase(cache, wait_s)
        return Journal(database, store.node, SharedSnapshots(database))
    except psycopg.Error as error:
        cache.close()
        raise translated_error(error, cache.name) from None
    except BaseException:
        cache.close()
        raise


def open_later(store: StoreAddress, known: Identity) -> Journal:
    """Open a journal by its identity while its server is away; methods that ask the server fail until then."""
    database = PostgresDatabase(CachedConnection(store), USUAL_WAIT_S, is_away=True)
    return Journal(database, store.node, SharedSnapshots(database), known)


def _refuse_other_format(connection: psycopg.Connection[Any], name: str) -> None:
    format_ = format_of(connection)
    if format_ is None:
        raise JournalError(f"{name} has no Priory tables: create them with priory store prepare.")
    _refuse_newer(format_, name)
    if format_ < FORMAT:
        raise JournalError(
            f"{name} has format {format_} of an older Priory, this one needs {FORMAT}: bring it up to date with priory "
            "store prepare."
        )


def _refuse_newer(format_: int, name: str) -> None:
    if format_ > FORMAT:
        raise JournalError(f"{name} has format {format_}, this Priory knows up to {FORMAT}: use a newer Priory.")


def _refuse_features(connection: psycopg.Connection[Any], name: str, version: int) -> None:
    for (stored,) in connection.execute("SELECT features_version FROM journal"):
        if stored != version:
            raise JournalError(
                f"{name} holds features of version {stored}, this Priory makes version {version}: learn the mail again "
                "in another database."
            )
