"""Where a journal is that several machines share: a database on a PostgreSQL server."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, Identity, JournalAwayError, JournalError
from priory.journal.news import Mark
from priory.journal.snapshot import known_of

if TYPE_CHECKING:
    from priory.journal.postgres.follower import Follower


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


def open_store_or_later(store: Store, features_version: int, counts: Path, bits: int) -> Journal:
    """Open the journal in a database, also if that cannot be reached now: then by what the counts here say of it.

    Where there are no counts yet, its id is empty, and so many buckets are taken for granted.
    """
    try:
        return open_store(store, features_version)
    except JournalAwayError:
        from priory.journal.postgres import open_later  # noqa: PLC0415

        return open_later(store.url, store.node, known_of(counts) or Identity("", bits, PERSONAL_BITS))


def follow_store(store: Store, mark: Mark, trouble: Exception | None) -> "Follower":
    """Start to follow the journal in a database, for counts that stand at a mark."""
    from priory.journal.postgres.follower import Follower  # noqa: PLC0415

    return Follower(store.url, mark, trouble)


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
