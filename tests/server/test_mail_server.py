"""The daemon as a mail server sees it: a conversation step by step, over a real socket."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from priory.demo import Drawn
from priory.filter import Filter
from priory.marking import fields
from priory.server.actions import action
from priory.server.connection import Connection
from priory.server.counted import scoreboard
from priory.server.milter import MOST_REMOVED, MilterConnection
from priory.server.options import Policy
from priory.wire.milter import packet
from real_daemon import Daemon, connected, serving, wait_until

OFFER = packet("O", b"".join(n.to_bytes(4) for n in (6, 0x1FF, 0x1FFFFF)))
CONFIG = '[milter]\nlisten = "127.0.0.1:0"\n'


class MailServer:
    """What a mail server does with a milter."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = connected(address)
        self.ask(OFFER)

    def send(self, sent: bytes) -> None:
        self._socket.sendall(sent)

    def answer(self) -> tuple[str, bytes]:
        """Return one packet that came back."""
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
        """Wait for what comes: True if it is the end."""
        return self._socket.recv(1) == b""

    def send_until_blocked(self, sent: bytes) -> None:
        """Send the same again and again, and read nothing, until the daemon takes no more."""
        self._socket.settimeout(1)
        with suppress(TimeoutError):
            while True:
                self._socket.sendall(sent * 1000)

    def close(self) -> None:
        self._socket.close()

    def deliver(self, raw: bytes, **macros: str) -> list[tuple[str, bytes]]:
        """Pass a message, and return all that the daemon answers at its end."""
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
    """The fields that a server was told to insert."""
    found = []
    for at, content in enumerate(content for name, content in answers if name == "i"):
        assert int.from_bytes(content[:4]) == at
        name, value, _ = content[4:].decode().split("\0")
        found.append((name, value.removeprefix(" ")))
    return found


def test_a_message_is_marked_as_check_would_say(home: Path, mail: list[Drawn]):
    with Filter.open(home) as filter_:
        expected = [fields(filter_.check(drawn.raw)) for drawn in mail]
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        answers = [server.deliver(drawn.raw) for drawn in mail]
    assert [inserted(each) for each in answers] == expected
    assert {each[-1] for each in answers} == {("c", b"")}
    assert daemon.n_logged("message queue= bytes=") == len(mail)


def test_what_a_sender_forged_is_removed(home: Path, mail: list[Drawn]):
    forged = b"X-Spam-Flag: NO\nX-Priory-Verdict: ham\nx-spam-flag: NO\n" + mail[0].raw
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        answers = server.deliver(forged)
        assert inserted(answers) == inserted(server.deliver(mail[0].raw))
    assert [content for name, content in answers if name == "m"] == [
        b"\0\0\0\2x-spam-flag\0\0",
        b"\0\0\0\1x-spam-flag\0\0",
        b"\0\0\0\1x-priory-verdict\0\0",
    ]


def test_of_many_forged_fields_the_first_are_removed(home: Path, mail: list[Drawn]):
    """A server reads all of them for each that it removes, so a message could keep it busy for minutes."""
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        answers = server.deliver(b"X-Spam-Flag: NO\n" * (MOST_REMOVED + 3) + mail[0].raw)
        assert inserted(answers) == inserted(server.deliver(mail[0].raw))
        assert "forged fields left queue= fields=3\n" in daemon.log
    removed = [int.from_bytes(content[:4]) for name, content in answers if name == "m"]
    assert removed == list(range(MOST_REMOVED, 0, -1))


