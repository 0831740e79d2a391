"""The journal of a filter's home, in the home or on a server."""

from pathlib import Path

from priory.features import VERSION, unpack_features
from priory.journal import Journal, JournalError, StoreAddress, may_write, open_file, open_file_to_read


def open_journal(home: Path, bits: tuple[int, int], store: StoreAddress | None) -> tuple[Journal, Path]:
    """Open the journal of a home; return it and the path of its snapshot, which is always in the home."""
    if store is None:
        counts = home / "counts"
        return _verified(_open_or_create(home / "journal.sqlite", counts, bits)), counts
    from priory.journal.shared.store import open_store_or_later  # noqa: PLC0415 - a quick start without a shared journal

    return _verified(open_store_or_later(store, VERSION, home, bits)), home / "shared-counts"


def open_journal_to_read(home: Path, store: StoreAddress | None) -> Journal:
    """Open the journal of a home without changing anything."""
    if store is None:
        return _verified(open_file_to_read(home / "journal.sqlite", VERSION))
    from priory.journal.shared.store import open_store  # noqa: PLC0415 - a quick start without a shared journal

    return _verified(open_store(store, VERSION))


def _verified(journal: Journal) -> Journal:
    """Have a journal leave out lessons whose features are damaged."""
    journal.verify_features(lambda features: unpack_features(features, journal.bits))
    return journal


def refuse_other_label_order(journal: Journal, labels: tuple[str, ...]) -> None:
    """Raise an error unless the labels begin with the journal's labels: scores are stored in that order."""
    scored = journal.labels()
    if any(was != now for was, now in zip(scored, labels, strict=False)):
        raise JournalError(
            f"{journal.name} was taught with the labels {', '.join(scored)}: name these first and in this "
            "order, new ones after them."
        )


def _open_or_create(path: Path, counts: Path, bits: tuple[int, int]) -> Journal:
    """Open the journal of a home or create it; without the right to write, open it to read: that suffices to check."""
    exists = path.exists() and path.stat().st_size > 0
    if counts.exists() and not exists:
        raise JournalError(
            f"{path} is {'empty' if path.exists() else 'missing'}, but there are counts beside it: restore it from a "
            f"backup, or remove {counts} to start anew."
        )
    if exists and not (may_write(path) and may_write(path.parent)):
        return open_file_to_read(path, VERSION)
    return open_file(path, VERSION, bits[0], personal_bits=bits[1])
