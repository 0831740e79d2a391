"""One connection to a mail server: lists folders, reads messages without a trace, and moves some.

Folders are opened to read only (EXAMINE), and messages are peeked at, so no flag changes. Only to move messages is the
inbox opened to write.
"""

import imaplib
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from priory.imap.errors import MailboxError
from priory.imap.folders import Folders, found
from priory.imap.options import Account
from priory.imap.sightings import Look, State, is_filing
from priory.imap.trouble import TROUBLE
from priory.reading import READ_TOGETHER, together
from priory.verdict import printable

try:
    from imapclient import IMAPClient
    from imapclient.exceptions import LoginError
except ImportError:
    raise MailboxError("imapclient is missing, which IMAP needs: pip install 'priory[imap]'") from None

PATIENCE_S: Final = 60.0  #: with a server that is silent when it should answer
#: Answers to a login that are not about the password (RFC 5530).
_BUSY: Final = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]", "[CONTACTADMIN]")
#: OpenSSL's codes for certificates that are good, but for another name or another address.
_OF_ANOTHER: Final = (62, 64)
#: Who has marked a message so has had it in hand.
_IN_HAND: Final = frozenset((b"\\seen", b"\\answered", b"\\flagged", b"\\deleted", b"\\draft"))


class Fetched(NamedTuple):
    """A message as the server has it."""

    uid: int
    raw: bytes
    is_untouched: bool


class Status(NamedTuple):
    """What changes about a folder if anything in it does."""

    uidvalidity: int
    next_uid: int
    n_messages: int
    change: int  #: the number of the last change of any flag, where the server has one


class Session:
    """A connection that has logged in."""

    def __init__(self, account: Account, password: str) -> None:
        self._account = account
        self._selected: tuple[str, bool] | None = None
        self._client = _connected(account)
        try:
            self._log_in(password)
            self._has = frozenset(each.decode("ascii", "replace").upper() for each in self._client.capabilities())
        except BaseException:
            _let_go(self._client)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            with suppress(*TROUBLE):
                self._client.logout()
        _let_go(self._client)

    @property
    def can_idle(self) -> bool:
        """Whether the server says by itself when something happens."""
        return "IDLE" in self._has

    def folders(self) -> Folders:
        """Find the folders that are watched."""
        return found(self._account, self._client.list_folders())

    def _log_in(self, password: str) -> None:
        """AUTHENTICATE PLAIN where there is one, as LOGIN knows only ASCII."""
        client = self._client
        try:
            if client.has_capability("AUTH=PLAIN"):
                client.plain_login(self._account.user, password)
            elif client.has_capability("LOGINDISABLED"):
                raise MailboxError(f"{self._account.host} lets nobody log in over this connection; set another tls")
            elif not (password + self._account.user).isascii():
                raise MailboxError(f"{self._account.host} takes only ASCII in passwords and names")
            else:
                client.login(self._account.user, password)
        except LoginError as error:
            if isinstance(error.__context__, imaplib.IMAP4.abort):
                raise error.__context__ from None  # nothing was refused: the connection was cut
            said = _readable(str(error)).replace(password, "…")
            if any(code in said.upper() for code in _BUSY):
                raise imaplib.IMAP4.abort("no login at present") from None
            raise MailboxError(
                f"{self._account.host} refuses to let {self._account.user} in: {said}. Check user and password; many "
                "providers want an app password. It is not tried again, lest the account be locked."
            ) from None

    def status(self, folder: str) -> Status:
        """Ask what is in a folder, without opening it."""
        self._unselect()
        asked = ["UIDVALIDITY", "UIDNEXT", "MESSAGES", *(["HIGHESTMODSEQ"] if "CONDSTORE" in self._has else [])]
        said = self._client.folder_status(folder, asked)
        return Status(said[b"UIDVALIDITY"], said[b"UIDNEXT"], said[b"MESSAGES"], said.get(b"HIGHESTMODSEQ", 0))

    def look(self, folder: str, role: str, status: Status, state: State) -> Look:
        """List a folder: all of what a label has; elsewhere what matters and what is new."""
        mark = state.marks.get(folder)
        live: frozenset[int] = frozenset()
        if is_filing(role):
            live = self._live(folder, status, [])
        elif mark is not None and mark.uidvalidity == status.uidvalidity and status.n_messages:
            uids = [*(str(entry.uid) for entry in state.within(folder)), f"{mark.next_uid}:*"]
            live = self._live(folder, status, ["UID", ",".join(uids)])
        return Look(folder, role, status.uidvalidity, status.next_uid, live)

    def _live(self, folder: str, status: Status, which: list[str]) -> frozenset[int]:
        self._examine(folder, status.uidvalidity)
        return frozenset(self._client.search(["UNDELETED", *which]))

    def fetch(self, folder: str, uidvalidity: int, uids: Sequence[int]) -> Iterator[list[Fetched]]:
        """Yield messages, some at a time; those that are gone meanwhile are left out."""
        most = self._account.max_bytes
        for some in _hundreds(uids):
            self._examine(folder, uidvalidity)
            said = self._client.fetch(some, ["RFC822.SIZE"])
            sizes = sorted((uid, min(each.get(b"RFC822.SIZE", most), most)) for uid, each in said.items())
            for few in together(sizes, _size, READ_TOGETHER):
                said = self._client.fetch([uid for uid, _ in few], ["FLAGS", f"BODY.PEEK[]<0.{most}>"])
                yield [
                    Fetched(
                        uid, each[b"BODY[]<0>"] or b"", _IN_HAND.isdisjoint(map(bytes.lower, each.get(b"FLAGS", ())))
                    )
                    for uid, each in sorted(said.items())
                    if b"BODY[]<0>" in each
                ]

    def has(self, folder: str) -> bool:
        """Tell whether there is a folder of this name."""
        return bool(self._client.folder_exists(folder))

    def names(self) -> list[str]:
        """Return the names of all folders, in letters that can be printed."""
        return sorted(printable(name) for _, _, name in self._client.list_folders())

    def listing(self, folder: str) -> tuple[int, list[int]]:
        """Return which numbering a folder has, and the numbers of its messages."""
        status = self.status(folder)
        return status.uidvalidity, sorted(self._live(folder, status, []))

    def move(self, folder: str, uidvalidity: int, uids: Sequence[int], copied: Sequence[int], target: str) -> None:
        """Move messages; those that were copied there already are only removed.

        Without MOVE they are copied and marked as deleted. They are then removed by number, where the server can do
        that; a plain EXPUNGE would also remove what others have marked.
        """
        self._select(folder, uidvalidity, readonly=False)
        left = list(copied)
        if uids and "MOVE" in self._has:
            self._client.move(uids, target)
        elif uids:
            self._client.copy(uids, target)
            left += uids
        if left:
            self._client.delete_messages(left, silent=True)
            if "UIDPLUS" in self._has:
                self._client.uid_expunge(left)

    def wait(self, folder: str, status: Status, seconds: float) -> None:
        """Wait until the server says that something has happened in a folder, or for so long."""
        said = self._select(folder, status.uidvalidity, readonly=True)
        is_new = (said.get(b"UIDNEXT", status.next_uid), said[b"EXISTS"]) != (status.next_uid, status.n_messages)
        self._client.idle()
        self._client.idle_check(1.0 if is_new else seconds)  # a moment, in case a server is always at odds with itself
        self._client.idle_done()

    def _examine(self, folder: str, uidvalidity: int) -> None:
        if self._selected != (folder, True):
            self._select(folder, uidvalidity, readonly=True)

    def _select(self, folder: str, uidvalidity: int, *, readonly: bool) -> dict[bytes, Any]:
        self._selected = None
        said: dict[bytes, Any] = self._client.select_folder(folder, readonly)
        if said.get(b"UIDVALIDITY") != uidvalidity:
            raise imaplib.IMAP4.abort("the folder was numbered anew meanwhile")
        self._selected = (folder, readonly)
        return said

    def _unselect(self) -> None:
        """Leave the open folder: servers need not tell the status of one that is open.

        CLOSE would expunge a folder that is open to write.
        """
        if self._selected is None:
            return
        folder, is_readonly = self._selected
        if "UNSELECT" in self._has:
            self._client.unselect_folder()
        else:
            if not is_readonly:
                self._client.select_folder(folder, readonly=True)
            self._client.close_folder()
        self._selected = None


