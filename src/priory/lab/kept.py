"""Results on disk: what was judged is kept, so that a long run can go on after an interruption and be looked at later.

A folder holds one question, such as "these models on this mail by these folds". Asking the same again finds what was
answered already. The name of the folder is a digest of everything the answer depends on: the mail, the models, the
splits, the versions of scikit-learn and the very sources of Priory.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn

import priory
from priory.lab.error import LabError
from priory.lab.judging import Cell
from priory.lab.predictions import Predictions
from priory.lab.replay import SoFar
from priory.lab.run import Mistake, Reason, Run, Weight


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of results."""

    folder: Path

    @classmethod
    def under(cls, home: Path, command: str, question: Mapping[str, Any]) -> "Kept":
        """Return the folder for a question, made if it is asked for the first time."""
        kept = cls(home / f"{command}-{digest_of(question)[:10]}")
        try:
            kept.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(f"{kept.folder} cannot be made: {error.strerror}; name another --home") from None
        kept._write("question.json", json.dumps({"command": command, **_plain(question)}, indent=1).encode())
        return kept

    def clear(self, what: str = "*") -> None:
        """Remove what was answered, or `cell-*` or `so-far-*` only, which finished runs have no need of."""
        for path in self.folder.glob(f"{what}.npz"):
            path.unlink()

    def load(self, model: str, fold: int) -> Cell | None:
        """Return what was kept of a model on a fold."""
        path = self._cell(model, fold)
        if not path.exists():
            return None
        with np.load(path) as kept:
            return Cell(kept["logs"], **json.loads(str(kept["facts"])))

    def save(self, model: str, fold: int, cell: Cell) -> None:
        """Keep it."""
        facts = {name: getattr(cell, name) for name in ("seconds_learning", "seconds_predicting", "peak_bytes")}
        self._save(self._cell(model, fold), {**facts, "train_error": cell.train_error}, logs=cell.log_probabilities)

    def load_so_far(self, model: str) -> SoFar:
        """Return what there is of a replay that was interrupted."""
        path = self._so_far(model)
        if not path.exists():
            return SoFar()
        with np.load(path) as kept:
            facts = json.loads(str(kept["facts"]))
            mistakes = [_mistake(each) for each in facts.pop("mistakes")]
            return SoFar(list(kept["logs"]), mistakes, **facts)

    def save_so_far(self, so_far: Mapping[str, SoFar]) -> None:
        """Keep what there is of a replay."""
        for model, each in so_far.items():
            facts = asdict(each)
            del facts["logs"]
            self._save(self._so_far(model), facts, logs=np.array(each.logs))

    def save_runs(self, runs: Iterable[Run]) -> None:
        """Keep finished runs."""
        for number, run in enumerate(runs):
            said = run.predictions
            facts = {
                **{name: getattr(run, name) for name in _RUN_FACTS},
                "mistakes": [asdict(each) for each in run.mistakes],
                "weights": [asdict(each) for each in run.weights],
                "classes": said.classes,
                "names": said.names,
            }
            path = self.folder / f"run-{number:02}.npz"
            self._save(path, facts, truth=said.truth, logs=said.log_probabilities)

    def runs(self) -> list[Run]:
        """Return the finished runs."""
        return [_run(path) for path in sorted(self.folder.glob("run-*.npz"))]

    @property
    def question(self) -> dict[str, Any]:
        """What was asked."""
        return dict(json.loads((self.folder / "question.json").read_text(encoding="utf-8")))

    def note(self, name: str, value: Any) -> None:
        """Keep something else that JSON can hold, such as the lines that say how far to trust a run."""
        self._write(f"{name}.json", json.dumps(value).encode())

    def noted(self, name: str, default: Any) -> Any:
        """Return what was noted under a name."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def _cell(self, model: str, fold: int) -> Path:
        return self.folder / f"cell-{digest_of(model)[:10]}-{fold:04}.npz"

    def _so_far(self, model: str) -> Path:
        return self.folder / f"so-far-{digest_of(model)[:10]}.npz"

    def _save(self, path: Path, facts: Mapping[str, Any], **arrays: Any) -> None:
        with tempfile.TemporaryFile() as stream:
            np.savez_compressed(stream, facts=json.dumps(facts), **arrays)
            stream.seek(0)
            self._write(path.name, stream.read())

    def _write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all."""
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as stream:
            stream.write(data)
        Path(stream.name).replace(self.folder / name)


_RUN_FACTS = (
    "model",
    "protocol",
    "seconds_learning",
    "seconds_predicting",
    "peak_bytes",
    "train_error",
    "settings",
)


def _run(path: Path) -> Run:
    with np.load(path) as kept:
        facts = json.loads(str(kept["facts"]))
        said = Predictions(tuple(facts.pop("classes")), kept["truth"], kept["logs"], tuple(facts.pop("names")))
    mistakes = tuple(_mistake(each) for each in facts.pop("mistakes"))
    weights = tuple(Weight(**each) for each in facts.pop("weights"))
    return Run(predictions=said, mistakes=mistakes, weights=weights, **facts)


def _mistake(facts: Mapping[str, Any]) -> Mistake:
    return Mistake(facts["number"], facts["prior"], tuple(Reason(**each) for each in facts["reasons"]))


def digest_of(question: Any) -> str:
    """Return a name for a question, the same whenever the same is asked of the same sources.

    >>> from priory.bayes import BernoulliNB
    >>> digest_of(BernoulliNB()) == digest_of(BernoulliNB()) != digest_of(BernoulliNB(alpha=2.0))
    True
    """
    return hashlib.sha256(f"{joblib.hash(_ordered(question))} {sources()}".encode()).hexdigest()


def _ordered(value: Any) -> Any:
    """Write out models and values by their settings, sets in order: as they lie in memory they differ each day."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{type(value).__module__}.{type(value).__qualname__}", _ordered(value.get_params(deep=False))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__qualname__, [(field.name, _ordered(getattr(value, field.name))) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(str(key), _ordered(value[key])) for key in sorted(value, key=str)]
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return [_ordered(each) for each in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=1)
def sources() -> str:
    """Name the code that answers: who changes a model must not be told what the old one said."""
    sha = hashlib.sha256(sklearn.__version__.encode())
    root = Path(priory.__file__).parent
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in {".py", ".pyx"}:
            sha.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return sha.hexdigest()


def _plain(value: Any) -> Any:
    """What JSON can hold of a question, for people to read."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)[:2000]


def all_kept(home: Path) -> list[Kept]:
    """Return everything that was kept and finished, the latest first."""
    finished = {path.parent: path.stat().st_mtime for path in home.glob("*/report.json")}
    return [Kept(folder) for folder in sorted(finished, key=lambda folder: -finished[folder])]
