"""Keeps everything a report is drawn from, so that it can be shown again, otherwise than before."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.interval import Interval
from priory.lab.kept import Kept
from priory.lab.learning_curve import LearningCurve, Point
from priory.lab.report import Report
from priory.lab.run import Run
from priory.lab.sealed import Sealed


@dataclass(frozen=True, slots=True, eq=False)
class Ingredients:
    """What a report is drawn from."""

    runs: Sequence[Run]
    costs: Costs
    title: str
    lines: Sequence[str] = ()
    curves: Sequence[tuple[str, LearningCurve]] = ()
    seal: str = ""  #: the file of the sealed test set that was looked at; it is asked how often whenever this is shown

    @property
    def report(self) -> Report:
        """The report."""
        lines = [_looks(Path(self.seal)), *self.lines] if self.seal else self.lines
        return Report.of(self.runs, self.costs, title=self.title, lines=lines, learning_curves=self.curves)


def _looks(seal: Path) -> str:
    """How often a test set was looked at by now, which may be more often than when the figures were found."""
    try:
        return Sealed.open(seal).line
    except LabError as error:
        return f"how often the test set was looked at is not known any more: {error}"


def kept_report(kept: Kept, made_of: Ingredients) -> Report:
    """Return the report, after everything that it is drawn from was kept; what cannot be reported is not kept."""
    report = made_of.report
    kept.save_runs(made_of.runs)
    noted = {
        "costs": asdict(made_of.costs),
        "title": made_of.title,
        "lines": list(made_of.lines),
        "curves": [(name, [asdict(point) for point in curve.points]) for name, curve in made_of.curves],
        "seal": made_of.seal,
    }
    kept.note("report", noted)
    return report


def kept_ingredients(kept: Kept, costs: Costs | None = None) -> Ingredients:
    """Return what a kept report is drawn from, with other costs if they are given."""
    noted = kept.noted("report", None)
    if noted is None:
        raise LabError(f"{kept.folder} holds no finished report: run the command again, it goes on where it stopped")
    curves = [(name, LearningCurve(tuple(_point(of) for of in points))) for name, points in noted["curves"]]
    return Ingredients(
        kept.runs(), costs or _costs(noted["costs"]), noted["title"], noted["lines"], curves, noted["seal"]
    )


def _costs(noted: Mapping[str, Any]) -> Costs:
    matrix = tuple(tuple(row) for row in noted["matrix"])
    return Costs(tuple(noted["labels"]), matrix, noted["unsure"])


def _point(noted: Mapping[str, Any]) -> Point:
    return Point(noted["n_examples"], Interval(**noted["train"]), Interval(**noted["validation"]))
