"""What networks and servers do on a bad day; to try again later may help."""

import imaplib
from typing import Final

TROUBLE: Final = (OSError, imaplib.IMAP4.error)


def described(error: Exception) -> str:
    """Return what has happened, in few words, none of which a server has chosen.

    >>> described(ConnectionRefusedError(111, "Connection refused"))
    'Connection refused'
    """
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "the server has hung up" if isinstance(error, imaplib.IMAP4.abort) else "the server has refused a command"