def test_mail_of_users_who_logged_in_is_not_looked_at_unless_wanted(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        assert server.deliver(mail[0].raw, auth_authen="ann") == [("a", b"")]
        assert inserted(server.deliver(mail[0].raw))
    with serving(home, CONFIG + "check_authenticated = true\n") as daemon, mail_server(daemon) as server:
        assert inserted(server.deliver(mail[0].raw, auth_authen="ann"))


def test_spam_is_refused_or_held_where_that_is_cheaper(home: Path, mail: list[Drawn]):
    with Filter.open(home) as filter_:
        said = [filter_.check(drawn.raw).label for drawn in mail]
    for config, done in (
        ("reject = { ham = 0, spam = -1 }\n", "y"),
        ("quarantine = { ham = 0, spam = -1 }\n", "q"),
        ("reject = { ham = 1e9, spam = 0 }\n", "c"),
    ):
        with serving(home, CONFIG + config) as daemon, mail_server(daemon) as server:
            answers = [server.deliver(drawn.raw) for drawn in mail]
        for label, answer in zip(said, answers, strict=True):
            names = [name for name, _ in answer]
            assert (done in names) == (label == "spam" or done == "c")
            assert bool(inserted(answer)) == ("y" not in names)
    with serving(home, CONFIG + "reject = { ham = 0, spam = -1 }\n") as daemon, mail_server(daemon) as server:
        ((_, refusal),) = server.deliver(mail[said.index("spam")].raw)
    assert refusal.startswith(b"550 5.7.1 this looks like spam; ")


def test_the_cheapest_action_follows_the_costs(home: Path, mail: list[Drawn]):
    with Filter.open(home) as filter_:
        verdicts = [filter_.check(drawn.raw) for drawn in mail]
    chosen = set()
    for ham in (110, 300, 1000):
        policy = Policy(reject={"ham": ham, "spam": -1})
        for verdict in verdicts:
            p = verdict.claims["ham"].probability
            is_cheaper = ham * p - (1 - p) < verdict.expected_costs["spam"]
            chosen.add(action(policy, verdict))
            assert action(policy, verdict) == ("reject" if verdict.label == "spam" and is_cheaper else "mark")
    assert chosen == {"reject", "mark"}


def test_what_cannot_be_checked_is_marked_so_and_goes_on(home: Path, mail: list[Drawn]):
    class Broken(Filter):
        def check(self, message):
            raise RuntimeError("a secret of the message")

    ours, theirs = socket.socketpair()
    written: list[bytes] = []

    class Here(MilterConnection):
        def _write(self, answer: bytes) -> None:
            written.append(answer)

    def gone(connection: Connection) -> None: ...

    board = scoreboard()
    with Broken.open(home) as filter_, ours, theirs:
        connection = Here(100_000, filter_, Policy(), board.tally(board.take()), gone)
        connection.data_received(OFFER)
        connection.data_received(packet("M", b"<a>\0"))
        connection.data_received(packet("L", b"X-Priory-Verdict\0 ham\0") + packet("E"))
    assert b"".join(written[-2:]).endswith(
        packet("m", b"\0\0\0\1x-priory-verdict\0\0")
        + packet("i", b"\0\0\0\0X-Priory-Verdict\0 unchecked\0")
        + packet("c")
    )
    assert board.total(("unchecked", "milter", "error")) == board.total(("errors", "check")) == 1


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", packet("M", b"<a>\0"), b"\xff" * 100])
def test_who_does_not_speak_the_protocol_is_hung_up_on_and_others_are_served(
    sent: bytes, home: Path, mail: list[Drawn]
):
    with serving(home, CONFIG) as daemon:
        with connected(("127.0.0.1", daemon.port)) as stranger:
            stranger.sendall(sent)
            assert stranger.recv(1000) == b""
        with mail_server(daemon) as server:
            assert inserted(server.deliver(mail[0].raw))
        daemon.wait_until(lambda: daemon.n_logged("refused why=") == 1)


def test_a_server_that_is_silent_between_messages_is_kept(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG + "[serve]\ntimeout = 1\n") as daemon, mail_server(daemon) as server:
        slow = connected(daemon.socket)
        wait_until(lambda: slow.recv(1000))  # a client of the other protocol has run out of time meanwhile
        slow.close()
        assert inserted(server.deliver(mail[0].raw))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_reload_leaves_conversations_alone(n_workers: int, home: Path, mail: list[Drawn]):
    with serving(home, CONFIG + f"[serve]\nworkers = {n_workers}\n") as daemon, mail_server(daemon) as server:
        with mail_server(daemon) as under_way:
            under_way.ask(packet("M", b"<ann@mail.example>\0"))
            old = set(daemon.workers)
            daemon.reload()
            assert inserted(server.deliver(mail[0].raw))
            under_way.send(packet("L", b"Subject\0 lunch\0") + packet("E"))
            assert under_way.answer()[0] == "i"
            assert old & set(daemon.workers)
        assert inserted(server.deliver(mail[0].raw))
        server.send(packet("Q"))
        daemon.wait_until(lambda: not old & set(daemon.workers))


def test_a_stop_answers_the_message_under_way_and_then_hangs_up(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server, mail_server(daemon) as idle:
        server.ask(packet("M", b"<ann@mail.example>\0"))
        daemon.send(signal.SIGTERM)
        daemon.wait_until(lambda: daemon.n_logged("stopping"))
        assert idle.is_hung_up()
        server.send(packet("L", b"Subject\0 lunch\0") + packet("E"))
        answers = [server.answer()]
        while answers[-1][0] in "imq":
            answers.append(server.answer())
        assert inserted(answers)
        assert answers[-1] == ("c", b"")
        assert server.is_hung_up()
        daemon.wait()
        assert daemon.process.returncode == 0


def test_a_server_that_reads_no_answers_is_heard_no_more(home: Path):
    with serving(home, CONFIG + "[serve]\nworkers = 1\n") as daemon, mail_server(daemon) as server:
        server.send_until_blocked(packet("M", b"<a>\0"))
        assert daemon.ask(b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"
