"""The process of a comparison: it runs at low priority, records its progress, and ends with the daemon.

It is started as `python -m priory.server.evaluation.process FOLDER LOCK [ALIVE]`. LOCK is a descriptor of the lock that
it holds while it runs, ALIVE one that is closed when the daemon ends. The settings come pickled on standard input.
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

from priory.filter.options import Options
from priory.journal import JournalError
from priory.lab.error import LabError
from priory.processes.fork import give_way
from priory.processes.log import log_error
from priory.server.evaluation.run import EvaluationSettings, Outcome, Progress, RunFiles

if TYPE_CHECKING:
    from priory.lab.evaluation.bench import Advance
    from priory.lab.report import Report

_NICENESS: Final = 10
_PROGRESS_S: Final = 0.2  #: seconds between two writes of the progress, at least
_STOP_TIMEOUT_S: Final = 10.0  #: after SIGTERM; then SIGKILL, because compiled code of a model may not return sooner
#: The stage shown after each stage ends; it has no progress bar.
_AFTERWARDS: Final = {"reading": "looking for near-copies"}
_INTERNAL: Final = "An internal error occurred. The log of the daemon has the details."
_MEMORY: Final = "Memory ran out. Choose fewer models, or run priory lab compare on a larger machine."


class _ProgressWriter:
    """Records the progress, and stops the comparison on request."""

    def __init__(self, files: RunFiles) -> None:
        self._files = files
        self._last = Progress()
        self._last_at = 0.0
        self.n_messages: int | None = None

    @contextmanager
    def stage(self, what: str, total: int) -> Iterator["Advance"]:
        """Record the progress of a stage; the callback that `Bench.progress` expects."""
        begun, done = time.monotonic(), 0

        def advance(n: int) -> None:
            nonlocal done
            done += n
            now = time.monotonic()
            if now - self._last_at >= _PROGRESS_S or done == total:
                self.write(what, done, total, (now - begun) / done * (total - done) if done else None)

        self.write(what, 0, total)
        yield advance
        self.write(_AFTERWARDS.get(what, "computing"))

    def write(self, stage: str, done: int = 0, total: int = 0, remaining: float | None = None) -> None:
        """Record the progress. Raises KeyboardInterrupt if the comparison is to stop."""
        if self._files.stop.exists():
            raise KeyboardInterrupt
        self._last = Progress(self._last.number + 1, stage, done, total, remaining, self.n_messages)
        self._last_at = time.monotonic()
        self._files.write_progress(self._last)


def main(folder: str, lock: str, *alive: str) -> None:
    """Run a comparison, and record its outcome."""
    for end in (lock, *alive):
        os.set_inheritable(int(end), False)  # a child that kept the lock would hold it after the end of this process
    _watch_for_the_end([int(descriptor) for descriptor in alive])
    _lower_priority()
    home, options, settings = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the daemon
    files = RunFiles(Path(folder))
    with suppress(KeyboardInterrupt):
        outcome = _outcome(files, home, options, settings)
        if files.folder.is_dir():  # otherwise it was removed
            files.write_outcome(outcome)
    os.close(int(lock))  # a client that has read the outcome may start the next before Python has ended


def _watch_for_the_end(alive: list[int]) -> None:
    """Stop when told to by SIGTERM, or when the daemon is gone."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, _on_sigterm)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        select.select([woken, *alive], [], [])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_STOP_TIMEOUT_S)
        os.killpg(0, signal.SIGKILL)  # the whole process group, with the workers of the comparison

    Thread(target=watch, daemon=True).start()


def _on_sigterm(_number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, once: it passes every `except Exception`, and all cleanup is run."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _lower_priority() -> None:
    """Let mail go first, and let the kernel end this process first if memory runs out."""
    give_way(_NICENESS)
    with suppress(OSError):  # not allowed in some containers
        Path("/proc/self/oom_score_adj").write_text("1000")


def _outcome(files: RunFiles, home: Path, options: Options, settings: EvaluationSettings) -> Outcome:
    progress = _ProgressWriter(files)
    progress.write("starting")
    try:
        report = _compare(progress, home, options, settings)
        return _write_report(files, progress, report)
    except (LabError, JournalError) as error:
        return Outcome(time.time(), str(error))
    except (MemoryError, BrokenExecutor):  # one of our own workers was killed
        return Outcome(time.time(), _MEMORY)
    except Exception as error:  # noqa: BLE001 - clients wait for an outcome in any case
        if files.folder.is_dir():
            log_error(error, evaluation=files.folder.name)
        return Outcome(time.time(), _INTERNAL)


def _compare(progress: _ProgressWriter, home: Path, options: Options, settings: EvaluationSettings) -> "Report":
    from priory.lab.evaluation.bench import Bench  # noqa: PLC0415
    from priory.lab.evaluation.mail_evaluation import MailEvaluation, Split  # noqa: PLC0415
    from priory.lab.examples import from_journal  # noqa: PLC0415

    source = from_journal(home, options)
    progress.n_messages = source.n_messages
    evaluation = MailEvaluation.read(source, Bench(home / "lab", settings.jobs, progress=progress.stage))
    split = Split(settings.by, settings.folds, settings.seed, together=True)
    return evaluation.compare(settings.models, split, nested=settings.nested, curve=settings.curve)


def _write_report(files: RunFiles, progress: _ProgressWriter, report: "Report") -> Outcome:
    """Write the report as JSON, and as a page if plotly is installed; return the outcome."""
    from priory.lab.report import page, policy  # noqa: PLC0415

    progress.write("writing the report")
    files.write(files.report, json.dumps(report.as_dict(), allow_nan=False).encode())
    has_page = find_spec("plotly") is not None
    if has_page:
        files.write(files.page, gzip.compress(page(report).encode(), 6))
    best = report.runs[0].run
    return Outcome(
        time.time(),
        messages=progress.n_messages,
        winner=best.model,
        error_rate=best.predictions.error_rate,
        lines=tuple(report.lines),
        policy=policy() if has_page else "",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
