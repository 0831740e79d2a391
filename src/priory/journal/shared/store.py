"""The database of a journal that several machines share: its address, how to open it, and its identity if offline.

A home remembers the identity of the shared journal, so that it can be opened while the server cannot be reached.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from priory.journal.files import replacing
from priory.journal.journal import Journal
from priory.journal.lesson import (
    PERSONAL_BITS,
    DamagedJournalError,
    Identity,
    JournalAwayError,
    JournalError,
    SyncPoint,
)

if TYPE_CHECKING:
    from priory.journal.postgres.feed import Follower

IDENTITY_NAME: Final = "shared-journal.json"  #: the file of a home with the identity of its shared journal


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """The address of a database, and the name of this machine there."""

    url: str = field(repr=False)  #: may contain a password
    node: str = ""

    @property
    def name(self) -> str:
        """The address for messages, without the password.

        >>> StoreAddress("postgresql://ann:secret@db.example:5433/mail?sslmode=require").name
        'postgresql://ann@db.example:5433/mail'
        >>> StoreAddress("postgresql://ann:se/cr@t@db.example/mail").name
        'postgresql://ann@db.example/mail'
        >>> StoreAddress("postgresql://ann:secret").name  # what looks like a port may be a password
        'postgresql://ann/'
        """
        scheme, account, at, place = self._parts()
        host, _, path = place.partition("/")
        host = host.partition("?")[0]
        if "[" not in host:  # an IPv6 address has colons of its own
            host = re.sub(":[0-9]*[^0-9,][^,]*", "", host)
        return f"{scheme}://{re.split('[:/?]', account)[0]}{at}{host}/{path.partition('?')[0]}"

    @property
    def has_broken_password(self) -> bool:
        """Whether an unescaped @ or / in the password ends it early, so that its rest would be taken for the host.

        >>> StoreAddress("postgresql://ann:se%40cret@db.example/mail").has_broken_password
        False
        >>> StoreAddress("postgresql://ann:s@cret@db.example/mail").has_broken_password
        True
        >>> StoreAddress("postgresql://ann:s/cret@db.example/mail").has_broken_password
        True
        """
        return bool(re.search("[@/]", self._parts()[1]))

    def _parts(self) -> tuple[str, str, str, str]:
        """Return scheme, account with password, the @ between, and host with path, whatever the password contains."""
        scheme, _, rest = self.url.partition("://")
        before_slash, _, path = rest.partition("/")
        account, at, place = f"{before_slash}/{re.split('[?][a-z_]+=', path)[0]}".rpartition("@")
        return scheme, account, at, place


def open_store(store: StoreAddress, features_version: int, wait_s: float = 10.0) -> Journal:
    """Open the journal in a database."""
    _require_psycopg()
    from priory.journal.postgres import open_server  # noqa: PLC0415 - psycopg is optional

    return open_server(store, features_version, wait_s)


def open_store_or_later(store: StoreAddress, features_version: int, home: Path, bits: tuple[int, int]) -> Journal:
    """Open the journal in a database, or by its remembered identity if the server cannot be reached.

    The same is done if its head is damaged. If it was never reached, the identity is empty and the sizes are taken from
    `bits`.
    """
    try:
        journal = open_store(store, features_version)
    except (JournalAwayError, DamagedJournalError):
        from priory.journal.postgres import open_later  # noqa: PLC0415

        return open_later(store, recall_identity(home, store) or Identity("", *bits))
    remember_identity(home, store, journal)
    return journal


def follow_store(store: StoreAddress, point: SyncPoint, trouble: Exception | None) -> "Follower":
    """Start to follow the journal in a database, for counts that stand at a point."""
    from priory.journal.postgres.feed import Follower  # noqa: PLC0415

    return Follower(store, point, trouble)


def prepare_store(store: StoreAddress, features_version: int, bits: int, personal_bits: int = PERSONAL_BITS) -> int:
    """Create the tables of a journal, or upgrade the tables of an older Priory; return their format."""
    _require_psycopg()
    from priory.journal.postgres import prepare  # noqa: PLC0415

    return prepare(store, features_version, bits, personal_bits)


def _require_psycopg() -> None:
    try:
        import psycopg  # noqa: F401, PLC0415
    except ImportError:
        raise JournalError(
            "a journal on a PostgreSQL server needs psycopg: pip install '.[postgres]' in Priory's source folder."
        ) from None


def remember_identity(home: Path, store: StoreAddress, journal: Journal) -> None:
    """Write the identity of a journal to a home, if the home is writable."""
    identity = Identity(journal.id, journal.bits, journal.personal_bits)
    if recall_identity(home, store) != identity:
        with suppress(OSError), replacing(home / IDENTITY_NAME) as file:
            file.write(json.dumps({"address": store.name, **identity._asdict()}).encode())


def recall_identity(home: Path, store: StoreAddress) -> Identity | None:
    """Return the remembered identity of the journal at an address; None if there is none."""
    try:
        remembered = dict(json.loads((home / IDENTITY_NAME).read_bytes()))
        address = remembered.pop("address")
        return Identity(**remembered) if address == store.name else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
