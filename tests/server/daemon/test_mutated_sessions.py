"""Damaged sessions of all protocols: each ends, none leaves a trace in the log, and the daemon does not grow."""

import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from milter_client import OFFER
from mutations import mutated, resident_kb
from priory.demo import Drawn
from priory.server.tokens import issue
from priory.wire.milter import packet
from real_daemon import Daemon, connected, received, request, serving

CONFIG = '[serve]\nworkers = 1\n[milter]\nlisten = "{home}/milter"\n[http]\nlisten = "{home}/http"\nrate = 100_000\n'
SESSIONS = 3_000


@pytest.fixture
def daemon(home: Path) -> Iterator[Daemon]:
    with serving(home, CONFIG.format(home=home)) as running:
        yield running


def spamd_session(raw: bytes, _token: str) -> bytes:
    return request("PROCESS", raw, "User: ann")


def milter_session(raw: bytes, _token: str) -> bytes:
    macros = packet("D", b"Mi\x004XyZ\0{auth_type}\0\0")
    steps = [OFFER, macros, packet("M", b"<ann@mail.example>\0"), packet("R", b"<bob@home.example>\0")]
    return b"".join([*steps, packet("L", b"Subject\0 lunch\0"), packet("B", raw), packet("E"), packet("Q")])


def upload_session(raw: bytes, token: str) -> bytes:
    body = b'--b\r\nContent-Disposition: form-data; name="m"; filename="m.mbox"\r\n\r\n' + raw + b"\r\n--b--\r\n"
    head = (
        "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "session"), [("socket", spamd_session), ("milter", milter_session), ("http", upload_session)]
)
def test_a_damaged_session_ends_and_harms_no_other(path, session, daemon: Daemon, mail: list[Drawn]):
    chance, token = random.Random(7), issue(daemon.home, "check")
    processes, sizes = daemon.workers, []
    for n in range(SESSIONS):
        with connected(str(daemon.home / path)) as client, suppress(ConnectionResetError, BrokenPipeError):
            client.sendall(mutated(session(mail[n % len(mail)].raw, token), chance))
            client.shutdown(socket.SHUT_WR)
            received(client)
        if n in {SESSIONS // 2, SESSIONS - 1}:
            sizes.append(sum(map(resident_kb, processes)))
    assert daemon.workers == processes
    assert daemon.n_logged("error") == daemon.log.count("Traceback") == 0
    assert sizes[1] - sizes[0] < 8_000
    assert daemon.ask(request("CHECK", mail[0].raw)).startswith(b"SPAMD/1.1 0 EX_OK")
