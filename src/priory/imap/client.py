"""A client for IMAP servers that may be damaged or hostile: their answers are bounded, and errors in them are one kind.

`imapclient` and `imaplib` collect an answer until its last line, however many lines come before, and allocate what a
literal announces. Their parsers raise whatever Python raises when an answer is not as expected.
"""

import imaplib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from priory.imap.account import MailboxError

try:
    from imapclient import IMAPClient
    from imapclient.exceptions import LoginError
    from imapclient.imap4 import IMAP4WithTimeout
    from imapclient.tls import IMAP4_TLS
except ImportError:
    raise MailboxError("IMAP needs the package imapclient: pip install '.[imap]' in Priory's source folder") from None

__all__ = ["AnswerError", "BoundedClient", "LoginError", "answer_errors"]

MOST_ANSWER_BYTES: Final = 64 << 20  #: of an answer, beyond the size of one message
MOST_ANSWER_S: Final = 900.0  #: how long to read one answer


class AnswerError(imaplib.IMAP4.abort):
    """The server's answer is not IMAP, contradicts itself, or does not end."""


@contextmanager
def answer_errors() -> Iterator[None]:
    """Turn what parsers raise for a malformed answer into AnswerError; usable as a decorator."""
    try:
        yield
    except (
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        OverflowError,
        RecursionError,
        TypeError,
    ) as error:
        raise AnswerError(f"{type(error).__name__}: {error}") from error
    except ValueError as error:  # among them texts that cannot be decoded
        raise AnswerError(str(error)) from error


class _BoundedAnswers(imaplib.IMAP4):
    """Reads answers of limited length within a limited time; each command begins another answer."""

    most_bytes = MOST_ANSWER_BYTES
    _n_bytes = 0
    _seconds = 0.0

    def send(self, data: Any) -> None:
        self._n_bytes, self._seconds = 0, 0.0
        super().send(data)

    def read(self, size: int) -> bytes:
        self._count(size)  # before that many bytes are allocated
        start = time.monotonic()
        data = super().read(size)
        self._seconds += time.monotonic() - start
        if len(data) < size:
            raise self.abort("socket error: EOF")
        return data

    def readline(self) -> bytes:
        start = time.monotonic()
        line = super().readline()
        self._seconds += time.monotonic() - start
        self._count(len(line))
        return line

    def _count(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        if self._n_bytes > self.most_bytes:
            raise AnswerError(f"it is longer than {self.most_bytes:,} bytes")
        if self._seconds > MOST_ANSWER_S:
            raise AnswerError(f"it takes longer than {MOST_ANSWER_S:.0f} s")


class _PlainClient(_BoundedAnswers, IMAP4WithTimeout):  # type: ignore[misc]
    pass


class _TlsClient(_BoundedAnswers, IMAP4_TLS):  # type: ignore[misc]
    pass


class BoundedClient(IMAPClient):  # type: ignore[misc]
    """An `IMAPClient` whose answers are bounded."""

    def __init__(self, host: str, port: int, *, max_message_bytes: int, **options: Any) -> None:
        super().__init__(host, port, **options)
        self._imap.most_bytes = max_message_bytes + MOST_ANSWER_BYTES

    def _create_IMAP4(self) -> imaplib.IMAP4:  # noqa: N802 - the name that IMAPClient calls
        connect_s = getattr(self._timeout, "connect", None)
        if self.ssl:
            return _TlsClient(self.host, self.port, self.ssl_context, connect_s)  # type: ignore[call-arg]
        return _PlainClient(self.host, self.port, connect_s)
