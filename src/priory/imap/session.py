"""A connection to an IMAP server: lists folders, reads messages without changing their flags, and moves some.

Folders are opened read-only (EXAMINE), and messages are read with BODY.PEEK, so no flag changes. A folder is opened for
writing only to move messages.
"""

import imaplib
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from priory.filter.prepare import READ_TOGETHER, in_groups
from priory.html.text import printable
from priory.imap.account import Account, MailboxError
from priory.imap.client import AnswerError, BoundedClient, LoginError, answer_errors
from priory.imap.folders import Folders, find_folders
from priory.imap.sightings import FolderListing, MailboxState, Role

#: Errors of networks and servers, after which a later attempt may succeed.
TEMPORARY_ERRORS: Final = (OSError, imaplib.IMAP4.error)
TIMEOUT_S: Final = 60.0  #: for an answer of the server
#: Response codes to a login that do not mean a wrong password (RFC 5530).
_TEMPORARY: Final = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]", "[CONTACTADMIN]")
_MOST_UID: Final = (1 << 32) - 1  # RFC 3501
_MOST_CHANGES: Final = (1 << 63) - 1  # RFC 7162
#: OpenSSL's codes for certificates that are valid for another host name or another address.
_NAME_MISMATCH: Final = (62, 64)
#: A message with any of these flags was touched by a person.
_TOUCHED: Final = frozenset((b"\\seen", b"\\answered", b"\\flagged", b"\\deleted", b"\\draft"))


class FetchedMessage(NamedTuple):
    """A message from the server."""

    uid: int
    raw: bytes
    is_untouched: bool


class FolderStatus(NamedTuple):
    """The numbers by which a change in a folder is noticed."""

    uidvalidity: int
    next_uid: int
    n_messages: int
    change: int  #: the number of the last change of a flag; 0 if the server has none


