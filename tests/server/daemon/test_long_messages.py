"""Long messages, which a process of their own reads while workers answer everyone else."""

import os
import random
import re
import signal
import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from command import priory
from milter_client import inserted, mail_server
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.filter.headers import fields
from priory.server.daemon.long_messages import LONG_BYTES, PATIENCE_S, WaitingMessage, take_next
from priory.wire.milter import packet
from real_daemon import Daemon, connected, is_running, paused, received, request, serving

CONFIG = '[serve]\nworkers = 1\n[milter]\nlisten = "127.0.0.1:0"\n'


def lengthened(raw: bytes) -> bytes:
    """Return a message that is too long for a worker."""
    words = random.Random(1).choices(raw.split(), k=LONG_BYTES // 4)
    return raw + b"\n" + b"\n".join(words)


def reader_of(daemon: Daemon) -> int:
    """Return the process that reads long messages, which the daemon starts last."""
    daemon.wait_until(lambda: len(daemon.workers) == 2)
    return max(daemon.workers)


def test_a_long_message_gets_the_verdict_of_check(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        answer = daemon.ask(request("PROCESS", raw))
        marked = server.deliver(raw)
        assert len(daemon.workers) == 2
    passed = priory("filter", home=home, stdin=raw).stdout
    with Filter.open(home) as filter_:
        assert inserted(marked) == fields(filter_.check(raw))
    assert answer.endswith(passed)
    assert daemon.n_logged("request verb=PROCESS") == daemon.n_logged("message queue=") == 1
    assert daemon.n_logged("long ended") == daemon.n_logged("process ended") == 0


def test_a_long_message_is_learned_and_recorded(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon:
        daemon.ask(request("CHECK", raw))
        assert any((home / "checked").iterdir())
        assert b"DidSet: local" in daemon.ask(request("TELL", raw, "Message-class: ham", "Set: local"))
        refused = daemon.ask(request("TELL", raw, "Message-class: junk", "Set: local"))
        assert refused.startswith(b"SPAMD/1.0 76 Bad header line: (Message-class")
    with Filter.open(home) as filter_:
        assert filter_.journal.label_of(filter_.prepare(raw).digest) == "ham"


def test_others_are_answered_while_a_long_message_is_read(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server, mail_server(daemon) as other:
        daemon.ask(request("CHECK", raw))
        with paused(reader_of(daemon)), connected(daemon.socket) as client:
            client.sendall(request("CHECK", raw))
            _, _, body = raw.partition(b"\n\n")
            server.ask(packet("M", b"<ann@mail.example>\0"))
            server.send(packet("B", body) + packet("E") + packet("M", b"<ann@mail.example>\0") + packet("E"))
            for drawn in mail[:5]:
                assert b"EX_OK" in daemon.ask(request("CHECK", drawn.raw))
                assert inserted(other.deliver(drawn.raw))
            os.kill(reader_of(daemon), signal.SIGCONT)
            assert b"EX_OK" in received(client)
        names = ""
        while names.count("c") < 4:  # the body, its end, the next message, its end
            names += server.answer()[0]
        assert re.fullmatch("ci+cci+c", names)


def test_of_messages_beyond_those_that_may_wait_the_beginning_is_read(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, "[serve]\nworkers = 1\nmax_connections = 4\n") as daemon:
        daemon.ask(request("CHECK", raw))
        with paused(reader_of(daemon)), connected(daemon.socket) as first, connected(daemon.socket) as second:
            for client in (first, second):
                client.sendall(request("CHECK", raw))
            daemon.wait_until(lambda: b"EX_OK" in daemon.ask(request("PROCESS", raw)))
            lesson = request("TELL", raw, "Message-class: ham", "Set: local")
            assert daemon.ask(lesson).startswith(b"SPAMD/1.0 75 Temporary failure: too many long messages")
            os.kill(reader_of(daemon), signal.SIGCONT)
            assert b"EX_OK" in received(first)
            assert b"EX_OK" in received(second)


def test_a_message_that_kills_its_reader_fails_alone(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon, ThreadPoolExecutor(4) as clients:
        daemon.ask(request("CHECK", raw))
        reader = reader_of(daemon)
        with paused(reader):
            asked = [clients.submit(daemon.ask, request("CHECK", raw)) for _ in range(4)]
            os.kill(reader, signal.SIGKILL)
        assert [b"EX_OK" in answer.result() for answer in asked] == [True] * 4  # none had begun
        daemon.wait_until(lambda: f"long ended long={reader} signal=SIGKILL" in daemon.log)


def test_a_stop_answers_long_messages_that_have_arrived(home: Path, mail: list[Drawn]):
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon, connected(daemon.socket) as client:
        sent = request("CHECK", raw)
        client.sendall(sent[:-1])
        daemon.ask(request("PING", b""))
        daemon.send(signal.SIGTERM)
        daemon.wait_until(lambda: daemon.n_logged("stopping"))
        client.sendall(sent[-1:])
        assert b"EX_OK" in received(client)
        daemon.wait()
        assert daemon.process.returncode == 0


def test_after_a_reload_long_messages_are_read_with_the_new_configuration(home: Path, mail: list[Drawn]):
    with Filter.open(home) as filter_:
        raw = next(raw for raw in (lengthened(drawn.raw) for drawn in mail) if filter_.check(raw).label == "spam")
    with serving(home, CONFIG) as daemon, mail_server(daemon) as server:
        assert server.deliver(raw)[-1] == ("c", b"")
        before = daemon.workers
        (home / "priory.toml").write_text(CONFIG + "reject = { ham = 0, spam = -1 }\n")
        daemon.reload()
        with mail_server(daemon) as another:
            assert another.deliver(raw)[-1][0] == "y"
        server.send(packet("Q"))
        daemon.wait_until(lambda: not any(map(is_running, before)))


def test_the_shortest_message_is_next_unless_another_has_waited_for_long():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        old = WaitingMessage(10_000_000, 0.0, ours)
        waiting = [old, WaitingMessage(200_000, 5.0, ours), WaitingMessage(100_000, 9.0, ours)]
        assert take_next(waiting, 10.0).n_bytes == 100_000
        assert take_next(waiting, PATIENCE_S + 1) is old
        assert take_next(waiting, PATIENCE_S + 1).n_bytes == 200_000


@pytest.mark.slow
def test_a_reader_that_no_worker_needs_ends_with_the_last_worker(home: Path, mail: list[Drawn]):
    with serving(home, CONFIG) as daemon:
        daemon.ask(request("CHECK", lengthened(mail[0].raw)))
        reader = reader_of(daemon)
        daemon.process.kill()
        daemon.wait()
        daemon.wait_until(lambda: not is_running(reader))


def test_a_reader_that_is_killed_in_the_middle_of_a_message_fails_that_message_alone(home: Path, mail: list[Drawn]):
    """The message may be why it died, so no other process reads it; those that wait are read by the next one."""
    raw = lengthened(mail[0].raw)
    with serving(home, CONFIG) as daemon, ThreadPoolExecutor(4) as clients, mail_server(daemon) as server:
        daemon.ask(request("CHECK", raw))
        reader = reader_of(daemon)
        with closing(sqlite3.connect(home / "journal.sqlite", isolation_level=None)) as journal:
            journal.execute("BEGIN IMMEDIATE")  # so a lesson has to wait in the middle
            lesson = clients.submit(daemon.ask, request("TELL", raw, "Message-class: ham", "Set: local"))
            daemon.wait_until(lambda: str(home.resolve()) in open_files(reader))  # it has locked the home
            others = [clients.submit(daemon.ask, request("CHECK", raw)) for _ in range(2)]
            assert b"EX_OK" in daemon.ask(request("CHECK", mail[1].raw))
            os.kill(reader, signal.SIGKILL)
            assert lesson.result().startswith(b"SPAMD/1.0 70 Internal software error")
        assert [b"EX_OK" in answer.result() for answer in others] == [True] * 2
        assert inserted(server.deliver(raw))
        daemon.wait_until(lambda: f"long ended long={reader} signal=SIGKILL" in daemon.log)
    assert daemon.log.count("the process that read the long message has died") == 1


def open_files(process: int) -> set[str]:
    """Return the names of the files that a process has open."""
    names = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.add(str(link.readlink()))
    return names
