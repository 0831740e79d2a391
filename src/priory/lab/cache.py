"""Cache of results: an interrupted evaluation resumes, and a finished one can be shown again.

Results are files of arrays and JSON. A folder holds the results of one question, such as "these models on this mail
with these folds". Its name is a digest of everything the answer depends on: settings, examples, library versions, and
the source code of Priory and of the user's own models.
"""

import hashlib
import inspect
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray

import priory
from priory.decision import Costs
from priory.journal.files import replacing
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import FoldResult, Task
from priory.lab.evaluation.learning_curve import LearningCurve, Point
from priory.lab.evaluation.replay import PartialRun
from priory.lab.measures.interval import Interval
from priory.lab.predictions import Predictions
from priory.lab.report import Report
from priory.lab.run import Mistake, Reason, Run, Weight
from priory.lab.test_set import Sealed

_FOLD_FACTS: Final = ("seconds_learning", "seconds_predicting", "peak_bytes", "train_error")
_RUN_FACTS: Final = ("model", "protocol", "in_order", *_FOLD_FACTS)

#: Classes under the names by which the log of attempts knows them. The log outlives a move of the class.
_LOGGED_NAMES: Final = {
    "priory.lab.models.filter_classifier.FilterClassifier": "priory.lab.filter_classifier.FilterClassifier",
    "priory.lab.models.registry.FrequentFeatures": "priory.lab.models.Seen",
    "priory.lab.models.registry.SelectedFeatures": "priory.lab.models.Chosen",
}


def settings_digest(value: Any) -> str:
    """Return a digest of the settings of a model or of any other value, independent of source code.

    >>> from priory.bayes import BernoulliNB
    >>> settings_digest(BernoulliNB()) == settings_digest(BernoulliNB(alpha=1.0))
    True
    """
    return str(joblib.hash(_ordered(value), hash_name="sha1"))


def digest_of(question: Any) -> str:
    """Return a digest of a question and of the source code that answers it.

    >>> from priory.bayes import BernoulliNB
    >>> digest_of(BernoulliNB()) == digest_of(BernoulliNB()) != digest_of(BernoulliNB(alpha=2.0))
    True
    """
    return hashlib.sha256(f"{settings_digest(question)} {_sources_digest()}".encode()).hexdigest()


def _ordered(value: Any) -> Any:
    """Replace models and dataclasses by their settings, and sets by sorted lists, so that equal values hash alike."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return _LOGGED_NAMES.get(name, name), _source(kind), _ordered(value.get_params(deep=False))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__qualname__, [(field.name, _ordered(getattr(value, field.name))) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(str(key), _ordered(value[key])) for key in sorted(value, key=str)]
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return [_ordered(item) for item in value] if isinstance(value, list | tuple) else value


def _source(kind: type) -> str:
    """Return the source file of a user's own model; its results may change when the file does."""
    if kind.__module__.partition(".")[0] in {"priory", "sklearn"}:
        return ""  # the version of scikit-learn and Priory's sources are in `_sources_digest`
    try:
        return Path(inspect.getfile(kind)).read_text(encoding="utf-8", errors="replace")
    except (OSError, TypeError):  # compiled, or defined interactively
        return ""


@lru_cache(maxsize=1)
def _sources_digest() -> str:
    """Return a digest of Priory's source code and of the versions of the libraries it computes with."""
    sha = hashlib.sha256(" ".join((np.__version__, scipy.__version__, sklearn.__version__)).encode())
    root = Path(priory.__file__).parent
    for path in sorted(root.rglob("*.py*")):
        if path.suffix in {".py", ".pyx"}:
            sha.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return sha.hexdigest()


