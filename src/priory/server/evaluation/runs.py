"""All comparisons of a home: at most one runs, and the last few are kept.

The process of a comparison inherits a lock and holds it until it ends, however it ends. The locked file names the
comparison and its process. So whether one runs is known without any memory or file that could be out of date.
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

from priory.filter.options import Options
from priory.server.evaluation.run import EvaluationRun, EvaluationSettings, Outcome, RunFiles

MAX_KEPT: Final = 20
_PROCESS: Final = "priory.server.evaluation.process"
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LOCK_ATTEMPTS: Final = 10  #: readers hold the lock, shared, for a moment


class BusyError(Exception):
    """A comparison runs already; the text is its id."""


class EvaluationRuns:
    """The comparisons of a home."""

    def __init__(self, home: Path, alive: int | None) -> None:
        self._home = home
        self._alive = alive  # a pipe whose other end is closed when the daemon ends
        self._folder = home / "lab" / "runs"
        self._lock = self._folder / "lock"

    def start(self, settings: EvaluationSettings, options: Options) -> EvaluationRun:
        """Start a comparison. Raises BusyError."""
        for folder in (self._folder.parent, self._folder):  # private: reports are about people's mail
            folder.mkdir(mode=0o700, exist_ok=True)
        lock = self._acquire()
        try:
            files = RunFiles(self._folder / secrets.token_hex(8))
            _write_holder(lock, files.folder.name)
            self._make_room()
            files.begin(settings, time.time())
            try:
                process = self._start_process(files, settings, options, lock)
            except OSError as error:
                files.write_outcome(Outcome(time.time(), f"Cannot start a process: {error.strerror}."))
            else:
                _write_holder(lock, files.folder.name, process.pid)
                Thread(target=_reap, args=(process,), daemon=True).start()
        finally:
            os.close(lock)  # flock belongs to the open file, and the process holds a duplicate of it: it keeps the lock
        run = self.find(files.folder.name)
        assert run is not None
        return run

    def all(self) -> list[EvaluationRun]:
        """Return all comparisons, the latest first."""
        held, _ = self._holder()
        folders = self._folder.iterdir() if self._folder.is_dir() else ()
        read = [RunFiles(folder).read(is_held=folder.name == held) for folder in folders if folder.is_dir()]
        return sorted((run for run in read if run is not None), key=lambda run: -run.created)

    def find(self, id_: str) -> EvaluationRun | None:
        """Return a comparison by its id; None if there is none."""
        held, _ = self._holder()
        return self.files(id_).read(is_held=id_ == held)

    def files(self, id_: str) -> RunFiles:
        """Return the files of a comparison."""
        return RunFiles(self._folder / id_)

    def stop(self, id_: str) -> None:
        """Ask a comparison to stop, if it runs."""
        with suppress(OSError):  # it was removed in the meantime
            self.files(id_).stop.touch()
        held, process = self._holder()
        if held == id_ and process:
            with suppress(OSError):
                handle = os.pidfd_open(process)
                try:
                    if self._holder() == (held, process):  # otherwise the id may belong to another process by now
                        signal.pidfd_send_signal(handle, signal.SIGTERM)
                finally:
                    os.close(handle)

    def remove(self, id_: str) -> None:
        """Remove a comparison that has ended."""
        shutil.rmtree(self._folder / id_, ignore_errors=True)

    def _make_room(self) -> None:
        for run in self.all()[MAX_KEPT - 1 :]:
            self.remove(run.id)

    def _acquire(self) -> int:
        """Take the lock, and return its descriptor. Raises BusyError."""
        for _ in range(_LOCK_ATTEMPTS):
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                if holder := self._holder()[0]:
                    raise BusyError(holder) from None
                time.sleep(0.01)
            else:
                return lock
        raise BusyError("")

    def _holder(self) -> tuple[str, int]:
        """Return the id of the comparison that runs and its process; empty and 0 if none does."""
        try:
            with self._lock.open("rb") as lock:
                try:
                    flock(lock, LOCK_SH | LOCK_NB)
                except BlockingIOError:
                    id_, _, process = lock.read().decode().partition(" ")
                    return id_, int(process or 0)
        except FileNotFoundError:
            pass
        return "", 0

    def _start_process(
        self, files: RunFiles, settings: EvaluationSettings, options: Options, lock: int
    ) -> "subprocess.Popen[bytes]":
        passed = [lock] if self._alive is None else [lock, self._alive]
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-W", "ignore", "-m", _PROCESS, str(files.folder), *map(str, passed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=passed,
            start_new_session=True,
            env={**os.environ, **dict.fromkeys(_THREADS, str(settings.jobs))},
        )
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(pickle.dumps((self._home, options, settings)))
        return process


def _reap(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of a process, and end its workers: if it was killed, it could not do that itself."""
    # WNOWAIT keeps the id, so that killpg cannot hit another group.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def _write_holder(lock: int, id_: str, process: int = 0) -> None:
    """Write the holder of the lock into the locked file."""
    holder = f"{id_} {process}".encode()
    os.pwrite(lock, holder, 0)
    os.ftruncate(lock, len(holder))