def _connected(account: Account) -> IMAPClient:
    port = account.port_or_usual
    try:
        context = ssl.create_default_context(cafile=account.ca_file)
    except OSError as error:
        raise MailboxError(f"{account.ca_file}, the ca_file, cannot be used: {error.strerror or error}") from None
    client = None
    try:
        client = IMAPClient(account.host, port, ssl=account.tls == "implicit", ssl_context=context, timeout=PATIENCE_S)
        if account.tls == "starttls":
            if not client.has_capability("STARTTLS"):
                raise MailboxError(f'{account.host}:{port} knows no STARTTLS; try tls = "implicit"')
            client.starttls(context)
    except BaseException as error:
        if client is not None:
            _let_go(client)
        if isinstance(error, ssl.SSLError):
            raise UntrustedError(_untrusted(account, port, error)) from None
        raise
    return client


def _let_go(client: IMAPClient) -> None:
    with suppress(*TROUBLE):  # it is gone already
        client.shutdown()


class UntrustedError(MailboxError):
    """The server's certificate is not good, or there is no TLS: wrong settings, or somebody in between."""


def _untrusted(account: Account, port: int, error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        is_of_another = error.verify_code in _OF_ANOTHER
        remedy = (
            "Check host: it must be a name that the certificate has."
            if is_of_another
            else "If it is one that the server's owner has made, name it in ca_file."
        )
        why = error.verify_message.rstrip(".")
        return f"the certificate of {account.host}:{port} is not trusted: {why}. {remedy}"
    return f"{account.host}:{port} does not speak TLS as expected ({error.reason}); check port and tls"


def _readable(text: str) -> str:
    """Return what a server has said, on one line of letters."""
    inner = text[2:-1] if text.startswith(("b'", 'b"')) else text
    return "".join(c if c.isprintable() else "·" for c in inner)[:200].rstrip(". ")


def _size(uid_and_size: tuple[int, int]) -> int:
    return uid_and_size[1]


def _hundreds(uids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (uids[i : i + 100] for i in range(0, len(uids), 100))
