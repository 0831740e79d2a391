"""A mail server that talks to the daemon's milter, step by step."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from priory.wire.milter import packet
from real_daemon import Daemon, connected

OFFER = packet("O", b"".join(n.to_bytes(4) for n in (6, 0x1FF, 0x1FFFFF)))


class MailServer:
    """A mail server that talks to a milter."""

    def __init__(self, address: str | tuple[str, int]) -> None:
        self._socket = connected(address)
        self.ask(OFFER)

    def send(self, sent: bytes) -> None:
        self._socket.sendall(sent)

    def answer(self) -> tuple[str, bytes]:
        """Return one packet of the answer."""
        size = int.from_bytes(self._exactly(4))
        got = self._exactly(size)
        return chr(got[0]), got[1:]

    def ask(self, sent: bytes) -> tuple[str, bytes]:
        self.send(sent)
        return self.answer()

    def _exactly(self, n: int) -> bytes:
        got = b""
        while len(got) < n:
            piece = self._socket.recv(n - len(got))
            assert piece, "the daemon hung up"
            got += piece
        return got

    def is_hung_up(self) -> bool:
        """Wait for data; True if the connection was closed."""
        return self._socket.recv(1) == b""

    def send_until_blocked(self, sent: bytes) -> None:
        """Send the same packet repeatedly without reading, until the daemon accepts no more."""
        self._socket.settimeout(1)
        with suppress(TimeoutError):
            while True:
                self._socket.sendall(sent * 1000)

    def close(self) -> None:
        self._socket.close()

    def deliver(self, raw: bytes, **macros: str) -> list[tuple[str, bytes]]:
        """Send a message, and return the answers at its end."""
        known = "".join(f"{{{name}}}\0{value}\0" for name, value in macros.items()).encode()
        said, _ = self.ask(packet("D", b"M" + known) + packet("M", b"<ann@mail.example>\0"))
        if said == "a":
            return [("a", b"")]
        head, _, body = raw.partition(b"\n\n")
        self.send(packet("R", b"<bob@home.example>\0"))
        for line in head.replace(b"\n ", b"\0").replace(b"\n\t", b"\1").split(b"\n"):
            name, _, value = line.partition(b":")
            self.send(packet("L", name + b"\0" + value.replace(b"\0", b"\n ").replace(b"\1", b"\n\t") + b"\0"))
        assert self.ask(packet("B", body.replace(b"\n", b"\r\n")))[0] in "cs"  # go on, or skip the rest
        self.send(packet("E"))
        got = [self.answer()]
        while got[-1][0] in "imq":
            got.append(self.answer())
        return got


@contextmanager
def mail_server(daemon: Daemon) -> Iterator[MailServer]:
    server = MailServer(("127.0.0.1", daemon.port))
    try:
        yield server
    finally:
        server.close()


def inserted(answers: list[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """The header fields that the server was told to insert."""
    found = []
    for at, content in enumerate(content for name, content in answers if name == "i"):
        assert int.from_bytes(content[:4]) == at
        name, value, _ = content[4:].decode().split("\0")
        found.append((name, value.removeprefix(" ")))
    return found
