"""To open a journal that several machines share, for which psycopg must be there."""

from pathlib import Path
from typing import TYPE_CHECKING

from priory.journal.address import Store
from priory.journal.journal import Journal
from priory.journal.lesson import PERSONAL_BITS, Identity, JournalAwayError, JournalError
from priory.journal.news import Mark
from priory.journal.remembered import recalled, remember

if TYPE_CHECKING:
    from priory.journal.postgres.follower import Follower


def open_store(store: Store, features_version: int, wait_s: float = 10.0) -> Journal:
    """Open the journal in a database."""
    _require_psycopg()
    from priory.journal.postgres import open_server  # noqa: PLC0415 - who has no such journal needs no psycopg

    return open_server(store, features_version, wait_s)


def open_store_or_later(store: Store, features_version: int, home: Path, bits: tuple[int, int]) -> Journal:
    """Open the journal in a database, also if that cannot be reached now: then by what the home remembers of it.

    Of one that was never reached the id is empty, and so many buckets are taken for granted.
    """
    try:
        journal = open_store(store, features_version)
    except JournalAwayError:
        from priory.journal.postgres import open_later  # noqa: PLC0415

        return open_later(store, recalled(home, store) or Identity("", *bits))
    remember(home, store, journal)
    return journal


def follow_store(store: Store, mark: Mark, trouble: Exception | None) -> "Follower":
    """Start to follow the journal in a database, for counts that stand at a mark."""
    from priory.journal.postgres.follower import Follower  # noqa: PLC0415

    return Follower(store, mark, trouble)


def prepare_store(store: Store, features_version: int, bits: int, personal_bits: int = PERSONAL_BITS) -> int:
    """Make the tables of a journal, or bring those of an older Priory up to date; return the format they have then."""
    _require_psycopg()
    from priory.journal.postgres import prepare  # noqa: PLC0415

    return prepare(store, features_version, bits, personal_bits)


def _require_psycopg() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        raise JournalError(
            "a journal on a PostgreSQL server needs psycopg: install it with pip install 'priory[postgres]'."
        ) from None