class Session:
    """A connection that is logged in."""

    def __init__(self, account: Account, password: str) -> None:
        self._account = account
        self._selected: tuple[str, bool] | None = None
        self._client = _connect(account)
        try:
            self._log_in(password)
            self._has = self._capabilities()
        except BaseException:
            _shut_down(self._client)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            with suppress(*TEMPORARY_ERRORS):
                self._client.logout()
        _shut_down(self._client)

    @answer_errors()
    def _capabilities(self) -> frozenset[str]:
        return frozenset(capability.decode("ascii", "replace").upper() for capability in self._client.capabilities())

    @property
    def can_idle(self) -> bool:
        """Whether the server reports changes by itself."""
        return "IDLE" in self._has

    def folders(self) -> Folders:
        """Find the folders that are watched."""
        return find_folders(self._account, self._list())

    @answer_errors()
    def _list(self) -> list[tuple[frozenset[bytes], bytes | None, str]]:
        """Return the flags, the separator and the name of each folder."""
        listed = [
            (frozenset(map(_bytes, flags)), separator, name) for flags, separator, name in self._client.list_folders()
        ]
        for _, separator, name in listed:
            if not isinstance(name, str) or not isinstance(separator, bytes | None):
                raise AnswerError(f"{name!r} is no folder")
        return listed

    @answer_errors()
    def _log_in(self, password: str) -> None:
        """Log in by AUTHENTICATE PLAIN if the server has it, because LOGIN allows only ASCII."""
        client = self._client
        try:
            if client.has_capability("AUTH=PLAIN"):
                client.plain_login(self._account.user, password)
            elif client.has_capability("LOGINDISABLED"):
                raise MailboxError(
                    f"{self._account.host} allows no login over this connection; set tls to another value"
                )
            elif not (password + self._account.user).isascii():
                raise MailboxError(f"{self._account.host} accepts only ASCII in names and passwords")
            else:
                client.login(self._account.user, password)
        except LoginError as error:
            if isinstance(error.__context__, imaplib.IMAP4.abort):
                raise error.__context__ from None  # the login was not refused: the connection was lost
            reason = _readable(str(error)).replace(password, "…")
            if any(code in reason.upper() for code in _TEMPORARY):
                raise imaplib.IMAP4.abort("no login at present") from None
            raise MailboxError(
                f"{self._account.host} refuses the login of {self._account.user}: {reason}. Check user and password; "
                "many providers need an app password. There is no second attempt, which might lock the account."
            ) from None

    @answer_errors()
    def status(self, folder: str) -> FolderStatus:
        """Return the status of a folder, without opening it."""
        self._unselect()
        items = ["UIDVALIDITY", "UIDNEXT", "MESSAGES", *(["HIGHESTMODSEQ"] if "CONDSTORE" in self._has else [])]
        answer = self._client.folder_status(folder, items)
        return FolderStatus(
            _number(answer[b"UIDVALIDITY"]),
            _number(answer[b"UIDNEXT"]),
            _number(answer[b"MESSAGES"]),
            _number(answer.get(b"HIGHESTMODSEQ", 0), _MOST_CHANGES),
        )

    def list_folder(self, folder: str, role: Role, status: FolderStatus, state: MailboxState) -> FolderListing:
        """List a folder: all messages in a filing folder, elsewhere those that matter and those that are new."""
        mark = state.marks.get(folder)
        live: frozenset[int] = frozenset()
        if role.is_filing:
            live = self._live(folder, status, [])
        elif mark is not None and mark.uidvalidity == status.uidvalidity and status.n_messages:
            uids = [*(str(sighting.uid) for sighting in state.within(folder)), f"{mark.next_uid}:*"]
            live = self._live(folder, status, ["UID", ",".join(uids)])
        return FolderListing(folder, role, status.uidvalidity, status.next_uid, live)

    @answer_errors()
    def _live(self, folder: str, status: FolderStatus, which: list[str]) -> frozenset[int]:
        self._examine(folder, status.uidvalidity)
        return frozenset(map(_number, self._client.search(["UNDELETED", *which])))

    def fetch(self, folder: str, uidvalidity: int, uids: Sequence[int]) -> Iterator[list[FetchedMessage]]:
        """Yield messages in batches; messages that are gone in the meantime are left out."""
        for hundred in _hundreds(uids):
            self._examine(folder, uidvalidity)
            for batch in in_groups(self._sizes(hundred), _size, READ_TOGETHER):
                yield self._messages([uid for uid, _ in batch])

    @answer_errors()
    def _sizes(self, uids: Sequence[int]) -> list[tuple[int, int]]:
        """Return the numbers of those messages that are still there, each with the bytes to read of it."""
        most = self._account.max_bytes
        answer = self._client.fetch(uids, ["RFC822.SIZE"])
        return sorted((uid, min(_number(answer[uid].get(b"RFC822.SIZE", most)), most)) for uid in uids if uid in answer)

    @answer_errors()
    def _messages(self, uids: Sequence[int]) -> list[FetchedMessage]:
        answer = self._client.fetch(uids, ["FLAGS", f"BODY.PEEK[]<0.{self._account.max_bytes}>"])
        return [
            FetchedMessage(
                uid,
                _bytes(answer[uid][b"BODY[]<0>"] or b""),
                _TOUCHED.isdisjoint(_bytes(flag).lower() for flag in answer[uid].get(b"FLAGS", ())),
            )
            for uid in sorted(uids)
            if uid in answer and b"BODY[]<0>" in answer[uid]
        ]

    @answer_errors()
    def has(self, folder: str) -> bool:
        """Tell whether a folder exists."""
        return bool(self._client.folder_exists(folder))

    def names(self) -> list[str]:
        """Return the names of all folders, with unprintable characters replaced."""
        return sorted(printable(name) for _, _, name in self._list())

    def listing(self, folder: str) -> tuple[int, list[int]]:
        """Return the UIDVALIDITY of a folder, and the numbers of its messages."""
        status = self.status(folder)
        return status.uidvalidity, sorted(self._live(folder, status, []))

    @answer_errors()
    def move(self, folder: str, uidvalidity: int, uids: Sequence[int], copied: Sequence[int], target: str) -> None:
        """Move messages; those that were copied already are only removed.

        Without MOVE they are copied and marked as deleted, and then removed by UID EXPUNGE if the server has it. A
        plain EXPUNGE would also remove messages that others have marked.
        """
        self._select(folder, uidvalidity, readonly=False)
        remaining = list(copied)
        if uids and "MOVE" in self._has:
            self._client.move(uids, target)
        elif uids:
            self._client.copy(uids, target)
            remaining += uids
        if remaining:
            self._client.delete_messages(remaining, silent=True)
            if "UIDPLUS" in self._has:
                self._client.uid_expunge(remaining)

    @answer_errors()
    def wait(self, folder: str, status: FolderStatus, seconds: float) -> None:
        """Wait until the server reports a change in a folder, or the given seconds have passed."""
        answer = self._select(folder, status.uidvalidity, readonly=True)
        is_new = (answer.get(b"UIDNEXT", status.next_uid), answer[b"EXISTS"]) != (status.next_uid, status.n_messages)
        self._client.idle()
        self._client.idle_check(1.0 if is_new else seconds)  # not 0: some servers never agree with their own STATUS
        self._client.idle_done()

    def _examine(self, folder: str, uidvalidity: int) -> None:
        if self._selected != (folder, True):
            self._select(folder, uidvalidity, readonly=True)

    @answer_errors()
    def _select(self, folder: str, uidvalidity: int, *, readonly: bool) -> dict[bytes, Any]:
        self._selected = None
        answer: dict[bytes, Any] = self._client.select_folder(folder, readonly)
        if answer.get(b"UIDVALIDITY") != uidvalidity:
            raise imaplib.IMAP4.abort("the server has renumbered the folder in the meantime")
        self._selected = (folder, readonly)
        return answer

    @answer_errors()
    def _unselect(self) -> None:
        """Close the open folder, because servers need not tell the status of an open one.

        CLOSE would expunge a folder that is open for writing, so it is opened read-only first.
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


@answer_errors()
def _connect(account: Account) -> BoundedClient:
    port = account.port_or_usual
    try:
        context = ssl.create_default_context(cafile=account.ca_file)
    except OSError as error:
        raise MailboxError(f"ca_file {account.ca_file} cannot be used: {error.strerror or error}") from None
    client = None
    try:
        client = BoundedClient(
            account.host,
            port,
            max_message_bytes=account.max_bytes,
            ssl=account.tls == "implicit",
            ssl_context=context,
            timeout=TIMEOUT_S,
        )
        if account.tls == "starttls":
            if not client.has_capability("STARTTLS"):
                raise MailboxError(f'{account.host}:{port} does not offer STARTTLS; try tls = "implicit"')
            client.starttls(context)
    except BaseException as error:
        if client is not None:
            _shut_down(client)
        if isinstance(error, ssl.SSLError):
            raise UntrustedError(_trust_problem(account, port, error)) from None
        raise
    return client


def _shut_down(client: BoundedClient) -> None:
    with suppress(*TEMPORARY_ERRORS):  # the connection is lost already
        client.shutdown()


class UntrustedError(MailboxError):
    """The server's certificate is not trusted, or it does not speak TLS: wrong settings, or an attack."""


