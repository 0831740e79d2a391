"""The content of a report about judged models, computed once and shown as a page, as text or as JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.evaluation.learning_curve import LearningCurve
from priory.lab.measures import (
    Comparison,
    CostCurve,
    Curve,
    Disagreement,
    Reliability,
    Summary,
    auc,
    calibration_error,
    cost_difference,
    delong,
    disagreements,
    mcnemar,
    precision_recall,
    reliability,
    roc,
    summary,
)
from priory.lab.measures.costs import thin_costs
from priory.lab.measures.drift import Window, drift
from priory.lab.measures.interval import Interval
from priory.lab.measures.ranking import thin_curve
from priory.lab.predictions import Predictions
from priory.lab.report.numbers import exact_percent
from priory.lab.run import Mistake, Run, worst


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparison:
    """Two models, the figure compared, and the result; `difference` is the first minus the second."""

    one: str
    two: str
    figure: str
    result: Comparison

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"models": [self.one, self.two], "figure": self.figure, **self.result.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Disagreements:
    """Two models and the messages about which they differ, the largest differences first."""

    one: str
    two: str
    messages: Sequence[Disagreement]


def same_examples(one: Run, two: Run) -> bool:
    """Return whether two runs are about the same examples, in the same order."""
    return one.predictions.names == two.predictions.names and bool(
        (one.predictions.truth == two.predictions.truth).all()
    )


def paired_tests(runs: Sequence[Run], costs: Costs) -> list[ModelComparison]:
    """Compare the first run with each other: errors by McNemar's test, costs by bootstrap, areas by DeLong's test."""
    first, *others = runs
    comparisons = []
    for other in others:
        if same_examples(first, other):
            pair = first.predictions, other.predictions
            comparisons.append(ModelComparison(first.model, other.model, "errors", mcnemar(*pair)))
            comparisons.append(ModelComparison(first.model, other.model, "cost", cost_difference(*pair, costs)))
            if first.predictions.n_classes == 2:
                comparisons.append(ModelComparison(first.model, other.model, "AUC", delong(*pair)))
    return comparisons


def pairs(runs: Sequence[Run], costs: Costs) -> list[Disagreements]:
    """Return the disagreements of the first run with each other one, at these costs."""
    first, *others = runs
    return [
        Disagreements(first.model, other.model, disagreements(first.predictions, other.predictions, costs))
        for other in others
        if same_examples(first, other)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The curves of one class against the rest, with as many points as a plot can show, and its calibration."""

    auc: Interval
    roc: Curve
    precision_recall: Curve
    reliability: Reliability
    calibration_error: Interval

    @classmethod
    def of(cls, predictions: Predictions, about: int) -> Self:
        """Compute the curves of a class."""
        return cls(
            auc(predictions, about),
            thin_curve(roc(predictions, about)),
            thin_curve(precision_recall(predictions, about), n_decades=0),
            reliability(predictions, about),
            calibration_error(predictions, about),
        )


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """One run with all its figures; `curves` by the class that they are about."""

    run: Run
    summary: Summary
    curves: Mapping[int, Curves]
    cost_curve: CostCurve | None  #: for two classes
    drift: Sequence[Window]
    mistakes: Sequence[Mistake]  #: the worst first

    @classmethod
    def of(cls, run: Run, costs: Costs, seed: int) -> Self:
        """Compute all figures and curves of a run."""
        predictions = run.predictions
        two = predictions.n_classes == 2
        return cls(
            run,
            summary(predictions, costs, seed=seed),
            {about: Curves.of(predictions, about) for about in ([1] if two else range(predictions.n_classes))},
            thin_costs(predictions, costs) if two else None,
            drift(predictions, costs),
            run.mistakes or tuple(Mistake(number, 0.0, ()) for number in worst(predictions)),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        run, names = self.run, self.run.predictions.names
        return {
            "model": run.model,
            "protocol": run.protocol,
            "seconds_learning": run.seconds_learning,
            "seconds_predicting": run.seconds_predicting,
            "peak_bytes": run.peak_bytes,
            "train_error": run.train_error,
            **self.summary.as_dict(),
            "curves": {run.predictions.classes[about]: curves for about, curves in self.curves.items()},
            "cost_curve": self.cost_curve,
            "drift": [window.as_dict() for window in self.drift],
            "mistakes": [
                {
                    "name": names[of.number],
                    **self.truth_and_probabilities(of),
                    "about": of.about,
                    "prior": of.prior,
                    "reasons": of.reasons,
                }
                for of in self.mistakes
            ],
            "weights": run.weights,
        }

    def words(self, of: Mistake) -> str:
        """Return a mistake in words."""
        predictions = self.run.predictions
        truth, likeliest = (
            predictions.classes[predictions.truth[of.number]],
            predictions.classes[predictions.likeliest[of.number]],
        )
        return f"is {truth}, was {exact_percent(float(predictions.probabilities[of.number].max()))} {likeliest}"

    def truth_and_probabilities(self, of: Mistake) -> dict[str, Any]:
        """Return the true class and the probability of each class."""
        predictions = self.run.predictions
        return {
            "truth": predictions.classes[predictions.truth[of.number]],
            "probabilities": dict(zip(predictions.classes, predictions.probabilities[of.number].tolist(), strict=True)),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Models judged on the same examples, their comparisons, and how far to trust the figures.

    `lines` come first and say whether the figures can be trusted. `page` and `text` show a report; `as_dict` returns it
    for programs.

    >>> from priory.lab.predictions import Predictions
    >>> truth, spamminess = ["ham", "ham", "spam", "spam"], [0.01, 0.3, 0.6, 0.999]
    >>> seen = Predictions.of(["ham", "spam"], truth, [[1 - p, p] for p in spamminess])
    >>> report = Report.of([Run("BernoulliNB", seen, "one look")], Costs(), title="Mail of 2024")
    >>> report.as_dict()["runs"][0]["confusion"]["counts"]
    [[2, 0, 0], [0, 1, 1]]
    """

    title: str
    lines: Sequence[str]
    costs: Costs
    runs: Sequence[JudgedRun]
    comparisons: Sequence[ModelComparison]
    disagreements: Sequence[Disagreements]
    learning_curves: Sequence[tuple[str, LearningCurve]]  #: with the names of the models

    @classmethod
    def of(  # noqa: PLR0913 - all but the first three have a default that fits
        cls,
        runs: Sequence[Run],
        costs: Costs,
        *,
        title: str,
        lines: Sequence[str] = (),
        comparisons: Sequence[ModelComparison] = (),
        learning_curves: Sequence[tuple[str, LearningCurve]] = (),
        seed: int = 0,
    ) -> Self:
        """Compute a report of runs; the first is compared with each other one.

        `comparisons` are shown in addition to these.
        """
        if not runs:
            raise LabError("a report needs at least one run: judge a model first")
        for one, other in pairwise(runs):
            if one.predictions.classes != other.predictions.classes:
                raise LabError(
                    f"{one.model} is about {', '.join(one.predictions.classes)} and {other.model} about "
                    f"{', '.join(other.predictions.classes)}: they need a report each"
                )
        return cls(
            title,
            tuple(lines),
            costs,
            tuple(JudgedRun.of(run, costs, seed) for run in runs),
            (*paired_tests(runs, costs), *comparisons),
            pairs(runs, costs),
            tuple(learning_curves),
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the examples."""
        return self.runs[0].run.predictions.classes

    @property
    def subtitle(self) -> str:
        """The models, the number of messages of each class, and the protocol."""
        first = self.runs[0]
        counts = ", ".join(f"{n:,} {name}" for name, n in first.summary.n_by_class.items())
        protocols = dict.fromkeys(run.run.protocol for run in self.runs)
        models = f"{len(self.runs)} models" if len(self.runs) > 1 else first.run.model
        return f"{models} · {len(first.run.predictions):,} messages: {counts} · {'; '.join(protocols)}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; unknown and infinite values are null."""
        values = {
            "title": self.title,
            "lines": list(self.lines),
            "classes": list(self.classes),
            "costs": self.costs,
            "runs": [run.as_dict() for run in self.runs],
            "comparisons": self.comparisons,
            "disagreements": self.disagreements,
            "learning_curves": [{"model": name, **curve.as_dict()} for name, curve in self.learning_curves],
        }
        return {name: plain(value) for name, value in values.items()}


def plain(value: Any) -> Any:
    """Return a value as dictionaries, lists, texts and numbers for JSON; unknown and infinite values are null.

    >>> plain({"model": "BernoulliNB", "errors": np.array([0.5, np.nan])})
    {'model': 'BernoulliNB', 'errors': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(of) for key, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(of) for of in value]
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return plain(value.tolist()) if isinstance(value, (np.ndarray, np.generic)) else _single(value)


def _single(value: Any) -> bool | int | float | str | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
