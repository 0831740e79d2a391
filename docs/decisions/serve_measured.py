"""Measures the thin client and the daemon: the figures of docs/decisions/serve.md.

python docs/decisions/serve_measured.py

Processes are started in turn, so that other load affects all of them equally; look at the least and the median.
"""

import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from priory.demo import Drawn, draw
from priory.filter.filter import Filter

PRIORY = str(Path(sys.executable).with_name("priory"))
MAIL = list(draw(600, seed=1))
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}}


def started(command: list[str], raw: bytes) -> float:
    """Return the milliseconds of a process from its start to its end."""
    start = time.perf_counter()
    subprocess.run(  # noqa: S603
        command, input=raw, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT, check=True
    )
    return (time.perf_counter() - start) * 1e3


def asked(path: str, verb: str, raw: bytes, fields: str = "") -> float:
    """Return the milliseconds of a request, from connecting to the last byte of the answer."""
    start = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(f"{verb} SPAMC/1.5\r\n{fields}Content-length: {len(raw)}\r\n\r\n".encode() + raw)
        while client.recv(1 << 16):
            pass
    return (time.perf_counter() - start) * 1e3


def told(name: str, times: list[float]) -> None:
    """Print the least, the median, the 99th percentile, and the greatest."""
    p99 = statistics.quantiles(times, n=100)[98]
    least, median, most = min(times), statistics.median(times), max(times)
    print(f"{name:44} least {least:6.2f}   median {median:6.2f}   p99 {p99:6.2f}   most {most:6.2f} ms")  # noqa: T201


def in_turn(n: int, commands: dict[str, Callable[[], float]]) -> None:
    """Measure all commands n times, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(n):
        for name, command in commands.items():
            times[name].append(command())
    for name, each in times.items():
        told(name, each)


def main() -> None:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as folder:
        home, alone, message = Path(folder, "home"), Path(folder, "alone"), Path(folder, "message.eml")
        for each in (home, alone):
            with Filter.open(each) as filter_:
                for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in MAIL[:500]):
                    pass
        raw = MAIL[-1].raw
        message.write_bytes(raw)
        log = Path(folder, "log")
        with log.open("wb") as stderr:
            command = [PRIORY, "serve", "--home", str(home)]
            daemon = subprocess.Popen(command, stderr=stderr, env=ENVIRONMENT)  # noqa: S603
        try:
            while "ready" not in log.read_text():
                time.sleep(0.05)
            measure(str(home), str(alone), str(message), raw)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def measure(home: str, alone: str, message: str, raw: bytes) -> None:
    """Measure the commands that a mail server starts, and the daemon itself."""
    in_turn(
        60,
        {
            "python -c pass": lambda: started([sys.executable, "-c", "pass"], b""),
            "python -c 'import re', as pip's scripts do": lambda: started([sys.executable, "-c", "import re"], b""),
            "priory check FILE, daemon": lambda: started([PRIORY, "check", message, "--home", home], b""),
            "priory filter, daemon": lambda: started([PRIORY, "filter", "--home", home], raw),
            "priory check FILE, alone": lambda: started([PRIORY, "check", message, "--home", alone], b""),
            "priory filter, alone": lambda: started([PRIORY, "filter", "--home", alone], raw),
        },
    )
    path = f"{home}/socket"
    for verb in ("PING", "CHECK", "PROCESS", "REPORT"):
        told(f"{verb}, one client", [asked(path, verb, MAIL[i % len(MAIL)].raw) for i in range(2000)])
    for verb in ("CHECK", "PROCESS"):
        with ThreadPoolExecutor(20) as clients:
            start = time.perf_counter()
            times = list(clients.map(lambda drawn: asked(path, verb, drawn.raw), MAIL * 5))  # noqa: B023
            per_s = len(times) / (time.perf_counter() - start)
        told(f"{verb}, 20 clients, {per_s:,.0f} a second", times)
    with ThreadPoolExecutor(50) as clients:
        start = time.perf_counter()
        times = list(clients.map(lambda drawn: taught(path, drawn), draw(2000, seed=2)))
        per_s = len(times) / (time.perf_counter() - start)
    told(f"TELL, 50 clients, {per_s:,.0f} a second", times)


def taught(path: str, drawn: Drawn) -> float:
    """Return the milliseconds of a lesson until its acknowledgement."""
    return asked(path, "TELL", drawn.raw, f"Message-class: {drawn.label}\r\nSet: local\r\n")


if __name__ == "__main__":
    main()
