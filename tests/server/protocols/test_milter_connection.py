"""The milter protocol as a mail server sees it: step by step, over a real socket."""

import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from milter_client import OFFER, inserted, mail_server
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.headers import fields
from priory.server.metrics.names import scoreboard
from priory.server.options import Policy
from priory.server.protocols.actions import cheapest_action
from priory.server.protocols.connection import Connection
from priory.server.protocols.milter import MAX_REMOVED, MilterConnection
from priory.server.protocols.milter_answer import MilterAnswer
from priory.wire.milter import MilterMessage, packet
from real_daemon import connected, serving, wait_until

CONFIG = '[milter]\nlisten = "127.0.0.1:0"\n'


@pytest.mark.slow
def test_a_message_is_marked_with_the_verdict_of_check(home: Path, mail: list[Drawn]):
    with Filter.open(home) as filter_:
        expected = [fields(filter_.check(drawn.raw)) for drawn in mail]
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        answers = [server.deliver(drawn.raw) for drawn in mail]
    assert [inserted(each) for each in answers] == expected
    assert {each[-1] for each in answers} == {("c", b"")}
    assert daemon.n_logged("message queue= bytes=") == len(mail)


def test_forged_fields_are_removed(home: Path, mail: list[Drawn]):
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
        answers = server.deliver(b"X-Spam-Flag: NO\n" * (MAX_REMOVED + 3) + mail[0].raw)
        assert inserted(answers) == inserted(server.deliver(mail[0].raw))
        assert "forged fields left queue= fields=3\n" in daemon.log
    removed = [int.from_bytes(content[:4]) for name, content in answers if name == "m"]
    assert removed == list(range(MAX_REMOVED, 0, -1))


def test_authenticated_mail_is_checked_only_if_configured(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        assert server.deliver(mail[0].raw, auth_authen="ann") == [("a", b"")]
        assert inserted(server.deliver(mail[0].raw))
    with serving(home, CONFIG + "check_authenticated = true\n") as daemon, mail_server(daemon) as server:
        assert inserted(server.deliver(mail[0].raw, auth_authen="ann"))


@pytest.mark.slow
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
            chosen.add(cheapest_action(policy, verdict))
            assert cheapest_action(policy, verdict) == ("reject" if verdict.label == "spam" and is_cheaper else "mark")
    assert chosen == {"reject", "mark"}


def test_a_message_that_cannot_be_checked_is_marked_and_delivered(home: Path, mail: list[Drawn]):
    def fail(message: MilterMessage) -> MilterAnswer:
        raise RuntimeError("a secret of the message")

    ours, theirs = socket.socketpair()
    written: list[bytes] = []

    class Here(MilterConnection):
        def _write(self, answer: bytes) -> None:
            written.append(answer)

    def gone(connection: Connection) -> None: ...

    board = scoreboard()
    with ours, theirs:
        connection = Here(100_000, fail, board.tally(board.take()), gone)
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
def test_a_client_that_breaks_the_protocol_is_disconnected_and_others_are_served(
    sent: bytes, home: Path, mail: list[Drawn]
):
    with serving(home, CONFIG) as daemon:
        with connected(("127.0.0.1", daemon.port)) as stranger:
            stranger.sendall(sent)
            assert stranger.recv(1000) == b""
        with mail_server(daemon) as server:
            assert inserted(server.deliver(mail[0].raw))
        daemon.wait_until(lambda: daemon.n_logged("refused why=") == 1)


@pytest.mark.slow
def test_a_server_that_is_silent_between_messages_is_kept(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG + "[serve]\ntimeout = 1\n") as daemon, mail_server(daemon) as server:
        slow = connected(daemon.socket)
        wait_until(lambda: slow.recv(1000))  # a client of the other protocol has run out of time meanwhile
        slow.close()
        assert inserted(server.deliver(mail[0].raw))


def test_strangers_who_do_not_negotiate_make_way_for_mail_servers(home: Path, mail: list[Drawn]):
    config = CONFIG + "[serve]\nworkers = 1\nmax_connections = 3\ntimeout = 3600\n"
    with serving(home, config) as daemon, mail_server(daemon) as server, ExitStack() as stack:
        strangers = [stack.enter_context(connected(("127.0.0.1", daemon.port))) for _ in range(6)]
        strangers[0].sendall(packet("D", b"C"))
        with mail_server(daemon) as another:
            assert inserted(another.deliver(mail[0].raw))
            assert inserted(server.deliver(mail[0].raw))
        assert strangers[0].recv(1) == b""


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


def test_a_stop_answers_the_current_message_and_then_closes(home: Path, mail: list[Drawn]):
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


@pytest.mark.slow
def test_nothing_is_read_from_a_server_that_reads_no_answers(home: Path):
    with serving(home, CONFIG + "[serve]\nworkers = 1\n") as daemon, mail_server(daemon) as server:
        server.send_until_blocked(packet("M", b"<a>\0"))
        assert daemon.ask(b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"
