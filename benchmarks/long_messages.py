"""Measures how long small messages wait while a daemon reads fifty of the worst messages of 10 MB.

    python benchmarks/long_messages.py

One client of each protocol has drawn mail checked, one message after the other: alone, and while another process sends
fifty messages of 10 MB at once, again and again. These are of the kinds that take longest for their size.
"""

import argparse
import contextlib
import multiprocessing
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clients
import daemons
from load import family, memory_mb
from peers import PRIORY
from priory.demo import draw
from priory.filter.filter import Filter
from priory.wire.milter import packet
from report import Table

MB = 1_000_000
SIZE = 10 * MB
AT_ONCE = 50
SECONDS = 30.0
MAIL = [drawn.raw for drawn in draw(600, seed=1)]
CONFIG = '[milter]\nlisten = "{}"\n'
_OFFER = packet("O", b"".join(n.to_bytes(4) for n in (6, 0x1FF, 0x1FFFFF)))


def worst() -> list[bytes]:
    """Return one message of each kind that takes long."""
    head = b"Content-Type: multipart/mixed; boundary=b\n\n"
    lines = b"--b\n" + b"a:\x81\n" * (SIZE // 160) + b"\nx\n"
    parameters = (
        b"--b\nContent-Disposition: attachment" + b"".join(b"; a%d*=%%81" % i for i in range(25_000)) + b"\n\nx\n"
    )
    words = b"--b\nSubject: " + b"=?utf-8?q?=C3=A9?= " * 12_000 + b"\n\nx\n"
    base64 = b"Content-Transfer-Encoding: base64\n\n" + b"A!" * (SIZE // 2 - 100) + b"A"
    html = b"Content-Type: text/html\n\n" + b"<a href=x>w&#9;</a> " * (SIZE // 20)
    plain = b"Subject: words\n\n" + b"".join(b"word%d " % (i * 7919) for i in range(SIZE // 12))
    return [*(head + part * (SIZE // len(part)) for part in (lines, parameters, words)), base64, html, plain]


def flood(path: str, done: "multiprocessing.synchronize.Event") -> None:
    """Send the worst messages, fifty at a time."""
    requests = [clients.request("CHECK", raw)[1] for raw in worst()]

    def keep_sending(i: int) -> None:
        while not done.is_set():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(requests[i % len(requests)])
                while client.recv(65536):
                    pass

    with ThreadPoolExecutor(AT_ONCE) as senders:
        for i in range(AT_ONCE):
            senders.submit(keep_sending, i)


def ask_spamd(path: str, done: Callable[[], bool]) -> list[float]:
    """Return how many milliseconds each CHECK took."""
    took = []
    while not done():
        sent = clients.request("CHECK", MAIL[len(took) % len(MAIL)])[1]
        start = time.perf_counter()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(sent)
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        took.append((time.perf_counter() - start) * 1000)
        assert clients.is_whole(answer), answer
    return took


def ask_milter(path: str, done: Callable[[], bool]) -> list[float]:
    """Return how many milliseconds each message took over one connection, from its first step to its answer."""
    took = []
    with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answers:
        client.connect(path)

        def read() -> bytes:
            return answers.read(int.from_bytes(answers.read(4)))[:1]

        client.sendall(_OFFER)
        read()
        while not done():
            head, _, body = MAIL[len(took) % len(MAIL)].partition(b"\n\n")
            fields = b"".join(
                packet("L", b"\0".join(line.split(b":", 1)) + b"\0") for line in head.split(b"\n") if b":" in line
            )
            start = time.perf_counter()
            client.sendall(packet("M", b"<ann@mail.example>\0"))
            read()
            client.sendall(packet("R", b"<bob@home.example>\0") + fields + packet("B", body) + packet("E"))
            read()
            while read() in b"imq":
                pass
            took.append((time.perf_counter() - start) * 1000)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to measure each")
    seconds = parser.parse_args().seconds
    rows = []
    with tempfile.TemporaryDirectory(prefix="priory-long-") as folder:
        home = Path(folder)
        (home / "priory.toml").write_text(CONFIG.format(home / "milter"))
        with Filter.open(home) as filter_:
            for _ in filter_.learn_many((drawn.raw, drawn.label, "") for drawn in draw(500, seed=1)):
                pass
        with daemons.running([PRIORY, "serve", "--home", folder], home / "socket") as daemon:
            for name in ("nobody", f"{AT_ONCE} messages of {SIZE // MB} MB"):
                done = multiprocessing.get_context("fork").Event()
                process = multiprocessing.get_context("fork").Process(target=flood, args=(str(home / "socket"), done))
                if name != "nobody":
                    process.start()
                    time.sleep(2)
                is_over = threading.Event()
                with ThreadPoolExecutor(2) as honest:
                    asked = {
                        "spamd": honest.submit(ask_spamd, str(home / "socket"), is_over.is_set),
                        "milter": honest.submit(ask_milter, str(home / "milter"), is_over.is_set),
                    }
                    time.sleep(seconds)
                    is_over.set()
                done.set()
                if process.pid:
                    process.terminate()
                    process.join()
                memory = f"{sum(map(memory_mb, family(daemon.pid))):,.0f}"
                for protocol, result in asked.items():
                    took = result.result()
                    cuts = statistics.quantiles(took, n=1000)
                    figures = [f"{value:.1f}" for value in (cuts[499], cuts[989], cuts[998], max(took))]
                    rows.append([name, protocol, f"{len(took):,}", *figures, memory])
    columns = ["beside", "protocol", "messages", "ms, p50", "p99", "p99.9", "most", "MB"]
    table = Table("long", "Small messages beside long ones", columns, rows)
    print(table.as_text())
    print()
    print(table.as_markdown())
    sys.stdout.flush()


if __name__ == "__main__":
    main()
