"""One comparison, as its files tell of it: what was asked for, how far it is, and what came of it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from priory.journal.replacing import private

State = Literal["running", "stopping", "finished", "failed", "stopped", "killed"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be compared, and how."""

    models: tuple[str, ...]
    by: str  #: how the mail is split
    folds: int
    seed: int
    nested: bool  #: whether the choosing is judged, too
    curve: bool  #: whether to show how the error falls with more mail
    jobs: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a comparison is; `number` grows with every change."""

    number: int = 0
    stage: str = "starting"
    done: int = 0
    total: int = 0  #: 0 where it is not known
    remaining: float | None = None  #: seconds that this stage may take yet
    messages: int | None = None  #: that are compared by


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a comparison: a report, or why there is none."""

    ended: float
    why: str = ""  #: why it failed
    messages: int | None = None
    winner: str = ""
    error_rate: float | None = None  #: of the winner
    lines: tuple[str, ...] = ()  #: what the report says first, for people
    policy: str = ""  #: under which the report may be shown as a page; none if there is no page


@dataclass(frozen=True, slots=True)
class Run:
    """A comparison as it is just now."""

    id: str
    state: State
    created: float
    asked: Asked
    progress: Progress
    outcome: Outcome | None
    ended: float | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state not in {"running", "stopping"}

    @property
    def version(self) -> str:
        """A name of how it is: another whenever something has changed."""
        return f"{self.state}-{self.progress.number}"


class RunFiles:
    """The folder of a comparison. Each file is written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def page(self) -> Path:
        """The report for a browser, compressed."""
        return self.folder / "report.html.gz"

    @property
    def report(self) -> Path:
        """The report for programs."""
        return self.folder / "report.json"

    @property
    def stop(self) -> Path:
        """Is there if somebody wants it to stop."""
        return self.folder / "stop"

    def begin(self, asked: Asked, created: float) -> None:
        """Make the folder, for its owner alone: what is in it is about someone's mail."""
        self.folder.mkdir(mode=0o700)
        self._note("asked", {"created": created, "asked": asdict(asked)})

    def note_progress(self, progress: Progress) -> None:
        """Say how far it is."""
        self._note("progress", asdict(progress))

    def note_outcome(self, outcome: Outcome) -> None:
        """Say what came of it."""
        self._note("outcome", asdict(outcome))

    def write(self, path: Path, content: bytes) -> None:
        """Write one of the files."""
        beside = path.with_name(f"{path.name}.new")
        with open(beside, "wb", opener=private) as file:
            file.write(content)
        beside.replace(path)

    def read(self, *, is_held: bool) -> Run | None:
        """Return how it is, given whether its process is there; None if there is nothing that can be read."""
        try:
            begun = self._noted("asked")
            asked = Asked(**{**begun["asked"], "models": tuple(begun["asked"]["models"])})
            progress = Progress(**self._noted("progress"))
            outcome = _outcome(self._noted("outcome"))
            state = self._state(outcome, is_held=is_held)
            ended = outcome.ended if outcome else None if is_held else self._last_sign()
            return Run(self.folder.name, state, begun["created"], asked, progress, outcome, ended)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _state(self, outcome: Outcome | None, *, is_held: bool) -> State:
        if outcome is not None:
            return "failed" if outcome.why else "finished"
        if self.stop.exists():
            return "stopping" if is_held else "stopped"
        return "running" if is_held else "killed"

    def _last_sign(self) -> float:
        return max(path.stat().st_mtime for path in self.folder.iterdir())

    def _note(self, name: str, value: Any) -> None:
        self.write(self.folder / f"{name}.json", json.dumps(value).encode())

    def _noted(self, name: str) -> dict[str, Any]:
        path = self.folder / f"{name}.json"
        if name != "asked" and not path.exists():
            return {}
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise TypeError(name)
        return found


def _outcome(noted: dict[str, Any]) -> Outcome | None:
    return Outcome(**{**noted, "lines": tuple(noted["lines"])}) if noted else None
