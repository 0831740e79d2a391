"""Folders on another server as a corpus, to be read like files; flags and folders stay unchanged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from priory.corpus import Corpus, CorpusError, Part
from priory.imap.account import SCHEME, Account, MailboxError
from priory.imap.session import TEMPORARY_ERRORS, Session, describe


def read(account: Account, password: Callable[[], str], folder: str, label: str) -> Corpus:
    """Return the messages of a folder, all with the same label; without a folder, the messages of all watched folders.

    `Junk:42` is the message with the number 42 in Junk, as sources of lessons name it.
    """
    return Corpus(partial(_parts, account, password, folder, label), partial(_count, account, password, folder))


def junk(account: Account, password: Callable[[], str]) -> str:
    """Return the folder for spam."""
    with _session(account, password) as session:
        return session.folders().junk


def _parts(account: Account, password: Callable[[], str], folder: str, label: str) -> Iterator[Part]:
    with _session(account, password) as session:
        folders = _resolve(session, folder)
    for name, uid in folders:
        yield Part(label, f"{SCHEME}{name}", _read, (account, password, name, uid), "stream")


def _count(account: Account, password: Callable[[], str], folder: str) -> int:
    with _session(account, password) as session:
        return sum(1 if uid else session.status(name).n_messages for name, uid in _resolve(session, folder))


def _resolve(session: Session, folder: str) -> list[tuple[str, int]]:
    """Return the folders that are meant, each with the number of one message; 0 for all messages."""
    if not folder:
        return [(name, 0) for name, _ in session.folders().roles]
    within, _, uid = folder.rpartition(":")
    if within and uid.isascii() and uid.isdigit() and not session.has(folder):
        return [(within, int(uid))]
    return [(folder, 0)]


def _read(account: Account, password: Callable[[], str], folder: str, uid: int) -> Iterator[tuple[str, bytes]]:
    with _session(account, password) as session:
        if not session.has(folder):
            raise MailboxError(f"{account.host} has no folder {folder!r}. The folders are {', '.join(session.names())}")
        uidvalidity, uids = session.listing(folder)
        if uid and uid not in uids:
            raise MailboxError(f"{folder!r} has no message {uid}")
        for batch in session.fetch(folder, uidvalidity, [uid] if uid else uids):
            yield from ((f"{SCHEME}{folder}:{message.uid}", message.raw) for message in batch)


@contextmanager
def _session(account: Account, password: Callable[[], str]) -> Iterator[Session]:
    try:
        with Session(account, password()) as session:
            yield session
    except MailboxError as error:
        raise CorpusError(str(error)) from None
    except TEMPORARY_ERRORS as error:
        raise CorpusError(f"{account.address}: {describe(error)}; try again") from None
