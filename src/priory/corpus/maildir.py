"""Reads a Maildir, the folder with cur/ and new/ in which Dovecot, Postfix and others keep one message per file.

A Maildir is alive: while it is read, mail programs move messages from new/ to cur/ and change their flags, the
part of a file's name after the colon. The part before it, the unique name, stays.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from priory.corpus.raw import whole


def is_maildir(folder: Path) -> bool:
    """Tell whether a folder is a Maildir: it has cur/ and new/."""
    return (folder / "cur").is_dir() and (folder / "new").is_dir()


def read(maildir: Path) -> Iterator[tuple[str, bytes]]:
    r"""Yield source and raw bytes of each message in cur/, then in new/.

    A message that moved since the folder was listed is looked for once; one that was deleted is left out.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("cur", "new"):
    ...         Path(folder, name).mkdir()
    ...     _ = Path(folder, "cur", "1700000000.M1P1.mx:2,S").write_bytes(b"Subject: lunch?\n\nAt noon.\n")
    ...     list(read(Path(folder)))
    [('cur/1700000000.M1P1.mx:2,S', b'Subject: lunch?\n\nAt noon.\n')]
    """
    for source in listing(maildir):
        try:
            yield source, load(maildir / source)
        except FileNotFoundError:
            yield from moved(maildir, source)


def count(maildir: Path) -> int:
    """Count the messages by listing the two folders; no file is opened."""
    return len(listing(maildir))


def listing(maildir: Path) -> list[str]:
    """List the messages as cur/NAME and new/NAME, sorted, each unique name once.

    new/ is listed first: a message that moves to cur/ meanwhile is then seen twice, not missed.
    """
    found: dict[str, str] = {}
    for folder in ("new", "cur"):
        with os.scandir(maildir / folder) as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
        found |= {unique(name): f"{folder}/{name}" for name in names}
    return sorted(found.values())


def moved(maildir: Path, source: str) -> Iterator[tuple[str, bytes]]:
    """Yield a message that left its place under the name it has instead, or nothing if it is gone."""
    for other in listing(maildir):
        if unique(Path(other).name) == unique(Path(source).name):
            with suppress(FileNotFoundError):
                yield other, load(maildir / other)


def unique(name: str) -> str:
    """Return the part of a file's name that stays when its flags change."""
    return name.partition(":")[0]


def load(path: Path) -> bytes:
    """Read one message file."""
    with path.open("rb") as stream:
        return whole(stream)