def _trust_problem(account: Account, port: int, error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        is_mismatch = error.verify_code in _NAME_MISMATCH
        remedy = (
            "Check host: it must be a name in the certificate."
            if is_mismatch
            else "If it is self-signed, name it in ca_file."
        )
        why = error.verify_message.rstrip(".")
        return f"the certificate of {account.host}:{port} is not trusted: {why}. {remedy}"
    return f"{account.host}:{port} does not speak TLS as expected ({error.reason}); check port and tls"


def _readable(text: str) -> str:
    """Return a server's text on one line, with unprintable characters replaced."""
    inner = text[2:-1] if text.startswith(("b'", 'b"')) else text
    return "".join(c if c.isprintable() else "·" for c in inner)[:200].rstrip(". ")


def _number(value: object, most: int = _MOST_UID) -> int:
    """Return a number of an answer, unless it is none or larger than IMAP allows."""
    if not isinstance(value, int) or not 0 <= value <= most:
        raise AnswerError(f"{value!r} is no number of a message or folder")
    return value


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise AnswerError(f"{value!r} is no text")
    return value


def _size(uid_and_size: tuple[int, int]) -> int:
    return uid_and_size[1]


def _hundreds(uids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (uids[i : i + 100] for i in range(0, len(uids), 100))


def describe(error: Exception) -> str:
    """Return the cause of an error in a few words; a server's own text is not shown.

    >>> describe(ConnectionRefusedError(111, "Connection refused"))
    'Connection refused'
    """
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, AnswerError):
        return "the server has sent an answer that is not IMAP, or does not end"
    if isinstance(error, imaplib.IMAP4.abort):
        return "the server has closed the connection"
    return "the server has refused a command"
