"""Clients over HTTP that mean ill, or are broken: a real daemon serves all others as before."""

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from fcntl import LOCK_EX, flock
from itertools import product
from pathlib import Path

import pytest

from http_client import Client
from priory.server.http.process import MOST_CLIENTS
from priory.server.tokens import issue
from real_daemon import PATIENCE_S, Daemon, opened, received, serving, wait_until

pytestmark = pytest.mark.slow

CONFIG = '[serve]\nworkers = 1\ntimeout = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 1000\n'
FORM = {"Content-Type": "multipart/form-data; boundary=b"}
LARGE = b"Subject: Lunch\n\n" + b"a" * 8_000_000


@pytest.fixture(scope="module")
def daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("hostile") / "home"))
    with serving(home, CONFIG) as running:
        yield running


@pytest.fixture(scope="module")
def patient_daemon(lessons: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon in which no client runs out of time during a test."""
    home = Path(shutil.copytree(lessons, tmp_path_factory.mktemp("patient") / "home"))
    with serving(home, CONFIG.replace("timeout = 1", "timeout = 3600")) as running:
        yield running


def client(daemon: Daemon, scope: str = "check") -> Client:
    return Client(daemon.port, issue(daemon.home, scope))


def sent(client: Client, path: str, body: bytes = b"", kind: str = "") -> socket.socket:
    """Send a request, and do not wait for the answer: of that, next to nothing finds room here."""
    connection = socket.socket()
    connection.settimeout(PATIENCE_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    connection.connect(("127.0.0.1", client.port))
    fields = {"Host": "localhost", "Authorization": f"Bearer {client.token}", "Content-Type": kind}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    connection.sendall(f"POST {path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return connection


def sockets(daemon: Daemon) -> set[str]:
    """Return the sockets that the processes of a daemon have open."""
    return {name for worker in daemon.workers for name in opened(worker, "socket")}


def is_answered(daemon: Daemon) -> bool:
    try:
        return Client(daemon.port).get("/healthz").status == 200
    except ConnectionError:
        return False


def test_who_does_not_take_the_answer_is_let_go(daemon: Daemon):
    upload = b'--b\r\nContent-Disposition: form-data; name="m"; filename="m"\r\n\r\n' + LARGE + b"\r\n--b--\r\n"
    assert client(daemon).ask("POST", "/check/message?index=0", upload, FORM).body == LARGE
    before = sockets(daemon)
    with sent(client(daemon), "/check/message?index=0", upload, FORM["Content-Type"]) as lazy:
        assert sockets(daemon) - before  # it has taken the upload
        wait_until(lambda: sockets(daemon) <= before)
        assert len(received(lazy)) < len(LARGE)


def test_work_that_clients_leave_behind_is_bounded(daemon: Daemon):
    teacher = client(daemon, "learn")
    turn = os.open(daemon.home, os.O_RDONLY)
    try:
        flock(turn, LOCK_EX)  # so whatever is to be forgotten waits
        before = sockets(daemon)
        for i in range(MOST_CLIENTS + 20):
            sent(teacher, f"/v1/forget?digest={i:064x}").close()
            wait_until(lambda: sockets(daemon) <= before)
        assert not all(is_answered(daemon) for _ in range(20))
    finally:
        os.close(turn)
    wait_until(lambda: is_answered(daemon))


@pytest.mark.parametrize(
    "head", [b"", b"GET / HTT", b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"]
)
def test_strangers_who_hold_connections_and_renew_them_keep_no_one_out(head: bytes, patient_daemon: Daemon):
    upload = b'--b\r\nContent-Disposition: form-data; name="m"; filename="m"\r\n\r\nSubject: Lunch\n\n\r\n--b--\r\n'
    known = client(patient_daemon)
    fields = {"Host": "localhost", "Authorization": f"Bearer {known.token}", "Content-Type": FORM["Content-Type"]}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    with ExitStack() as stack:
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", known.port), timeout=PATIENCE_S))
        slow.sendall(f"POST /v1/check HTTP/1.1\r\n{lines}Content-Length: {len(upload)}\r\n\r\n".encode() + upload[:30])
        assert is_answered(patient_daemon)
        for n in range(3 * MOST_CLIENTS):
            stranger = stack.enter_context(socket.create_connection(("127.0.0.1", known.port), timeout=PATIENCE_S))
            stranger.sendall(head)
            if n > MOST_CLIENTS and n % 10 == 0:
                assert is_answered(patient_daemon)
        slow.sendall(upload[30:])
        assert received(slow).startswith(b"HTTP/1.1 200 ")


def test_costs_next_to_nothing_and_beyond_all_measure_are_shown(daemon: Daemon):
    asking, prices = client(daemon), ("0", "5e-324", "1e-300", "1", "1e100")
    addresses = (f"/costs?ham.spam={a}&spam.ham={b}&unsure={c}" for a, b, c in product(prices, repeat=3))
    assert {asking.get(address).status for address in addresses} == {200}
