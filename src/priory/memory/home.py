"""Opens the journal of a home, wherever it is."""

from pathlib import Path

from priory.features import VERSION
from priory.journal import Journal, JournalError, Store, may_write, open_file, open_file_to_read


def open_journal(home: Path, bits: tuple[int, int], store: Store | None) -> tuple[Journal, Path]:
    """Open the journal of a home, wherever it is; return it and the file of its snapshot, which is in the home."""
    if store is None:
        counts = home / "counts"
        return _opened(home / "journal.sqlite", counts, bits), counts
    from priory.journal.store import open_store_or_later  # noqa: PLC0415 - a quick start where no journal is shared

    return open_store_or_later(store, VERSION, home, bits), home / "shared-counts"


def open_journal_to_read(home: Path, store: Store | None) -> Journal:
    """Open the journal of a home, wherever it is, and change nothing about it."""
    if store is None:
        return open_file_to_read(home / "journal.sqlite", VERSION)
    from priory.journal.store import open_store  # noqa: PLC0415

    return open_store(store, VERSION)


def _opened(path: Path, counts: Path, bits: tuple[int, int]) -> Journal:
    """Open the journal of a home, or make one with so many bits; who may only read it can still check mail."""
    is_there = path.exists() and path.stat().st_size > 0
    if counts.exists() and not is_there:
        raise JournalError(
            f"{path} is {'empty' if path.exists() else 'missing'}, but there are counts beside it: restore it from a "
            f"backup, or remove {counts} to start anew."
        )
    if is_there and not (may_write(path) and may_write(path.parent)):
        return open_file_to_read(path, VERSION)
    return open_file(path, VERSION, bits[0], personal_bits=bits[1])
