"""Starts and stops programs that must run while others are measured, and waits until they answer."""

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rounds import FailedError

_PATIENCE_S = 30.0


@contextlib.contextmanager
def running(
    command: Sequence[str], *addresses: int | Path, patience_s: float = _PATIENCE_S
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that listens on local ports or Unix sockets; enter the block once it listens."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            until = time.monotonic() + patience_s
            while not all(map(_accepts, addresses)):
                if process.poll() is not None or time.monotonic() > until:
                    said.seek(0)
                    words = said.read().decode(errors="replace").split()
                    raise FailedError(f"{Path(command[0]).name} does not answer: {' '.join(words)[-300:]}")
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            process.wait()


def _accepts(address: int | Path) -> bool:
    family, where = (
        (socket.AF_INET, ("127.0.0.1", address)) if isinstance(address, int) else (socket.AF_UNIX, str(address))
    )
    with socket.socket(family) as probe:
        return probe.connect_ex(where) == 0


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
