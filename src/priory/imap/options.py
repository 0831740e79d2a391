"""What can be set about a mailbox on another server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SCHEME: Final = "imap:"  #: with which a path begins that is a folder on another server
#: How a connection is protected, and the port that this usually has.
PORTS: Final = {"implicit": 993, "starttls": 143, "none": 143, "insecure": 143}


@dataclass(frozen=True, slots=True)
class Account:
    """A mailbox, how to get at it, and what to do there."""

    host: str
    user: str
    password_command: str = ""
    password_file: Path | None = None
    port: int = 0  #: 0 is the usual one
    tls: str = "implicit"
    ca_file: Path | None = None
    inbox: str = "INBOX"
    junk: str = ""  #: empty: the server says which it is, or its name does
    watch: tuple[str, ...] = ()  #: other folders into which mail from Junk may be moved
    folders: Mapping[str, str] = field(default_factory=dict, hash=False)  #: of labels that are not spam
    move: bool = False
    poll: int = 60  #: seconds
    max_bytes: int = 10_485_760

    @property
    def port_or_usual(self) -> int:
        """The port, the usual one if none was said."""
        return self.port or PORTS[self.tls]

    @property
    def address(self) -> str:
        """The server and its port."""
        return f"{self.host}:{self.port_or_usual}"

    @property
    def name(self) -> str:
        """What tells this mailbox from others.

        >>> Account("mail.example", "ann").name
        'ann@mail.example:993'
        """
        return f"{self.user}@{self.address}"
