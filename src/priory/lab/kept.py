"""Results on disk: what was judged is kept, so that a long run can go on after an interruption and be looked at later.

A folder holds the answer to one question, such as "these models on this mail by these folds"; its name is a digest of
everything the answer depends on.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from priory.lab import archive
from priory.lab.digests import digest_of
from priory.lab.predictions import Predictions
from priory.lab.replay import SoFar
from priory.lab.run import Mistake, Reason, Run, Weight

_RUN_FACTS: Final = ("model", "protocol", "seconds_learning", "seconds_predicting", "peak_bytes", "train_error")


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of results."""

    folder: Path

    @classmethod
    def under(cls, home: Path, command: str, question: Mapping[str, Any]) -> "Kept":
        """Return the folder for a question, made if it is asked for the first time."""
        return cls(archive.made(home / f"{command}-{digest_of(question)[:10]}"))

    def clear(self, what: str = "*") -> None:
        """Remove what was answered, or `so-far-*` only, which a finished replay has no need of."""
        for path in self.folder.glob(f"{what}.npz"):
            path.unlink()

    def load_so_far(self, model: str) -> SoFar:
        """Return what there is of a replay that was interrupted."""
        path = self._so_far(model)
        if not path.exists():
            return SoFar()
        facts, arrays = archive.load(path)
        mistakes = [_mistake(each) for each in facts.pop("mistakes")]
        return SoFar(list(arrays["logs"]), mistakes, **facts)

    def save_so_far(self, so_far: Mapping[str, SoFar]) -> None:
        """Keep what there is of a replay."""
        for model, each in so_far.items():
            facts = asdict(each)
            del facts["logs"]
            archive.save(self._so_far(model), facts, logs=np.array(each.logs))

    def save_runs(self, runs: Iterable[Run]) -> None:
        """Keep finished runs, and no others."""
        self.clear("run-*")
        for number, run in enumerate(runs):
            said = run.predictions
            facts = {
                **{name: getattr(run, name) for name in _RUN_FACTS},
                "mistakes": [asdict(each) for each in run.mistakes],
                "weights": [asdict(each) for each in run.weights],
                "classes": said.classes,
                "names": said.names,
            }
            groups = {} if said.groups is None else {"groups": said.groups}
            path = self.folder / f"run-{number:02}.npz"
            archive.save(path, facts, truth=said.truth, logs=said.log_probabilities, **groups)

    def runs(self) -> list[Run]:
        """Return the finished runs."""
        return [_run(path) for path in sorted(self.folder.glob("run-*.npz"))]

    def note(self, name: str, value: Any) -> None:
        """Keep something else that JSON can hold."""
        archive.write(self.folder / f"{name}.json", json.dumps(value).encode())

    def noted(self, name: str, default: Any) -> Any:
        """Return what was noted under a name."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def _so_far(self, model: str) -> Path:
        return self.folder / f"so-far-{digest_of(model)[:10]}.npz"


def _run(path: Path) -> Run:
    facts, arrays = archive.load(path)
    classes, names = tuple(facts.pop("classes")), tuple(facts.pop("names"))
    said = Predictions(classes, arrays["truth"], arrays["logs"], names, arrays.get("groups"))
    mistakes = tuple(_mistake(each) for each in facts.pop("mistakes"))
    weights = tuple(Weight(**each) for each in facts.pop("weights"))
    return Run(predictions=said, mistakes=mistakes, weights=weights, **facts)


def _mistake(facts: Mapping[str, Any]) -> Mistake:
    reasons = tuple(Reason(**each) for each in facts["reasons"])
    return Mistake(facts["number"], facts["prior"], reasons, facts["about"])


def all_kept(home: Path) -> list[Kept]:
    """Return everything that was kept and finished, the latest first."""
    finished = {path.parent: path.stat().st_mtime for path in home.glob("*/report.json")}
    return [Kept(folder) for folder in sorted(finished, key=lambda folder: -finished[folder])]
