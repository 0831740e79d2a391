"""The settings of a mailbox on another server, and its password: from a program or a file, never logged or shown."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SCHEME: Final = "imap:"  #: the beginning of a path that names a folder on another server
#: The usual port for each kind of transport security.
PORTS: Final = {"implicit": 993, "starttls": 143, "none": 143, "insecure": 143}


@dataclass(frozen=True, slots=True)
class Account:
    """A mailbox: how to connect, which folders to watch, and what to do there."""

    host: str
    user: str
    password_command: str = ""
    password_file: Path | None = None
    port: int = 0  #: 0: the usual one
    tls: str = "implicit"
    ca_file: Path | None = None
    inbox: str = "INBOX"
    junk: str = ""  #: empty: found by the server's mark, or by its name
    unsure: str = ""  #: the folder for unsure mail; empty: there is none
    watch: tuple[str, ...] = ()  #: other folders into which mail from Junk may be moved
    folders: Mapping[str, str] = field(
        default_factory=dict, hash=False
    )  #: by label: the folders of labels other than spam
    move: bool = False
    poll: int = 60  #: seconds
    max_bytes: int = 10_485_760

    @property
    def port_or_usual(self) -> int:
        """The port; the usual one if none is set."""
        return self.port or PORTS[self.tls]

    @property
    def address(self) -> str:
        """The host and the port."""
        return f"{self.host}:{self.port_or_usual}"

    @property
    def name(self) -> str:
        """A name that distinguishes this mailbox from others.

        >>> Account("mail.example", "ann").name
        'ann@mail.example:993'
        """
        return f"{self.user}@{self.address}"


class MailboxError(Exception):
    """A problem with a mailbox that only a person can solve; the text says what is wrong, and what to do."""


_COMMAND_TIMEOUT_S: Final = 120.0  # a person may have to unlock a key


def password_of(account: Account) -> str:
    """Return the password: the first line of a program's output, or of a file that only its owner can read."""
    if account.password_file is not None:
        return _first_line(_from_file(account.password_file), f"{account.password_file} contains")
    return _first_line(_from_command(account.password_command), "password_command has written")


def _from_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
                raise MailboxError(
                    f"{path} can be read by others: run chmod 600 on it, and make this account its owner"
                )
            return file.read(65_536)
    except OSError as error:
        raise MailboxError(f"password_file {path} cannot be read: {error.strerror}") from None


def _from_command(command: str) -> bytes:
    import subprocess  # noqa: PLC0415 - every command reads the settings, few run a program

    try:
        done = subprocess.run(  # noqa: S602 - a shell command line of the user, pipes included
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=_COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MailboxError(
            f"password_command has not ended after {_COMMAND_TIMEOUT_S:.0f} s; try it in a terminal"
        ) from None
    if done.returncode:
        raise MailboxError(f"password_command has ended with status {done.returncode}; try it in a terminal")
    return done.stdout


def _first_line(output: bytes, source: str) -> str:
    try:
        line = output.decode().partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        raise MailboxError(f"{source} text that is not UTF-8, instead of a password") from None
    if not line or "\0" in line:
        raise MailboxError(f"{source} no password: it must be the first line")
    return line
