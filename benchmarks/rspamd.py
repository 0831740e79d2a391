"""rspamd's Bayes with its statistics in redis, asked over HTTP on loopback; both run only while they are measured."""

import contextlib
import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import daemons
from mail import Mail
from rounds import FailedError, Run

_CONFIGURATION = """\
options {{
  pidfile = "{folder}/rspamd.pid"; tempdir = "{folder}"; dbdir = "{folder}"; rundir = "{folder}";
  hs_cache_dir = "{folder}"; control_socket = "{folder}/control mode=0600";
  filters = ""; url_tld = "/usr/share/rspamd/effective_tld_names.dat"; dns {{ nameserver = ["127.0.0.1"]; }}
}}
logging {{ type = "file"; filename = "{folder}/log"; level = "error"; }}
worker "normal" {{ bind_socket = "127.0.0.1:{check}"; count = 1; }}
worker "controller" {{ bind_socket = "127.0.0.1:{learn}"; count = 1; secure_ip = ["127.0.0.1"]; }}
actions {{ reject = 15; }}
classifier "bayes" {{
  tokenizer {{ name = "osb"; }}
  backend = "redis"; servers = "127.0.0.1:{redis}"; new_schema = true; min_tokens = 11; min_learns = 1;
  statfile {{ symbol = "BAYES_HAM"; spam = false; }}
  statfile {{ symbol = "BAYES_SPAM"; spam = true; }}
}}
"""
_TICKS = os.sysconf("SC_CLK_TCK")
_PATIENCE_S = 300.0  #: its first start compiles its list of domains


class Rspamd:
    """A running rspamd."""

    name = "rspamd with redis"
    learns_per_s = 300

    def __init__(
        self, every: int, folder: Path, ports: dict[str, int], processes: list[subprocess.Popen[bytes]]
    ) -> None:
        self.every = every
        self._folder = folder
        self._ports = ports
        self._processes = processes

    def learn(self, mail: Mail, home: Path) -> Run:
        """Empty redis, then learn."""
        self._redis("FLUSHALL")
        home.mkdir()
        done = self._asked("learn", [(f"/learn{label}", name) for label, name in mail.entries], mail.folder)
        self._redis("SAVE")
        return done

    def check(self, mail: Mail, home: Path) -> Run:  # noqa: ARG002 - redis has what it learned
        """Check with the statistics in redis."""
        return self._asked("check", [("/checkv2", name) for name in mail.names()], mail.folder)

    def store_bytes(self, home: Path) -> int:  # noqa: ARG002
        """Return the size of redis's dump after learning."""
        return (self._folder / "dump.rdb").stat().st_size

    def _asked(self, whom: str, questions: list[tuple[str, str]], folder: Path) -> Run:
        connection = http.client.HTTPConnection("127.0.0.1", self._ports[whom])
        used, start = self._cpu_seconds(), time.perf_counter()
        for path, name in questions:
            connection.request("POST", path, (folder / name).read_bytes(), {"Connection": "keep-alive"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status >= 400 and b"few tokens" not in said:
                raise FailedError(f"rspamd: {path} of {name}: {answer.status} {said[:200]!r}")
        seconds = time.perf_counter() - start
        connection.close()
        return Run(seconds, self._cpu_seconds() - used, self._memory_mb())

    def _pids(self) -> list[int]:
        pids = [process.pid for process in self._processes]
        children = (Path(f"/proc/{pid}/task/{pid}/children").read_text().split() for pid in pids)
        return pids + [int(child) for several in children for child in several]

    def _cpu_seconds(self) -> float:
        """Return the CPU seconds of both servers and this client so far."""
        stats = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._pids())
        return time.process_time() + sum(int(stat[11]) + int(stat[12]) for stat in stats) / _TICKS

    def _memory_mb(self) -> float:
        """Return the memory of all their processes, with shared memory counted once."""
        rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in self._pids())
        return sum(int(line.split()[1]) for lines in rollups for line in lines if line.startswith("Pss:")) / 1024

    def _redis(self, command: str) -> None:
        with socket.create_connection(("127.0.0.1", self._ports["redis"])) as connection:
            connection.sendall(f"{command}\r\n".encode())
            if not connection.recv(100).startswith(b"+OK"):
                raise FailedError(f"redis refused {command}")


@contextlib.contextmanager
def running(folder: Path, every: int) -> Iterator[Rspamd]:
    """Start redis and rspamd in a folder and on ports of their own; end both afterwards."""
    folder.mkdir()
    ports = {name: daemons.free_port() for name in ("check", "learn", "redis")}
    configuration = folder / "rspamd.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, **ports))
    store = ["redis-server", "--port", str(ports["redis"]), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    command = ["rspamd", "-i", "-f", "-c", str(configuration)]
    with (
        daemons.running(store, ports["redis"]) as redis,
        daemons.running(command, ports["check"], ports["learn"], patience_s=_PATIENCE_S) as rspamd,
    ):
        yield Rspamd(every, folder, ports, [redis, rspamd])
