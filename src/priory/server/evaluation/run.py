"""One comparison as its files record it: the settings, the progress and the outcome, and texts about them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from priory.journal.files import replacing

State = Literal["running", "stopping", "finished", "failed", "stopped", "killed"]


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """Which models are compared, and how."""

    models: tuple[str, ...]
    by: str  #: how the mail is split
    folds: int
    seed: int
    nested: bool  #: whether to evaluate the choice of a model, too
    curve: bool  #: whether to compute the learning curve
    jobs: int  #: processes


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a comparison; `number` grows with every change."""

    number: int = 0
    stage: str = "starting"
    done: int = 0
    total: int = 0  #: 0 if unknown
    remaining: float | None = None  #: estimated seconds until the end of this stage
    messages: int | None = None  #: number of messages that the models are compared on


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a comparison: a summary of its report, or why it failed."""

    ended: float
    why: str = ""  #: why it failed; empty if it did not
    messages: int | None = None
    winner: str = ""
    error_rate: float | None = None  #: of the winner
    lines: tuple[str, ...] = ()  #: the first lines of the report
    policy: str = ""  #: the content security policy of the report as a page; empty if there is no page


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """A comparison and its current state."""

    id: str
    state: State
    created: float
    settings: EvaluationSettings
    progress: Progress
    outcome: Outcome | None
    ended: float | None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state not in {"running", "stopping"}

    @property
    def version(self) -> str:
        """A string that changes whenever the state or the progress does."""
        return f"{self.state}-{self.progress.number}"


class RunFiles:
    """The folder of a comparison.

    Files are replaced by renaming, so a reader in another process never sees half a file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def page(self) -> Path:
        """The report as a compressed page."""
        return self.folder / "report.html.gz"

    @property
    def report(self) -> Path:
        """The report as JSON."""
        return self.folder / "report.json"

    @property
    def stop(self) -> Path:
        """A file that exists once the comparison is to stop."""
        return self.folder / "stop"

    def begin(self, settings: EvaluationSettings, created: float) -> None:
        """Make the folder, readable by its owner only, because the report is about private mail."""
        self.folder.mkdir(mode=0o700)
        self._write_json("asked", {"created": created, "asked": asdict(settings)})

    def write_progress(self, progress: Progress) -> None:
        """Record the progress."""
        self._write_json("progress", asdict(progress))

    def write_outcome(self, outcome: Outcome) -> None:
        """Record the outcome."""
        self._write_json("outcome", asdict(outcome))

    def write(self, path: Path, content: bytes) -> None:
        """Write one of the files."""
        with replacing(path, sync=False) as file:  # written often, and lost with the run in a crash
            file.write(content)

    def read(self, *, is_held: bool) -> EvaluationRun | None:
        """Return the current state, given whether its process holds the lock; None if the files cannot be read."""
        try:
            begun = self._read_json("asked")
            settings = EvaluationSettings(**{**begun["asked"], "models": tuple(begun["asked"]["models"])})
            progress = Progress(**self._read_json("progress"))
            outcome = _outcome(self._read_json("outcome"))
            state = self._state(outcome, is_held=is_held)
            ended = outcome.ended if outcome else None if is_held else self._last_write()
            return EvaluationRun(self.folder.name, state, begun["created"], settings, progress, outcome, ended)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _state(self, outcome: Outcome | None, *, is_held: bool) -> State:
        if outcome is not None:
            return "failed" if outcome.why else "finished"
        if self.stop.exists():
            return "stopping" if is_held else "stopped"
        return "running" if is_held else "killed"

    def _last_write(self) -> float:
        return max(path.stat().st_mtime for path in self.folder.iterdir())

    def _write_json(self, name: str, value: Any) -> None:
        self.write(self.folder / f"{name}.json", json.dumps(value).encode())

    def _read_json(self, name: str) -> dict[str, Any]:
        path = self.folder / f"{name}.json"
        if name != "asked" and not path.exists():
            return {}
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise TypeError(name)
        return content


def _outcome(content: dict[str, Any]) -> Outcome | None:
    return Outcome(**{**content, "lines": tuple(content["lines"])}) if content else None


_UNITS: Final = {"reading": "messages", "judging": "rounds"}
_REASONS: Final = {
    "stopped": "It was stopped. Start the same comparison again to go on from here.",
    "killed": "It ended early: the daemon was stopped, or memory ran out. Start the same comparison again to go on "
    "from here.",
}


def progress_text(progress: Progress) -> str:
    """Return the current stage and its progress, for people.

    >>> progress_text(Progress(7, "judging", 4, 15, 81.0, 600))
    'Judging: 4 of 15 rounds, about 80 seconds left'
    >>> progress_text(Progress(1, "starting"))
    'Starting …'
    """
    stage = progress.stage.capitalize()
    if not progress.total:
        return f"{stage} …"
    counted = f"{progress.done:,} of {progress.total:,} {_UNITS.get(progress.stage, '')}".rstrip()
    time_left = f", {_time(progress.remaining)} left" if progress.remaining is not None else ""
    return f"{stage}: {counted}{time_left}"


def _time(seconds: float) -> str:
    """Return an estimated time, rounded.

    >>> _time(2.3), _time(27), _time(400), _time(20_000)
    ('a few seconds', 'about 30 seconds', 'about 7 minutes', 'about 5.6 hours')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 100:
        return f"about {round(seconds, -1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 6000 else f"about {seconds / 3600:.1f} hours"


def headline(run: EvaluationRun) -> str:
    """Return the outcome of a comparison in one line."""
    outcome, n_models = run.outcome, len(run.settings.models)
    if run.state == "finished" and outcome is not None and outcome.error_rate is not None:
        best = f" was best of {n_models}" if n_models > 1 else ""
        return f"{outcome.winner}{best}: {100 * outcome.error_rate:.2f} % wrong"
    return {"failed": "No result", "stopped": "Stopped", "killed": "Ended too soon"}.get(run.state, "Running")


def failure_reason(run: EvaluationRun) -> str:
    """Return why there is no report; empty if there is one, or may still be."""
    return run.outcome.why if run.outcome else _REASONS.get(run.state, "")
