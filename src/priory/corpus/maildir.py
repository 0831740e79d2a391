"""Reads a Maildir, the folder with cur/ and new/ in which Dovecot, Postfix and others keep one message per file.

While a Maildir is read, mail programs may move messages from new/ to cur/ and change their flags, the part of a file's
name after the colon. The part before the colon, the unique name, does not change.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

from priory.corpus.storage import file_bytes


def is_maildir(folder: str) -> bool:
    """Tell whether a folder is a Maildir: it has cur/ and new/."""
    return all(os.path.isdir(f"{folder}/{name}") for name in ("cur", "new"))  # noqa: PTH112


def message(maildir: str, name: str) -> Iterator[tuple[str, bytes]]:
    r"""Yield source and raw bytes of the message cur/NAME or new/NAME.

    A message that moved since the folder was listed is searched once more. A deleted message is left out.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("cur", "new"):
    ...         Path(folder, name).mkdir()
    ...     _ = Path(folder, "cur", "1700000000.M1P1.mx:2,S").write_bytes(b"Subject: lunch?\n\nAt noon.\n")
    ...     for name in message_names(folder):
    ...         print(name, [raw for _, raw in message(folder, name)])
    cur/1700000000.M1P1.mx:2,S [b'Subject: lunch?\n\nAt noon.\n']
    """
    try:
        yield load(f"{maildir}/{name}")
    except FileNotFoundError:
        yield from moved_message(maildir, name)


def message_names(maildir: str) -> list[str]:
    """Return the messages as cur/NAME and new/NAME, sorted, each unique name once; none if the folder was deleted.

    new/ is listed first: a message that moves to cur/ meanwhile is then seen twice instead of missed.
    """
    by_unique_name: dict[str, str] = {}
    for folder in ("new", "cur"):
        with suppress(FileNotFoundError), os.scandir(f"{maildir}/{folder}") as entries:
            names = [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
            by_unique_name |= {unique_name(name): f"{folder}/{name}" for name in names}
    return sorted(by_unique_name.values())


def moved_message(maildir: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield a message that was renamed or moved, or nothing if it was deleted."""
    for other in message_names(maildir):
        if unique_name(other[len("cur/") :]) == unique_name(name[len("cur/") :]):
            with suppress(FileNotFoundError):
                yield load(f"{maildir}/{other}")


def unique_name(name: str) -> str:
    """Return the part of a file's name that does not change with its flags."""
    return name.partition(":")[0]


def load(path: str) -> tuple[str, bytes]:
    """Read one message file."""
    return path, file_bytes(path) or b""
