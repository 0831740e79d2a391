"""Mail that is read from folders on another server, as it is from files: flags and folders stay as they are."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from priory.corpus import Corpus, CorpusError, Part
from priory.imap.errors import MailboxError
from priory.imap.options import SCHEME, Account
from priory.imap.session import Session
from priory.imap.trouble import TROUBLE, described


def read(account: Account, password: Callable[[], str], folder: str, label: str) -> Corpus:
    """Return the mail of a folder, all of it with the same label; without a folder, of all that are watched.

    `Junk:42` is the message of this number in Junk, as its source names it.
    """
    return Corpus(partial(_parts, account, password, folder, label), partial(_counted, account, password, folder))


def junk(account: Account, password: Callable[[], str]) -> str:
    """Return the folder for spam."""
    with _session(account, password) as session:
        return session.folders().junk


def _parts(account: Account, password: Callable[[], str], folder: str, label: str) -> Iterator[Part]:
    with _session(account, password) as session:
        named = _named(session, folder)
    for each, uid in named:
        yield Part(label, f"{SCHEME}{each}", _read, (account, password, each, uid), "stream")


def _counted(account: Account, password: Callable[[], str], folder: str) -> int:
    with _session(account, password) as session:
        return sum(1 if uid else session.status(each).n_messages for each, uid in _named(session, folder))


def _named(session: Session, folder: str) -> list[tuple[str, int]]:
    """Return folders, each with the number of the one message that is meant; 0 for all."""
    if not folder:
        return [(each, 0) for each, _ in session.folders().roles]
    within, _, uid = folder.rpartition(":")
    if within and uid.isascii() and uid.isdigit() and not session.has(folder):
        return [(within, int(uid))]
    return [(folder, 0)]


def _read(account: Account, password: Callable[[], str], folder: str, uid: int) -> Iterator[tuple[str, bytes]]:
    with _session(account, password) as session:
        if not session.has(folder):
            raise MailboxError(f"{account.host} has no folder {folder!r}. There are {', '.join(session.names())}")
        uidvalidity, uids = session.listing(folder)
        if uid and uid not in uids:
            raise MailboxError(f"{folder!r} has no message {uid}")
        for some in session.fetch(folder, uidvalidity, [uid] if uid else uids):
            yield from ((f"{SCHEME}{folder}:{each.uid}", each.raw) for each in some)


@contextmanager
def _session(account: Account, password: Callable[[], str]) -> Iterator[Session]:
    try:
        with Session(account, password()) as session:
            yield session
    except MailboxError as error:
        raise CorpusError(str(error)) from None
    except TROUBLE as error:
        raise CorpusError(f"{account.address}: {described(error)}; try again") from None
