"""The process of a comparison: it makes way for mail, says how far it is, and ends with the daemon.

Started as `python -m priory.server.evaluation.process FOLDER LOCK [ALIVE]`, with what to do on standard input.
"""

import gzip
import json
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from priory.forking import give_way
from priory.journal import JournalError
from priory.options import Options
from priory.server.connection import log_error
from priory.server.evaluation.run import Asked, Outcome, Progress, RunFiles

if TYPE_CHECKING:
    from priory.lab.bench import Advance
    from priory.lab.report import Report

_NICENESS: Final = 10
_OFTEN_S: Final = 0.2  #: at most so often it is said how far it is
_PATIENCE_S: Final = 10.0  #: with ourselves, when told to stop: a model may be deep in something
_AFTERWARDS: Final = {"reading": "looking for near-copies"}  #: what follows a stage and shows no progress
_INSIDE: Final = "Something is wrong inside; the log of the daemon says what."
_MEMORY: Final = "There was not enough memory. Choose fewer models, or try it on a larger machine: priory lab compare."


class _Teller:
    """Says how far it is, and stops if somebody wants that."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._said = Progress()
        self._said_at = 0.0
        self.n_messages: int | None = None

    @contextmanager
    def stage(self, what: str, total: int) -> Iterator["Advance"]:
        """Show how far a stage is, as `Bench.progress` does it."""
        begun, done = time.monotonic(), 0

        def advance(n: int) -> None:
            nonlocal done
            done += n
            now = time.monotonic()
            if now - self._said_at >= _OFTEN_S or done == total:
                self.tell(what, done, total, (now - begun) / done * (total - done) if done else None)

        self.tell(what, 0, total)
        yield advance
        self.tell(_AFTERWARDS.get(what, "reckoning"))

    def tell(self, stage: str, done: int = 0, total: int = 0, remaining: float | None = None) -> None:
        """Say it."""
        if self._files.stop.exists():
            raise KeyboardInterrupt
        self._said = Progress(self._said.number + 1, stage, done, total, remaining, self.n_messages)
        self._said_at = time.monotonic()
        self._files.note_progress(self._said)


def main(folder: str, lock: str, *alive: str) -> None:
    """Compare what is asked for, and note what comes of it."""
    for end in (lock, *alive):
        os.set_inheritable(int(end), False)  # the lock is ours alone
    _watch_for_the_end([int(each) for each in alive])
    _make_way()
    home, options, asked = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the daemon
    files = RunFiles(Path(folder))
    with suppress(KeyboardInterrupt):
        outcome = _outcome(files, home, options, asked)
        if files.folder.is_dir():  # or it was removed, and nobody waits for it
            files.note_outcome(outcome)
    os.close(int(lock))  # who has read the outcome may begin the next, while Python takes its time to end


def _watch_for_the_end(alive: list[int]) -> None:
    """Stop when told to by SIGTERM, or when the daemon is gone."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _stopped)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        select.select([woken, *alive], [], [])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE_S)
        os.killpg(0, signal.SIGKILL)  # with those that work for us

    Thread(target=watch, daemon=True).start()


def _stopped(_number: int, _frame: object) -> None:
    """Leave, once: KeyboardInterrupt passes through all that cleans up, and nobody takes it for an error of a model."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _make_way() -> None:
    """Let mail go first; and if memory is short, let it be this process that ends."""
    give_way(_NICENESS)
    with suppress(OSError):  # where that is forbidden
        Path("/proc/self/oom_score_adj").write_text("1000")


def _outcome(files: RunFiles, home: Path, options: Options, asked: Asked) -> Outcome:
    teller = _Teller(files)
    teller.tell("starting")
    from priory.lab.error import LabError  # noqa: PLC0415 - it takes a second to load what judges

    try:
        report = _compared(teller, home, options, asked)
        return _kept(files, teller, report)
    except (LabError, JournalError) as error:
        return Outcome(time.time(), str(error))
    except (MemoryError, BrokenExecutor):  # a process that worked for us was killed
        return Outcome(time.time(), _MEMORY)
    except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for the outcome
        if files.folder.is_dir():
            log_error(error, evaluation=files.folder.name)
        return Outcome(time.time(), _INSIDE)


def _compared(teller: _Teller, home: Path, options: Options, asked: Asked) -> "Report":
    from priory.lab.bench import Bench  # noqa: PLC0415
    from priory.lab.case import Case, Split  # noqa: PLC0415
    from priory.lab.source import from_journal  # noqa: PLC0415

    source = from_journal(home, options)
    teller.n_messages = source.n_messages
    case = Case.read(source, Bench(home / "lab", asked.jobs, progress=teller.stage))
    split = Split(asked.by, asked.folds, asked.seed, together=True)
    return case.compared(asked.models, split, nested=asked.nested, curve=asked.curve)


def _kept(files: RunFiles, teller: _Teller, report: "Report") -> Outcome:
    """Keep the report as JSON, and as a page if what draws its plots is installed."""
    from priory.lab.report import page, policy  # noqa: PLC0415

    teller.tell("writing the report")
    files.write(files.report, json.dumps(report.as_dict(), allow_nan=False).encode())
    has_page = find_spec("plotly") is not None
    if has_page:
        files.write(files.page, gzip.compress(page(report).encode(), 6))
    best = report.runs[0].run
    return Outcome(
        time.time(),
        messages=teller.n_messages,
        winner=best.model,
        error_rate=best.predictions.error_rate,
        lines=tuple(report.lines),
        policy=policy() if has_page else "",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
