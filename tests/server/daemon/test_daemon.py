"""The daemon as an administrator sees it: real processes, real signals, clients that behave and clients that do not."""

import fcntl
import os
import signal
import socket
import sqlite3
import stat
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event

import pytest

from command import PRIORY
from priory.demo import Drawn
from priory.filter.filter import Filter
from priory.server.protocols.connection import LINGER_S
from real_daemon import PATIENCE_S, Daemon, ask, connected, is_running, received, request, serving, wait_until

PING = b"PING SPAMC/1.5\r\n\r\n"
PONG = b"SPAMD/1.5 0 PONG\r\n"


@contextmanager
def under_load(daemon: Daemon, raw: bytes, n_clients: int = 6) -> Iterator[list[str]]:
    """Send requests all the time; yield the outcome of each."""
    done = Event()
    outcomes: list[str] = []

    def keep_asking() -> None:
        while not done.is_set():
            try:
                client = connected(daemon.socket)
            except (FileNotFoundError, ConnectionRefusedError):
                outcomes.append("nobody there")
                continue
            with client:
                try:
                    client.sendall(request("PROCESS", raw))
                    answer = received(client)
                except OSError as error:
                    outcomes.append(f"lost: {error}")
                else:
                    outcomes.append("answered" if answer.endswith(raw) else f"lost: {answer!r}")

    with ThreadPoolExecutor(n_clients) as clients:
        asking = [clients.submit(keep_asking) for _ in range(n_clients)]
        try:
            wait_until(lambda: outcomes.count("answered") > 50)
            yield outcomes
        finally:
            done.set()
    for each in asking:
        each.result()


def refused(home: Path) -> str:
    """Try to start a daemon; return its error message."""
    done = subprocess.run([PRIORY, "serve", "--home", str(home)], capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 1
    return done.stderr.decode()


def test_the_socket_is_private_and_removed_at_the_end(home: Path):
    with serving(home) as daemon:
        assert stat.S_IMODE((home / "socket").stat().st_mode) == 0o600
        assert daemon.ask(PING) == PONG
        assert len(daemon.workers) == len(os.sched_getaffinity(0))
    assert daemon.process.returncode == 0
    assert not (home / "socket").exists()


def test_a_missing_home_is_not_created(tmp_path: Path):
    assert refused(tmp_path / "typo").startswith(f"priory: there is no folder {tmp_path}/typo")
    assert not (tmp_path / "typo").exists()


def test_a_wrong_configuration_is_refused_with_file_section_and_key(home: Path):
    (home / "priory.toml").write_text("[serve]\nworkers = 0\n")
    said = refused(home)
    assert said == f"priory: {home}/priory.toml:2: [serve] workers must be a whole number from 1 to 1024, not 0\n"


def test_a_filter_that_cannot_be_opened_ends_the_daemon(tmp_path: Path):
    (tmp_path / "journal.sqlite").write_bytes(b"this is no journal")
    assert "journal.sqlite is not a Priory journal" in refused(tmp_path)
    assert not (tmp_path / "socket").exists()


def test_a_second_daemon_on_the_same_socket_is_refused(home: Path):
    with serving(home) as daemon:
        assert refused(home) == f"priory: cannot listen on {home}/socket: another daemon listens there; stop it first\n"
        assert daemon.ask(PING) == PONG


def test_a_stale_socket_is_replaced_and_a_file_is_not(home: Path):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(home / "socket"))
    with serving(home) as daemon:
        assert daemon.ask(PING) == PONG
    (home / "socket").write_text("mine")
    assert "it exists and is not a socket; move it away" in refused(home)
    assert (home / "socket").read_text() == "mine"


