"""A real daemon, started by a test and ended by it, and a client that says what it is told to."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from command import PRIORY

HTTP = '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 100_000\n'  #: the configuration of most
PATIENCE_S = 120  #: with what takes a moment if all is well


def wait_until(condition: Callable[[], object], log: Callable[[], str] = str) -> None:
    """Wait until a condition holds; if it does not within `PATIENCE_S`, fail with a log that may tell why."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"the condition does not hold after {PATIENCE_S} s: {log()}"
        time.sleep(0.01)


def is_running(process: int) -> bool:
    """Tell whether a process is there and has not ended; one that nobody has waited for yet has ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@contextmanager
def paused(process: int) -> Iterator[None]:
    """Have a process do nothing for a while, however that ends."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def opened(process: int, kind: str) -> list[str]:
    """Return what a process has open of a kind, such as `socket:[inode]`; it may close some meanwhile."""
    names = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.append(link.readlink().name)
    return [name for name in names if name.startswith(f"{kind}:")]


@dataclass
class Daemon:
    """A daemon that is running, as a test sees it."""

    home: Path
    process: subprocess.Popen[bytes]
    log_path: Path

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    @property
    def socket(self) -> str:
        return str(self.home / "socket")

    @property
    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    @property
    def port(self) -> int:
        """The last port that was opened."""
        return int(re.findall(r"listening on=127\.0\.0\.1:(\d+)", self.log)[-1])

    def n_logged(self, event: str) -> int:
        return self.log.count(f"]: {event}")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def reload(self) -> None:
        """Have it read its configuration again, and wait until it is done with that."""
        n = self.n_logged("ready") + self.n_logged("reload failed")
        self.send(signal.SIGHUP)
        self.wait_until(lambda: self.n_logged("ready") + self.n_logged("reload failed") > n)

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds; if it does not, the log may tell why."""
        wait_until(condition, lambda: self.log)

    def wait(self) -> None:
        """Wait until it has ended."""
        self.process.wait(PATIENCE_S)

    def ask(self, request: bytes, *, is_end: bool = False) -> bytes:
        return ask(self.socket, request, is_end=is_end)


def ask(where: str | tuple[str, int], request: bytes, *, is_end: bool = False) -> bytes:
    """Send a request, and nothing after it if it is the end; return all that is answered."""
    with connected(where) as client:
        client.sendall(request)
        if is_end:
            client.shutdown(socket.SHUT_WR)
        return received(client)


def received(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65536), b""))


def connected(where: str | tuple[str, int]) -> socket.socket:
    client = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_S)
    try:
        client.connect(where)
    except OSError:
        client.close()
        raise
    return client


def request(verb: str, raw: bytes, *fields: str) -> bytes:
    lines = [f"{verb} SPAMC/1.5", *fields, f"Content-length: {len(raw)}", "", ""]
    return "\r\n".join(lines).encode() + raw


@contextmanager
def serving(home: Path, config: str = "", **environment: str) -> Iterator[Daemon]:
    """Run a daemon that is ready; end it, and wait until it has ended."""
    with starting(home, config, **environment) as daemon:
        daemon.wait_until(lambda: daemon.n_logged("ready") or daemon.process.poll() is not None)
        assert daemon.process.poll() is None, daemon.log
        yield daemon


@contextmanager
def starting(home: Path, config: str = "", **environment: str) -> Iterator[Daemon]:
    """Run a daemon, ready or not; end it, and wait until it has ended."""
    if config:
        (home / "priory.toml").write_text(config)
    log_path = home / "serve.log"
    with log_path.open("wb") as log:
        command = [PRIORY, "serve", "--home", str(home)]
        process = subprocess.Popen(command, stderr=log, env={**os.environ, **environment})
    daemon = Daemon(home, process, log_path)
    try:
        yield daemon
    finally:
        for number in (signal.SIGCONT, signal.SIGTERM):
            with suppress(ProcessLookupError):
                process.send_signal(number)
        daemon.wait()
