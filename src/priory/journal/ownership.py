"""Files that root makes in the home of another account belong to that account: it could not use them otherwise."""

import os
from contextlib import suppress
from pathlib import Path


def give_to_owner(path: Path) -> None:
    """Give a file of root's to the owner of its folder."""
    if os.geteuid() == 0:
        folder = path.parent.stat()
        with suppress(OSError):  # where root may not: on a network's file system
            if path.stat().st_uid == 0 != folder.st_uid:
                os.chown(path, folder.st_uid, folder.st_gid)