def test_a_port_that_cannot_be_bound_is_named(home: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        (home / "priory.toml").write_text(f'[spamd]\nlisten = "{address}"\n')
        assert f"priory: cannot listen on {address}: Address already in use; check the address" in refused(home)
    assert not (home / "socket").exists()


def test_a_worker_that_is_killed_is_replaced(home: Path):
    with serving(home, "[serve]\nworkers = 2\n") as daemon:
        before = daemon.workers
        for process in before:
            os.kill(process, signal.SIGKILL)
        wait_until(lambda: len(daemon.workers) == 2 and not set(daemon.workers) & set(before))
        assert daemon.ask(PING) == PONG
        daemon.wait_until(lambda: all(f"worker ended worker={one} signal=SIGKILL" in daemon.log for one in before))


def test_workers_end_when_their_master_is_killed(home: Path):
    with serving(home) as daemon:
        workers = daemon.workers
        daemon.process.kill()
        daemon.wait()
        daemon.wait_until(lambda: not any(map(is_running, workers)))


def test_a_stop_under_load_loses_nothing(home: Path, mail: list[Drawn]):
    with serving(home) as daemon, under_load(daemon, mail[0].raw) as outcomes:
        daemon.send(signal.SIGTERM)
        wait_until(lambda: "nobody there" in outcomes)
        daemon.wait()
    assert set(outcomes) == {"answered", "nobody there"}
    assert daemon.process.returncode == 0


def test_a_reload_under_load_refuses_no_client(home: Path, mail: list[Drawn]):
    with serving(home, "[serve]\nworkers = 2\n") as daemon, under_load(daemon, mail[0].raw) as outcomes:
        for n_workers in (3, 1, 2):
            before = daemon.workers
            (home / "priory.toml").write_text(f"[serve]\nworkers = {n_workers}\n")
            daemon.reload()
            wait_until(lambda: len(daemon.workers) == n_workers and not set(daemon.workers) & set(before))  # noqa: B023
            n_before = outcomes.count("answered")
            wait_until(lambda: outcomes.count("answered") > n_before + 20)  # noqa: B023
    assert set(outcomes) == {"answered"}


def test_a_reload_moves_the_listeners_and_reads_the_costs(home: Path, mail: list[Drawn]):
    with serving(home, '[spamd]\nlisten = "127.0.0.1:0"\n') as daemon:
        before = ("127.0.0.1", daemon.port)
        assert ask(before, PING) == PONG
        path = home / "another"
        (home / "priory.toml").write_text(f'[costs]\nunsure = 0\n[spamd]\nlisten = ["{path}"]\n')
        daemon.reload()
        assert ask(str(path), PING) == PONG
        assert b"PRIORY_UNSURE" in daemon.ask(request("SYMBOLS", mail[0].raw))
        wait_until(lambda: len(daemon.workers) == len(os.sched_getaffinity(0)))
        with pytest.raises(ConnectionRefusedError):
            connected(before)
        (home / "priory.toml").unlink()
        daemon.reload()
        assert not path.exists()


@pytest.mark.parametrize(
    "config", ["[serve]\nwrkers = 3\n", 'labels = ["spam", "ham"]\n', "[spamd]\nlisten = '/no/x'\n"]
)
def test_a_reload_that_fails_changes_nothing(home: Path, config: str):
    with serving(home) as daemon:
        before = daemon.workers
        (home / "priory.toml").write_text(config)
        daemon.reload()
        assert daemon.n_logged("reload failed") == 1
        assert daemon.ask(PING) == PONG
        wait_until(lambda: daemon.workers == before)


def test_systemd_is_notified(home: Path, tmp_path: Path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        with serving(home, NOTIFY_SOCKET=str(tmp_path / "notify")) as daemon:
            assert told.recv(1000) == f"READY=1\nMAINPID={daemon.process.pid}".encode()
            daemon.reload()
            assert told.recv(1000).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert told.recv(1000).startswith(b"READY=1")
        assert told.recv(1000) == b"STOPPING=1"


@pytest.mark.slow
def test_slow_and_silent_clients_delay_no_other(home: Path, mail: list[Drawn]):
    config = "[serve]\nmax_connections = 8\nworkers = 2\n"
    with serving(home, config) as daemon:
        silent = [connected(daemon.socket) for _ in range(20)]
        for client in silent[::2]:
            client.sendall(b"CHECK SPAMC/1.5\r\nContent-le")
        for drawn in mail[:10]:
            assert daemon.ask(request("CHECK", drawn.raw)).startswith(b"SPAMD/1.1 0 EX_OK\r\n")
        assert silent[0].recv(1000) == b"SPAMD/1.0 79 Timeout: (the request did not come in time)\r\n"
        for client in silent:
            client.close()


@pytest.mark.slow
def test_a_flood_of_tiny_requests_does_not_stop_others(home: Path, mail: list[Drawn]):
    tiny = [PING, b"CHECK SPAMC/1.5\r\n\r\n", b"X\r\n\r\n", b"\0", b"PING SPAMC/9.9\r\n\r\n", b""]
    with serving(home) as daemon, under_load(daemon, mail[0].raw) as outcomes:
        n_before = len(outcomes)
        with ThreadPoolExecutor(8) as hostile:
            answers = list(hostile.map(lambda i: daemon.ask(tiny[i % len(tiny)], is_end=True), range(5000)))
        assert len(outcomes) > n_before
        assert answers[0] == PONG
        assert all(answer.startswith(b"SPAMD/1.") for answer in answers)
        assert daemon.n_logged("worker ended") == 0
    assert set(outcomes) == {"answered"}


@pytest.mark.slow
def test_a_request_that_does_not_come_in_time_is_refused(home: Path):
    with serving(home, "[serve]\ntimeout = 1\n") as daemon, connected(daemon.socket) as client:
        client.sendall(b"CHECK SPAMC/1.5\r\n")
        assert client.recv(1000) == b"SPAMD/1.0 79 Timeout: (the request did not come in time)\r\n"
        assert client.recv(1000) == b""


def test_a_large_or_malformed_request_is_refused_and_the_next_is_answered(home: Path):
    too_big = b"SPAMD/1.0 98 Message too big: at most 50000 bytes are taken\r\n"
    with serving(home, "[serve]\nmax_bytes = 50_000\n") as daemon:
        assert daemon.ask(b"CHECK SPAMC/1.5\r\nContent-length: 50001\r\n\r\n") == too_big
        assert daemon.ask(request("CHECK", bytes(2_000_000)), is_end=True) == too_big  # also to one who goes on sending
        assert daemon.ask(b"CHECK SPAMC/1.5\r\n\r\n" + bytes(60_000), is_end=True) == too_big
        assert daemon.ask(b"\0" * 5000) == b"SPAMD/1.0 76 Bad header line: (line longer than 1024 bytes)\r\n"
        assert daemon.ask(b"", is_end=True) == b"SPAMD/1.0 76 Bad header line: (closed before headers)\r\n"
        assert daemon.ask(request("TELL", b"", "Message-class: junk", "Set: local")).startswith(b"SPAMD/1.0 76 ")
        assert daemon.ask(b"SKIP SPAMC/1.5\r\n\r\n") == b""
        assert daemon.ask(PING) == PONG


def test_an_internal_error_is_answered_and_logged_and_the_next_request_is_answered(home: Path, mail: list[Drawn]):
    with serving(home, "[serve]\nworkers = 1\n") as daemon:
        (home / "journal.sqlite").rename(home / "elsewhere")
        (home / "journal.sqlite").write_bytes(b"this is no journal")
        answer = daemon.ask(request("TELL", mail[0].raw, "Message-class: ham", "Set: local"))
        assert answer == b"SPAMD/1.0 70 Internal software error: the log of the daemon says more\r\n"
        assert "is not a Priory journal" in daemon.log
        assert daemon.ask(PING) == PONG


@pytest.mark.slow
def test_fifty_clients_check_and_teach(home: Path, mail: list[Drawn]):
    def check(drawn: Drawn) -> bool:
        return daemon.ask(request("PROCESS", drawn.raw)).endswith(drawn.raw)

    def teach(drawn: Drawn) -> bool:
        return b"\r\nDidSet: local\r\n" in daemon.ask(
            request("TELL", drawn.raw, f"Message-class: {drawn.label}", "Set: local")
        )

    with serving(home) as daemon, ThreadPoolExecutor(50) as clients:
        taught = [clients.submit(teach, drawn) for drawn in mail]
        checked = [clients.submit(check, drawn) for drawn in mail * 5]
        assert all(each.result() for each in taught)
        assert all(each.result() for each in checked)
    with Filter.open(home) as filter_:
        assert sum(filter_.stats().lessons.values()) == 200 + len(mail)
        filter_.rebuild()


@pytest.mark.slow
def test_acknowledged_lessons_survive_when_all_processes_are_killed(home: Path, mail: list[Drawn]):
    acknowledged: list[bytes] = []

    def teach(first: int) -> None:
        for number in range(first, 10_000, 4):
            raw = b"X-Number: %d\n" % number + mail[number % len(mail)].raw
            try:
                answer = daemon.ask(request("TELL", raw, "Message-class: ham", "Set: local"))
            except OSError:
                return
            if b"DidSet: local" not in answer:
                return
            acknowledged.append(raw)

    with serving(home) as daemon, ThreadPoolExecutor(4) as clients:
        taught = [clients.submit(teach, first) for first in range(4)]
        wait_until(lambda: len(acknowledged) > 60)
        with Filter.open(home) as another:  # comes and goes meanwhile
            another.check(b"")
        wait_until(lambda: len(acknowledged) > 100)
        for process in (daemon.process.pid, *daemon.workers):
            os.kill(process, signal.SIGKILL)
        for each in taught:
            each.result()
    with Filter.open(home) as filter_:
        assert all(filter_.journal.label_of(filter_.prepare(raw).digest) == "ham" for raw in acknowledged)
        filter_.rebuild()


def test_the_log_has_each_request_and_no_content_of_mail(home: Path):
    raw = b"From: ann@secret.example\nSubject: confidential\n\nprivate words"
    with serving(home) as daemon:
        daemon.ask(request("CHECK", raw, "User: bob@hidden.example"))
        daemon.ask(request("TELL", raw, "User: bob@hidden.example", "Message-class: ham", "Set: local"))
        daemon.ask(b"CHECK SPAMC/1.5\r\nUser: b\x01ob\r\n\r\n")
        daemon.ask(raw)
    assert daemon.n_logged("refused why='Bad header line: ") == 2
    for part in ("secret", "confidential", "private", "bob", "hidden"):
        assert part not in daemon.log
    assert daemon.n_logged(f"request verb=CHECK bytes={len(raw)} verdict=") == 1
    assert daemon.n_logged(f"request verb=TELL bytes={len(raw)} verdict=learned us=") == 1


@pytest.mark.slow
def test_a_client_that_resets_when_its_time_is_over_ends_no_worker(home: Path):
    with serving(home, '[spamd]\nlisten = "127.0.0.1:0"\n[serve]\ntimeout = 1\nworkers = 1\n') as daemon:
        workers = daemon.workers
        os.kill(workers[0], signal.SIGSTOP)
        for _ in range(5):
            with connected(("127.0.0.1", daemon.port)) as client:
                client.sendall(b"CHECK SPAMC/1.5\r\n")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.kill(workers[0], signal.SIGCONT)
        assert daemon.ask(PING) == PONG
        with connected(daemon.socket) as slow:
            assert received(slow).startswith(b"SPAMD/1.0 79 Timeout")
        assert daemon.workers == workers


@pytest.mark.slow
def test_lessons_are_learned_while_another_process_has_locked_the_home(home: Path, mail: list[Drawn]):
    folder = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with serving(home) as daemon:
            answer = daemon.ask(request("TELL", mail[0].raw, "Message-class: ham", "Set: local"))
            assert b"DidSet: local" in answer
    finally:
        os.close(folder)


@pytest.mark.slow
def test_a_lesson_while_another_process_writes_for_long_is_refused_for_now(home: Path, mail: list[Drawn]):
    lesson = request("TELL", mail[0].raw, "Message-class: ham", "Set: local")
    with serving(home) as daemon:
        with closing(sqlite3.connect(home / "journal.sqlite", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert daemon.ask(lesson).startswith(b"SPAMD/1.0 75 Temporary failure: another process is writing")
        assert b"DidSet: local" in daemon.ask(lesson)
        assert daemon.n_logged("error") == 0


def test_a_client_that_sends_no_more_is_refused_and_gone(home: Path):
    wrong = request("TELL", b"", "Message-class: junk", "Set: local")
    with serving(home, "[serve]\nworkers = 1\nmax_connections = 3\n") as daemon:
        start = time.monotonic()
        with ExitStack() as kept:
            for _ in range(30):  # three at once: who lingered would keep the others waiting, nine times
                client = kept.enter_context(connected(daemon.socket))
                client.sendall(wrong)
                client.shutdown(socket.SHUT_WR)
                assert received(client).startswith(b"SPAMD/1.0 76 ")
        assert time.monotonic() - start < 9 * LINGER_S


def test_an_impossible_host_name_is_refused(home: Path):
    address = "a" * 70 + ".example:783"
    (home / "priory.toml").write_text(f'[spamd]\nlisten = "{address}"\n')
    assert refused(home) == f"priory: cannot listen on {address}: this cannot be the name of a host; check it\n"
    assert not (home / "socket").exists()


def test_a_daemon_with_a_full_backlog_counts_as_listening(home: Path):
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(home / "socket"))
        busy.listen(0)
        with connected(str(home / "socket")):
            assert "another daemon listens there; stop it first" in refused(home)