def make_folder(folder: Path) -> Path:
    """Create a folder and its missing parents, readable by their owner only, and return it."""
    try:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(exist_ok=True)  # raises if there is a file of that name
    except OSError as error:
        raise LabError(f"cannot create {folder}: {error.strerror}; choose another --home") from None
    return folder


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically: after a failure it has its former content."""
    # Not synced: there are many results, and they can be computed again. Two commands may work in the same folder.
    try:
        with replacing(path, sync=False, suffix=str(os.getpid())) as stream:
            stream.write(data)
    except OSError as error:
        raise LabError(f"cannot write {path}: {error.strerror}; is the disk full?") from None


def save_arrays(path: Path, facts: Mapping[str, Any], **arrays: Any) -> None:
    """Write arrays, and facts that JSON can represent, to one file."""
    with tempfile.TemporaryFile() as stream:
        np.savez_compressed(stream, facts=json.dumps(facts), **arrays)
        stream.seek(0)
        write_file(path, stream.read())


def load_arrays(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and the arrays of a file.

    >>> path = Path(tempfile.mkdtemp(), "inbox.npz")
    >>> save_arrays(path, {"model": "filter"}, truth=np.array([0, 1]))
    >>> facts, arrays = load_arrays(path)
    >>> facts, arrays["truth"].tolist()
    ({'model': 'filter'}, [0, 1])
    """
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "facts"}
        return dict(json.loads(str(archive["facts"]))), arrays


