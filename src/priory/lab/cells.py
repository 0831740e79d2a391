"""What single models made of single folds, kept: who compares others by the same folds need not fit these again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priory.lab import archive
from priory.lab.digests import digest_of
from priory.lab.judging import Cell, Task

_FACTS = ("seconds_learning", "seconds_predicting", "peak_bytes", "train_error")


@dataclass(frozen=True, slots=True)
class Cells:
    """A folder of cells, and under which names those of these models on these folds are there."""

    folder: Path
    names: Mapping[str, str]
    fresh: bool = False  #: what is there does not count
    with_train_error: bool = False  #: what has none does not count

    @classmethod
    def of(cls, folder: Path, models: Mapping[str, Any], task: Task, examples: str, **how: bool) -> "Cells":
        """Name the cells of models on a task; `examples` is a digest of its rows and labels."""
        names = {name: digest_of((examples, task.folds.digest, model)) for name, model in models.items()}
        return cls(archive.made(folder), names, **how)

    def load(self, model: str, fold: int) -> Cell | None:
        """Return what was kept of a model on a fold."""
        path = self._path(model, fold)
        if self.fresh or not path.exists():
            return None
        facts, arrays = archive.load(path)
        return None if self.with_train_error and facts["train_error"] is None else Cell(arrays["logs"], **facts)

    def save(self, model: str, fold: int, cell: Cell) -> None:
        """Keep it."""
        facts = {name: getattr(cell, name) for name in _FACTS}
        archive.save(self._path(model, fold), facts, logs=cell.log_probabilities)

    def _path(self, model: str, fold: int) -> Path:
        return self.folder / f"{self.names[model][:20]}-{fold:04}.npz"
