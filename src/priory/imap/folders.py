"""Finds the folders of a mailbox: by the configuration, by the server's marks (RFC 6154), or by their names."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from priory.html.text import printable
from priory.imap.account import Account, MailboxError
from priory.imap.sightings import INBOX, JUNK, OTHER, UNSURE, Role, role_of

_NAMES: Final = {b"\\junk": ("junk", "spam"), b"\\trash": ("trash", "deleted messages", "deleted items")}


class Folders(NamedTuple):
    """The folders that are watched."""

    inbox: str
    junk: str
    others: tuple[str, ...]
    of_labels: tuple[tuple[str, str], ...] = ()  #: labels with a folder of their own, each with its folder
    unsure: str = ""  #: empty: unsure mail has no folder

    @property
    def filing(self) -> dict[Role, str]:
        """The folders into which Priory moves mail, by their roles."""
        unsure = {UNSURE: self.unsure} if self.unsure else {}
        return {**{role_of(label): folder for label, folder in self.of_labels}, JUNK: self.junk, **unsure}

    @property
    def roles(self) -> list[tuple[str, Role]]:
        """The folders with their roles in the order in which a pass lists them: filing folders last."""
        filing = ((folder, role) for role, folder in self.filing.items())
        return [(self.inbox, INBOX), *((folder, OTHER) for folder in self.others), *filing]


def find_folders(account: Account, listed: Iterable[tuple[Any, Any, str]]) -> Folders:
    """Find the folders of an account in the server's list of flags, separator and name of each.

    >>> account = Account("mail.example", "ann")
    >>> find_folders(account, [((), b"/", "INBOX"), ((b"\\\\Junk",), b"/", "Unwanted"), ((), b"/", "Trash")]).junk
    'Unwanted'
    """
    folders = [(frozenset(flag.lower() for flag in flags), separator, name) for flags, separator, name in listed]
    names = {name for flags, _, name in folders if not flags & {b"\\noselect", b"\\nonexistent"}}
    junk = account.junk or _special(b"\\junk", folders)
    if not junk:
        raise MailboxError(
            f"{account.host} marks no folder as Junk, and none is called Junk or Spam: name it in junk, or create one. "
            f"The folders are {_join(names)}"
        )
    found = Folders(account.inbox, junk, account.watch, tuple(account.folders.items()), account.unsure)
    watched = [folder for folder, _ in found.roles]
    for folder in watched:
        if folder not in names and folder.upper() != "INBOX":
            raise MailboxError(f"{account.host} has no folder {folder!r}. The folders are {_join(names)}")
    if len(set(watched)) < len(watched):
        raise MailboxError(f"inbox, junk, unsure, watch and folders must name different folders; {junk!r} is Junk")
    trash = _special(b"\\trash", folders)
    if trash in watched:
        raise MailboxError(f"{trash!r} is the trash: deleting mail teaches nothing, so do not watch it")
    return found


def _join(folders: Iterable[str]) -> str:
    return ", ".join(printable(folder) for folder in sorted(folders))


def _special(flag: bytes, folders: list[tuple[frozenset[bytes], Any, str]]) -> str:
    """Return the folder with a flag, or else one with a usual name; empty if there is none."""
    for flags, _, name in folders:
        if flag in flags:
            return name
    for known in _NAMES[flag]:
        for _, separator, name in folders:
            if name.lower().rpartition(separator.decode() if separator else "/")[2] == known:
                return name
    return ""
