"""Where a journal is that several machines share: a database on a PostgreSQL server."""

from dataclasses import dataclass, field

from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, JournalError


@dataclass(frozen=True, slots=True)
class Store:
    """The address of a database, and what this machine is called there."""

    url: str = field(repr=False)  #: may have a password in it
    node: str = ""


def open_store(store: Store, features_version: int, wait_s: float = 10.0) -> Journal:
    """Open the journal in a database."""
    _require_psycopg()
    from priory.journal.postgres import open_server  # noqa: PLC0415 - who has no such journal needs no psycopg

    return open_server(store.url, features_version, store.node, wait_s)


def prepare_store(store: Store, features_version: int, bits: int, personal_bits: int = PERSONAL_BITS) -> int:
    """Make the tables of a journal, or bring those of an older Priory up to date; return the format they have then."""
    _require_psycopg()
    from priory.journal.postgres import prepare  # noqa: PLC0415

    return prepare(store.url, features_version, bits, personal_bits)


def _require_psycopg() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        raise JournalError(
            "a journal on a PostgreSQL server needs psycopg: install it with pip install 'priory[postgres]'."
        ) from None
