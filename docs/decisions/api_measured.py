"""Measures `POST /v1/check` on a warm daemon, beside `Filter.check` and its JSON in this process.

python docs/decisions/api_measured.py [MESSAGES]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles

from priory.demo import draw
from priory.filter.filter import Filter
from priory.server.tokens import issue

TAUGHT = 1000


def taken(act: Callable[[bytes], object], mail: list[bytes]) -> str:
    """Return the least, median and 99th percentile of the time of an act, in ms."""
    times = []
    for raw in mail:
        begun = time.perf_counter()
        act(raw)
        times.append(1000 * (time.perf_counter() - begun))
    every = quantiles(times, n=100)
    return f"{min(times):.2f} | {every[49]:.2f} | {every[98]:.2f}"


def ask(port: int, token: str, raw: bytes) -> bytes:
    """Return the daemon's answer, from connecting to the last byte."""
    connection = HTTPConnection("127.0.0.1", port)
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "message/rfc822"}
    connection.request("POST", "/v1/check", raw, fields)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    assert answer.status == 200, said
    return said


def started(home: Path) -> tuple[subprocess.Popen[str], int]:
    """Start a daemon; return its port once it is ready."""
    config = '[serve]\nworkers = 1\n[http]\nlisten = "127.0.0.1:0"\nrate = 1_000_000\n'
    (home / "priory.toml").write_text(config)
    command = [str(Path(sys.executable).with_name("priory")), "serve", "--home", str(home)]
    daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)  # noqa: S603
    assert daemon.stderr is not None
    port = 0
    for line in daemon.stderr:
        if "protocol=http" in line:
            port = int(line.partition("127.0.0.1:")[2].split()[0])
        if "ready" in line:
            break
    return daemon, port


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    drawn = list(draw(TAUGHT + n, seed=11))
    mail = [each.raw for each in drawn[TAUGHT:]]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Filter.open(home) as filter_:
            for _ in filter_.learn_many((each.raw, each.label, "") for each in drawn[:TAUGHT]):
                pass
        daemon, port = started(home)
        try:
            token = issue(home, "check")
            for raw in mail[:100]:
                ask(port, token, raw)
            with Filter.open(home) as filter_:
                for raw in mail[:100]:
                    filter_.check(raw)
                rows = {
                    "`Filter.check`": filter_.check,
                    "the same, with its JSON": lambda raw: json.dumps(filter_.check(raw, located=True).as_dict()),
                    "`POST /v1/check`, with a connection of its own": lambda raw: ask(port, token, raw),
                }
                print("| ms | least | median | p99 |\n|---|---|---|---|")  # noqa: T201
                for name, act in rows.items():
                    print(f"| {name} | {taken(act, mail)} |")  # noqa: T201
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


if __name__ == "__main__":
    main()
