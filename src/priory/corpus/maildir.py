"""Reads a Maildir, the folder with cur/ and new/ in which Dovecot, Postfix and others keep one message per file.

A Maildir is alive: while it is read, mail programs move messages from new/ to cur/ and change their flags, the
part of a file's name after the colon. The part before it, the unique name, stays.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

from priory.corpus.raw import file_bytes


def is_maildir(folder: str) -> bool:
    """Tell whether a folder is a Maildir: it has cur/ and new/."""
    return all(os.path.isdir(f"{folder}/{name}") for name in ("cur", "new"))  # noqa: PTH112


def message(maildir: str, name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield source and raw bytes of the message that is listed as cur/NAME or new/NAME.

    A message that moved since the folder was listed is looked for once; one that was deleted is left out.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("cur", "new"):
    ...         Path(folder, name).mkdir()
    ...     _ = Path(folder, "cur", "1700000000.M1P1.mx:2,S").write_bytes(b"Subject: lunch?\n\nAt noon.\n")
    ...     for name in listing(folder):
    ...         print(name, [raw for _, raw in message(folder, name)])
    cur/1700000000.M1P1.mx:2,S [b'Subject: lunch?\n\nAt noon.\n']
    """
    try:
        yield load(f"{maildir}/{name}")
    except FileNotFoundError:
        yield from moved(maildir, name)


def listing(maildir: str) -> list[str]:
    """List the messages as cur/NAME and new/NAME, sorted, each unique name once; of a folder that is gone, none.

    new/ is listed first: a message that moves to cur/ meanwhile is then seen twice, not missed.
    """
    found: dict[str, str] = {}
    for folder in ("new", "cur"):
        with suppress(FileNotFoundError), os.scandir(f"{maildir}/{folder}") as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
            found |= {unique(name): f"{folder}/{name}" for name in names}
    return sorted(found.values())


def moved(maildir: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield a message that left its place under the name it has instead, or nothing if it is gone."""
    for other in listing(maildir):
        if unique(other[len("cur/") :]) == unique(name[len("cur/") :]):
            with suppress(FileNotFoundError):
                yield load(f"{maildir}/{other}")


def unique(name: str) -> str:
    """Return the part of a file's name that stays when its flags change."""
    return name.partition(":")[0]


def load(path: str) -> tuple[str, bytes]:
    """Read one message file."""
    return path, file_bytes(path) or b""