@dataclass(frozen=True, slots=True)
class FoldCache:
    """Results of single models on single folds, so that a further comparison with the same folds reuses them."""

    folder: Path
    names: Mapping[str, str]  #: digest of each model on these folds
    fresh: bool = False  #: whether to ignore stored results
    with_train_error: bool = False  #: whether to ignore stored results without a training error

    @classmethod
    def of(cls, folder: Path, models: Mapping[str, Any], task: Task, examples: str, **options: bool) -> "FoldCache":
        """Return the cache for models on a task; `examples` is a digest of its rows and labels."""
        names = {name: digest_of((examples, task.folds.digest, model)) for name, model in models.items()}
        return cls(make_folder(folder), names, **options)

    def load(self, model: str, fold: int) -> FoldResult | None:
        """Return the stored result of a model on a fold, if there is one."""
        path = self._path(model, fold)
        if self.fresh or not path.exists():
            return None
        facts, arrays = load_arrays(path)
        return None if self.with_train_error and facts["train_error"] is None else FoldResult(arrays["logs"], **facts)

    def save(self, model: str, fold: int, result: FoldResult) -> None:
        """Store the result of a model on a fold."""
        facts = {name: getattr(result, name) for name in _FOLD_FACTS}
        save_arrays(self._path(model, fold), facts, logs=result.log_probabilities)

    def _path(self, model: str, fold: int) -> Path:
        return self.folder / f"{self.names[model][:20]}-{fold:04}.npz"


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """A folder with the results of one question."""

    folder: Path

    @classmethod
    def under(cls, home: Path, command: str, question: Mapping[str, Any]) -> "ResultFolder":
        """Return the folder for a question, created if it does not exist."""
        return cls(make_folder(home / f"{command}-{digest_of(question)[:10]}"))

    def clear(self, pattern: str = "*") -> None:
        """Remove results; `so-far-*` removes only what an unfinished replay has stored."""
        for path in self.folder.glob(f"{pattern}.npz"):
            path.unlink()

    def load_partial(self, model: str) -> PartialRun:
        """Return the stored part of an interrupted replay; empty if there is none."""
        path = self._partial(model)
        if not path.exists():
            return PartialRun()
        facts, arrays = load_arrays(path)
        mistakes = [_mistake(mistake) for mistake in facts.pop("mistakes")]
        logs, decisions, doubtful = list(arrays["logs"]), arrays["decisions"].tolist(), arrays["doubtful"].tolist()
        return PartialRun(logs, decisions, doubtful, mistakes, **facts)

    def save_partial(self, runs: Mapping[str, PartialRun]) -> None:
        """Store an unfinished replay."""
        for model, run in runs.items():
            facts = asdict(run)
            names = ("logs", "decisions", "doubtful")
            arrays = {name: np.array(facts.pop(name)) for name in names}
            save_arrays(self._partial(model), facts, **arrays)

    def save_runs(self, runs: Iterable[Run]) -> None:
        """Store finished runs in place of those stored before."""
        self.clear("run-*")
        for number, run in enumerate(runs):
            predictions = run.predictions
            facts = {
                **{name: getattr(run, name) for name in _RUN_FACTS},
                "mistakes": [asdict(mistake) for mistake in run.mistakes],
                "weights": [asdict(weight) for weight in run.weights],
                "classes": predictions.classes,
                "names": predictions.names,
            }
            optional = {"groups": predictions.groups, "decisions": predictions.decisions}
            known = {name: array for name, array in optional.items() if array is not None}
            path = self.folder / f"run-{number:02}.npz"
            save_arrays(path, facts, truth=predictions.truth, logs=predictions.log_probabilities, **known)

    def runs(self) -> list[Run]:
        """Return the finished runs."""
        return [_run(path) for path in sorted(self.folder.glob("run-*.npz"))]

    def save_json(self, name: str, value: Any) -> None:
        """Store a value that JSON can represent."""
        write_file(self.folder / f"{name}.json", json.dumps(value).encode())

    def load_json(self, name: str, default: Any) -> Any:
        """Return the value stored under a name."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def _partial(self, model: str) -> Path:
        return self.folder / f"so-far-{digest_of(model)[:10]}.npz"


def _run(path: Path) -> Run:
    facts, arrays = load_arrays(path)
    classes, names = tuple(facts.pop("classes")), tuple(facts.pop("names"))
    optional = arrays.get("groups"), arrays.get("decisions")
    predictions = Predictions(classes, arrays["truth"], arrays["logs"], names, *optional)
    mistakes = tuple(_mistake(mistake) for mistake in facts.pop("mistakes"))
    weights = tuple(Weight(**weight) for weight in facts.pop("weights"))
    return Run(predictions=predictions, mistakes=mistakes, weights=weights, **facts)


def _mistake(facts: Mapping[str, Any]) -> Mistake:
    reasons = tuple(Reason(**reason) for reason in facts["reasons"])
    return Mistake(facts["number"], facts["prior"], reasons, facts["about"])


def finished_results(home: Path) -> list[ResultFolder]:
    """Return the folders that hold a finished report, the latest first."""
    finished = {path.parent: path.stat().st_mtime for path in home.glob("*/report.json")}
    return [ResultFolder(folder) for folder in sorted(finished, key=lambda folder: -finished[folder])]


@dataclass(frozen=True, slots=True, eq=False)
class ReportInputs:
    """Everything a report is computed from, so that it can be computed again with other costs."""

    runs: Sequence[Run]
    costs: Costs
    title: str
    lines: Sequence[str] = ()
    curves: Sequence[tuple[str, LearningCurve]] = ()
    seal: str = ""  #: path of the sealed test set, if it was used: the report shows its present number of looks

    @property
    def report(self) -> Report:
        """The report."""
        lines = [_looks(Path(self.seal)), *self.lines] if self.seal else self.lines
        return Report.of(self.runs, self.costs, title=self.title, lines=lines, learning_curves=self.curves)


def _looks(seal: Path) -> str:
    """Say how many looks a test set has had, including those after the report was computed."""
    try:
        return Sealed.open(seal).line
    except LabError as error:
        return f"the number of looks at the test set is unknown: {error}"


def store_report(folder: ResultFolder, inputs: ReportInputs) -> Report:
    """Compute a report, store what it is computed from, and return it."""
    report = inputs.report  # first, so that nothing is stored if no report can be made
    folder.save_runs(inputs.runs)
    facts = {
        "costs": asdict(inputs.costs),
        "title": inputs.title,
        "lines": list(inputs.lines),
        "curves": [(name, [asdict(point) for point in curve.points]) for name, curve in inputs.curves],
        "seal": inputs.seal,
    }
    folder.save_json("report", facts)
    return report


def load_report(folder: ResultFolder, costs: Costs | None = None) -> ReportInputs:
    """Return what a stored report was computed from, with other costs if they are given."""
    facts = folder.load_json("report", None)
    if facts is None:
        raise LabError(f"{folder.folder} holds no finished report: run the command again, it resumes where it stopped")
    curves = [(name, LearningCurve(tuple(_point(point) for point in points))) for name, points in facts["curves"]]
    return ReportInputs(
        folder.runs(), costs or _costs(facts["costs"]), facts["title"], facts["lines"], curves, facts["seal"]
    )


def _costs(facts: Mapping[str, Any]) -> Costs:
    matrix = tuple(tuple(row) for row in facts["matrix"])
    return Costs(tuple(facts["labels"]), matrix, facts["unsure"])


def _point(facts: Mapping[str, Any]) -> Point:
    return Point(facts["n_examples"], Interval(**facts["train"]), Interval(**facts["validation"]))
