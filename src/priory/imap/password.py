"""The password of a mailbox: from a program or from a file, never from a command line, never into any text."""

import os
import subprocess
from pathlib import Path
from typing import Final

from priory.imap.errors import MailboxError
from priory.imap.options import Account

_PATIENCE_S: Final = 120.0  # a person may have to unlock a key


def password_of(account: Account) -> str:
    """Return the password: the first line of what a program says, or of a file that only its owner can read."""
    if account.password_file is not None:
        return _first_line(_from_file(account.password_file), f"{account.password_file} holds")
    return _first_line(_from_command(account.password_command), "password_command has said")


def _from_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
                raise MailboxError(f"{path} can be read by others: chmod 600 it, and let it belong to this account")
            return file.read(65_536)
    except OSError as error:
        raise MailboxError(f"{path}, the password_file, cannot be read: {error.strerror}") from None


def _from_command(command: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S602 - as its owner wrote it, pipes and all
            command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MailboxError(f"password_command has not ended after {_PATIENCE_S:.0f} s; try it in a terminal") from None
    if done.returncode:
        raise MailboxError(f"password_command has ended with status {done.returncode}; try it in a terminal")
    return done.stdout


def _first_line(said: bytes, whence: str) -> str:
    try:
        line = said.decode().partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        raise MailboxError(f"{whence} something that is not UTF-8, instead of a password") from None
    if not line or "\0" in line:
        raise MailboxError(f"{whence} no password: it must be the first line")
    return line
