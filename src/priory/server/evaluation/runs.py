"""All comparisons of a home: one is under way at most, and the last few are kept.

Who is under way holds a lock, from its start to its end, however that comes; and the file that is locked says who that
is. So nobody need remember it.
"""

import os
import pickle
import secrets
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from pathlib import Path
from threading import Thread
from typing import Final

from priory.options import Options
from priory.server.evaluation.run import Asked, Outcome, Run, RunFiles

MOST_KEPT: Final = 20
_PROCESS: Final = "priory.server.evaluation.process"
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_TRIES: Final = 10  #: to take the lock: who only looks has it for a moment


class BusyError(Exception):
    """A comparison is under way already; the text is its name."""


class Runs:
    """The comparisons of a home."""

    def __init__(self, home: Path, alive: int | None) -> None:
        self._home = home
        self._alive = alive  # a pipe that is closed with the daemon
        self._folder = home / "lab" / "runs"
        self._lock = self._folder / "lock"

    def start(self, asked: Asked, options: Options) -> Run:
        """Begin a comparison. Raises BusyError."""
        for folder in (self._folder.parent, self._folder):  # what is in them is about someone's mail
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = self._taken()
        try:
            files = RunFiles(self._folder / secrets.token_hex(8))
            _say(lock, files.folder.name)
            self._make_room()
            files.begin(asked, time.time())
            try:
                process = self._started(files, asked, options, lock)
            except OSError as error:
                files.note_outcome(Outcome(time.time(), f"No process can be started: {error.strerror}."))
            else:
                _say(lock, files.folder.name, process.pid)
                Thread(target=_bury, args=(process,), daemon=True).start()
        finally:
            os.close(lock)
        run = self.find(files.folder.name)
        assert run is not None
        return run

    def all(self) -> list[Run]:
        """Return all, the latest first."""
        held, _ = self._holder()
        folders = self._folder.iterdir() if self._folder.is_dir() else ()
        read = [RunFiles(folder).read(is_held=folder.name == held) for folder in folders if folder.is_dir()]
        return sorted((run for run in read if run is not None), key=lambda run: -run.created)

    def find(self, id_: str) -> Run | None:
        """Return one."""
        held, _ = self._holder()
        return self.files(id_).read(is_held=id_ == held)

    def files(self, id_: str) -> RunFiles:
        """Return where one has its files."""
        return RunFiles(self._folder / id_)

    def stop(self, id_: str) -> None:
        """Have one stop soon, if it is under way."""
        with suppress(OSError):  # it was removed meanwhile
            self.files(id_).stop.touch()
        held, process = self._holder()
        if held == id_ and process:
            with suppress(OSError):
                handle = os.pidfd_open(process)
                try:
                    if self._holder() == (held, process):  # or the number may be somebody else's by now
                        signal.pidfd_send_signal(handle, signal.SIGTERM)
                finally:
                    os.close(handle)

    def remove(self, id_: str) -> None:
        """Remove one that is over."""
        shutil.rmtree(self._folder / id_, ignore_errors=True)

    def _make_room(self) -> None:
        for run in self.all()[MOST_KEPT - 1 :]:
            self.remove(run.id)

    def _taken(self) -> int:
        """Return the lock, ours."""
        for _ in range(_TRIES):
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                if held := self._holder()[0]:
                    raise BusyError(held) from None
                time.sleep(0.01)
            else:
                return lock
        raise BusyError("")

    def _holder(self) -> tuple[str, int]:
        """Return the name of what is under way and its process; nothing if nothing is."""
        try:
            with self._lock.open("rb") as lock:
                try:
                    flock(lock, LOCK_SH | LOCK_NB)
                except BlockingIOError:
                    name, _, process = lock.read().decode().partition(" ")
                    return name, int(process or 0)
        except FileNotFoundError:
            pass
        return "", 0

    def _started(self, files: RunFiles, asked: Asked, options: Options, lock: int) -> "subprocess.Popen[bytes]":
        passed = [lock] if self._alive is None else [lock, self._alive]
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-W", "ignore", "-m", _PROCESS, str(files.folder), *map(str, passed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
            env={**os.environ, **dict.fromkeys(_THREADS, str(asked.jobs))},
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as told:
            told.write(pickle.dumps((self._home, options, asked)))
        return process


def _bury(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of a process, and have those end that worked for it: killed, it could not see to that."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # until it is buried its number is nobody else's
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def _say(lock: int, name: str, process: int = 0) -> None:
    """Write who holds the lock into it."""
    said = f"{name} {process}".encode()
    os.pwrite(lock, said, 0)
    os.ftruncate(lock, len(said))
