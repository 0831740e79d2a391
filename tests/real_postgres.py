"""A real PostgreSQL, started by tests with a folder and a port of its own, and ended by them; and a network that fails.

The server forgets nothing when it is killed, as every PostgreSQL, but does not wait for the disk: the machine
stays up, so tests see the same and take less long.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

import requirements
from ports import reserved_port
from real_daemon import PATIENCE_S, wait_until

PASSWORD = "not a secret"  #: of the account that owns all
_FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=on", "max_connections=200")


def programs() -> Path:
    """Return the folder of PostgreSQL's programs, which Debian keeps out of the path; the newest, if there are some."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    return found[-1] if found else requirements.missing("postgresql is not installed")


def _as_owner(*command: str | Path) -> list[str]:
    """Return a command that ends with whoever starts it, and is run by the account postgres instead of root."""
    who = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *who, "--pdeathsig=QUIT", *map(str, command)]


@dataclass
class Postgres:
    """A server, running or not, as a test sees it. Start it in a thread that lives as long as it is to live."""

    folder: Path
    port: int = field(default_factory=reserved_port)
    settings: Sequence[str] = _FAST
    _process: subprocess.Popen[bytes] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def url(self, database: str = "postgres", *, port: int | None = None, password: str = PASSWORD) -> str:
        """Return the address of a database, through a proxy if its port is given."""
        secret = password.replace(" ", "%20")
        return f"postgresql://priory:{secret}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        """Start it and wait until it answers, on another port if somebody else was given this one at first."""
        is_first = not (self.folder / "log").exists()
        while True:
            self._launch()
            wait_until(lambda: self._process is None or self._process.poll() is not None or self._answers(), self._said)
            if self._process is None or self._process.poll() is None:
                return
            assert is_first, self.log
            assert "could not bind" in self.log, self.log
            self.port = reserved_port()

    def _launch(self) -> None:
        own = (f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC")
        options = [part for setting in (*own, *self.settings) for part in ("-c", setting)]
        command = _as_owner(programs() / "postgres", "-D", self.folder / "data", *options)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def _said(self) -> str:
        return self.log

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=PATIENCE_S).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: in order (SIGINT), or at once as if it crashed (SIGQUIT)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None

    def crash(self) -> None:
        """End it at once; what it acknowledged is recovered when it is started again."""
        self.stop(signal.SIGQUIT)

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def run(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the owner of all; return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """Make a database that nobody has written to yet, give its name, and drop it."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            if self._process is not None:
                self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextmanager
    def standby(self) -> Iterator["Postgres"]:
        """Run a replica that follows this server and can only be read; `SELECT pg_promote()` makes it the first."""
        with _own_folder() as folder:
            command = [programs() / "pg_basebackup", "-D", folder / "data", "-R", "-X", "stream", "-c", "fast", "-N"]
            subprocess.run(_as_owner(*command, "-d", self.url()), check=True, cwd=folder, timeout=PATIENCE_S)
            server = Postgres(folder, settings=self.settings)
            server.start()
            try:
                yield server
            finally:
                server.stop()

    def has_replayed(self, standby: "Postgres") -> bool:
        """Tell whether a replica has taken in all that this server has written."""
        [[end]] = self.run("SELECT pg_current_wal_flush_lsn()")
        [[is_there]] = standby.run(f"SELECT pg_last_wal_replay_lsn() >= '{end}'")
        return bool(is_there)


@contextmanager
def _own_folder() -> Iterator[Path]:
    """Make a folder that the account of the server can reach: pytest's own is closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="priory-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def postgres(settings: Sequence[str] = _FAST) -> Iterator[Postgres]:
    """Run a server with nothing in it; end it, and remove its folder."""
    with _own_folder() as folder:
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = ["-U", "priory", f"--pwfile={password}", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "-N"]
        command = _as_owner(programs() / "initdb", "-D", folder / "data", *options)
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=PATIENCE_S)
        server = Postgres(folder, settings=settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()


class Proxy:
    """A network between a node and its server, which can be cut, fall silent, and heal."""

    def __init__(self, server: int) -> None:
        self.damage: Callable[[bytes], bytes] = bytes  #: changes what the server sends
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._flowing = threading.Event()
        self._flowing.set()
        self._is_cut = False
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def n_connections(self) -> int:
        return len(self._ends) // 2

    def cut(self) -> None:
        """End all connections, and each new one as soon as it is made."""
        self._is_cut = True
        with self._lock:
            for end in self._ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._flowing.set()

    def stall(self) -> None:
        """Keep all connections, and carry nothing: nobody is told anything."""
        self._flowing.clear()

    def heal(self) -> None:
        """Carry again, also what was sent while it was silent."""
        self._is_cut = False
        self._flowing.set()

    def lead_to(self, server: int) -> None:
        """Lead new connections to another port, and end those to the one before."""
        self.cut()
        self._server = server
        self.heal()

    def close(self) -> None:
        self.cut()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        wait_until(lambda: not self._ends)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Carry what either end of a new connection sends, until one of them ends."""
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._server)) as server:
            ends = {client, server}
            with self._lock:
                self._ends |= ends
            try:
                if not self._is_cut:
                    back = threading.Thread(target=self._carry, args=(server, client, self.damage), daemon=True)
                    back.start()
                    self._carry(client, server, bytes)
                    back.join()
            finally:
                with self._lock:
                    self._ends -= ends

    def _carry(self, source: socket.socket, target: socket.socket, damage: Callable[[bytes], bytes]) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flowing.wait()
                if self._is_cut:
                    break
                target.sendall(damage(data))
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(server: int) -> Iterator[Proxy]:
    """Run a proxy to a port of this machine."""
    between = Proxy(server)
    try:
        yield between
    finally:
        between.close()
