"""Which folder is which: as the owner says, as the server says (RFC 6154), or by its name."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from priory.imap.errors import MailboxError
from priory.imap.options import Account
from priory.imap.sightings import INBOX, JUNK, OTHER, role_of
from priory.verdict import printable

_NAMES: Final = {b"\\junk": ("junk", "spam"), b"\\trash": ("trash", "deleted messages", "deleted items")}


class Folders(NamedTuple):
    """The folders that are watched."""

    inbox: str
    junk: str
    others: tuple[str, ...]
    of_labels: tuple[tuple[str, str], ...] = ()  #: labels that have a folder beside Junk, each with it

    @property
    def filing(self) -> dict[str, str]:
        """The folders that say what a message is, by their roles."""
        return {**{role_of(label): folder for label, folder in self.of_labels}, JUNK: self.junk}

    @property
    def roles(self) -> list[tuple[str, str]]:
        """The folders in the order in which a pass lists them, each with its role: those of labels are the last."""
        filing = ((folder, role) for role, folder in self.filing.items())
        return [(self.inbox, INBOX), *((folder, OTHER) for folder in self.others), *filing]


def found(account: Account, listed: Iterable[tuple[Any, Any, str]]) -> Folders:
    """Find the folders of an account in what the server lists: flags, separator and name of each.

    >>> account = Account("mail.example", "ann")
    >>> found(account, [((), b"/", "INBOX"), ((b"\\\\Junk",), b"/", "Unwanted"), ((), b"/", "Trash")]).junk
    'Unwanted'
    """
    every = [(frozenset(each.lower() for each in flags), mark, name) for flags, mark, name in listed]
    there = {name for flags, _, name in every if not flags & {b"\\noselect", b"\\nonexistent"}}
    junk = account.junk or _special(b"\\junk", every)
    if not junk:
        raise MailboxError(
            f"{account.host} marks no folder as Junk, and none is called Junk or Spam: name it in junk, or make one. "
            f"There are {_listed(there)}"
        )
    watched = (account.inbox, junk, *account.watch, *account.folders.values())
    for folder in watched:
        if folder not in there and folder.upper() != "INBOX":
            raise MailboxError(f"{account.host} has no folder {folder!r}. There are {_listed(there)}")
    if len(set(watched)) < len(watched):
        raise MailboxError(f"{junk!r} is Junk: inbox, watch and folders must name others")
    trash = _special(b"\\trash", every)
    if trash in watched:
        raise MailboxError(f"{trash!r} is where mail is thrown away: that says nothing about it, so do not watch it")
    return Folders(account.inbox, junk, account.watch, tuple(account.folders.items()))


def _listed(folders: Iterable[str]) -> str:
    return ", ".join(printable(folder) for folder in sorted(folders))


def _special(flag: bytes, every: list[tuple[frozenset[bytes], Any, str]]) -> str:
    """Return the folder that the server has marked, or else one whose name says it; nothing if there is none."""
    for flags, _, name in every:
        if flag in flags:
            return name
    for known in _NAMES[flag]:
        for _, mark, name in every:
            if name.lower().rpartition(mark.decode() if mark else "/")[2] == known:
                return name
    return ""
