"""What a home remembers of the journal that it shares, for when the server cannot be reached."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from priory.journal.address import Store
from priory.journal.journal import Journal
from priory.journal.lesson import Identity
from priory.journal.replacing import replacing

NAME: Final = "shared-journal.json"


def remember(home: Path, store: Store, journal: Journal) -> None:
    """Write down what a journal is; a home that cannot be written to does without."""
    known = Identity(journal.id, journal.bits, journal.personal_bits)
    if recalled(home, store) != known:
        with suppress(OSError), replacing(home / NAME) as file:
            file.write(json.dumps({"address": store.name, **known._asdict()}).encode())


def recalled(home: Path, store: Store) -> Identity | None:
    """Return what was written down of the journal at an address; None if nothing was."""
    try:
        said = dict(json.loads((home / NAME).read_bytes()))
        is_there = said.pop("address") == store.name
        return Identity(**said) if is_there else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
