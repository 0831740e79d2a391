"""`priory open`: with a daemon, without one, and with a browser that records its arguments."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command import PRIORY, priory
from http_client import Client
from ports import reserved_port
from priory.server.tokens import TokenUse, read_tokens
from real_daemon import PATIENCE_S, serving, wait_until

pytestmark = pytest.mark.slow

NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}


@contextmanager
def opening(home: Path, out: Path, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with out.open("wb") as file:
        command = [PRIORY, "open", "--home", str(home), *options]
        process = subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, **NO_SCREEN, **environment})
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def test_without_a_daemon_one_is_started_in_a_new_home(tmp_path: Path):
    home, out = tmp_path / "new", tmp_path / "out"
    with opening(home, out) as process:
        wait_until(lambda: "Ctrl-C stops both" in out.read_text(), out.read_text)
        link = re.search(r"^http://127\.0\.0\.1:(\d+)(/enter\?key=\S+)$", out.read_text(), re.MULTILINE)
        assert link is not None
        answer = Client(int(link[1])).get(link[2])
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        assert Client(int(link[1])).get(link[2]).status == 401
        again = priory("open", "--print", home=home).stdout.decode().strip()  # that link is used up: here is another
        assert Client(int(link[1])).get(again.removeprefix(f"http://127.0.0.1:{link[1]}")).status == 303
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert "Z" not in {Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[0] for each in children}
    assert process.returncode == 0
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_browser_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, told = tmp_path / "home", tmp_path / "told"
    home.mkdir()
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    with serving(home, f'[http]\nlisten = "127.0.0.1:{reserved_port()}"\n') as daemon:
        said = priory("open", home=home)
        assert said.stdout.decode() == f"opened http://127.0.0.1:{daemon.port}\n"
        wait_until(lambda: told.exists() and told.read_text().endswith("\n"))
        path = told.read_text().strip().removeprefix(f"http://127.0.0.1:{daemon.port}")
        assert Client(daemon.port).get(path).status == 303


def test_a_link_can_be_printed_and_leads_through_the_proxy_if_there_is_one(tmp_path: Path):
    config = f'[http]\nlisten = "127.0.0.1:{reserved_port()}"\nurl = "https://priory.mail.example"\n'
    with serving(tmp_path, config):
        said = priory("open", "--print", home=tmp_path)
    assert re.fullmatch(r"https://priory\.mail\.example/enter\?key=priory_[\w-]{43}\n", said.stdout.decode())
    assert said.stderr.decode() == "priory: open this link within a minute; it works once\n"
    assert [each.use for each in read_tokens(tmp_path)] == [TokenUse.ENTRY]


def test_another_program_at_the_address_is_not_taken_for_the_daemon(tmp_path: Path):
    with serving(tmp_path), socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (tmp_path / "priory.toml").write_text(f'[http]\nlisten = "127.0.0.1:{port}"\n')
        process = subprocess.Popen([PRIORY, "open", "--print", "--home", str(tmp_path)], stderr=subprocess.PIPE)
        client, _ = other.accept()
        client.sendall(b"220 mail.example ESMTP\r\n")
        client.close()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert said.decode().startswith(f"priory: the daemon does not answer on 127.0.0.1:{port}: ")


@pytest.mark.parametrize(
    ("config", "later", "said"),
    [
        ("", "", 'the daemon serves no page: write [http] and listen = "127.0.0.1:7358" into'),
        ("", '[http]\nlisten = "127.0.0.1:{port}"\n', "if [http] was added after it started, reload it with SIGHUP"),
        (
            '[http]\nlisten = "127.0.0.1:0"\n',
            "",
            "a browser cannot open [http] listen = 127.0.0.1:0: add an address with a host and a port",
        ),
    ],
)
def test_a_daemon_without_a_page_is_reported_with_the_remedy(config: str, later: str, said: str, tmp_path: Path):
    (tmp_path / "page.lock").write_text("127.0.0.1:1")  # of one that has ended
    with serving(tmp_path, config):
        if later:
            (tmp_path / "priory.toml").write_text(later.format(port=reserved_port()))
        answer = priory("open", "--print", home=tmp_path)
    assert answer.returncode == 1
    assert said in answer.stderr.decode()
    assert len(answer.stderr.decode().splitlines()) == 1
