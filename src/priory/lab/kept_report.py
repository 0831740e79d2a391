"""Keeps everything a report is drawn from, so that it can be shown again, otherwise than before."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.interval import Interval
from priory.lab.kept import Kept
from priory.lab.learning_curve import LearningCurve, Point
from priory.lab.report import Report
from priory.lab.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Ingredients:
    """What a report is drawn from."""

    runs: Sequence[Run]
    costs: Costs
    title: str
    lines: Sequence[str] = ()
    curves: Sequence[tuple[str, LearningCurve]] = ()

    @property
    def report(self) -> Report:
        """The report."""
        return Report.of(self.runs, self.costs, title=self.title, lines=self.lines, learning_curves=self.curves)


def keep(kept: Kept, made_of: Ingredients) -> None:
    """Keep what a report is drawn from."""
    kept.save_runs(made_of.runs)
    curves = [(name, [asdict(point) for point in curve.points]) for name, curve in made_of.curves]
    kept.note(
        "report",
        {"costs": asdict(made_of.costs), "title": made_of.title, "lines": list(made_of.lines), "curves": curves},
    )


def kept_ingredients(kept: Kept, costs: Costs | None = None) -> Ingredients:
    """Return what a kept report is drawn from, with other costs if they are given."""
    noted = kept.noted("report", None)
    if noted is None:
        raise LabError(f"{kept.folder} holds no finished report: run the command again, it goes on where it stopped")
    curves = [(name, LearningCurve(tuple(_point(of) for of in points))) for name, points in noted["curves"]]
    return Ingredients(kept.runs(), costs or _costs(noted["costs"]), noted["title"], noted["lines"], curves)


def _costs(noted: Mapping[str, Any]) -> Costs:
    matrix = tuple(tuple(row) for row in noted["matrix"])
    return Costs(tuple(noted["labels"]), matrix, noted["unsure"])


def _point(noted: Mapping[str, Any]) -> Point:
    return Point(noted["n_examples"], Interval(**noted["train"]), Interval(**noted["validation"]))
