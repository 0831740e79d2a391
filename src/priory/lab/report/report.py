"""Everything a report shows about models that were judged, computed once, before it is shown as page, text or JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from priory.decision import Costs
from priory.lab.error import LabError
from priory.lab.learning_curve import LearningCurve
from priory.lab.measures import CostCurve, Summary, summary
from priory.lab.report.compared import Compared, Pair, paired_tests, pairs
from priory.lab.report.curves import Curves, thinned_costs
from priory.lab.report.drift import Window, drift
from priory.lab.report.numbers import percent
from priory.lab.report.plain import plain
from priory.lab.run import Mistake, Run, worst


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One run with all its figures; `curves` by the class that they are about."""

    run: Run
    summary: Summary
    curves: Mapping[int, Curves]
    cost_curve: CostCurve | None  #: for two classes
    drift: Sequence[Window]
    mistakes: Sequence[Mistake]  #: the worst first

    @classmethod
    def of(cls, run: Run, costs: Costs, seed: int) -> Self:
        """Compute all there is to say about a run."""
        said = run.predictions
        two = said.n_classes == 2
        return cls(
            run,
            summary(said, costs, seed=seed),
            {about: Curves.of(said, about) for about in ([1] if two else range(said.n_classes))},
            thinned_costs(said, costs) if two else None,
            drift(said, costs),
            run.mistakes or tuple(Mistake(number, 0.0, ()) for number in worst(said)),
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
                    **self.judged(of),
                    "about": of.about,
                    "prior": of.prior,
                    "reasons": of.reasons,
                }
                for of in self.mistakes
            ],
            "weights": run.weights,
        }

    def words(self, of: Mistake) -> str:
        """Return what was wrong, in words."""
        said = self.run.predictions
        truth, likeliest = said.classes[said.truth[of.number]], said.classes[said.likeliest[of.number]]
        return f"is {truth}, was {percent(float(said.probabilities[of.number].max()))} {likeliest}"

    def judged(self, of: Mistake) -> dict[str, Any]:
        """Return what was true and how probable each class was held to be."""
        said = self.run.predictions
        return {
            "truth": said.classes[said.truth[of.number]],
            "probabilities": dict(zip(said.classes, said.probabilities[of.number].tolist(), strict=True)),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Models judged on the same examples, what to believe of it, and how they compare.

    `lines` are for people and come first: whether the figures can be trusted, and why not. A report is shown by
    `page` and `text`; `as_dict` has the same for programs.

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
    runs: Sequence[Judged]
    comparisons: Sequence[Compared]
    disagreements: Sequence[Pair]
    learning_curves: Sequence[tuple[str, LearningCurve]]  #: with the names of the models

    @classmethod
    def of(  # noqa: PLR0913 - all but the first three have a default that fits
        cls,
        runs: Sequence[Run],
        costs: Costs,
        *,
        title: str,
        lines: Sequence[str] = (),
        comparisons: Sequence[Compared] = (),
        learning_curves: Sequence[tuple[str, LearningCurve]] = (),
        seed: int = 0,
    ) -> Self:
        """Compute a report of runs, the most interesting one first: it is compared with each other one.

        `comparisons` are shown besides these.
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
            tuple(Judged.of(run, costs, seed) for run in runs),
            (*paired_tests(runs, costs), *comparisons),
            pairs(runs, costs),
            tuple(learning_curves),
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """What the examples can be."""
        return self.runs[0].run.predictions.classes

    @property
    def subtitle(self) -> str:
        """Which models, how many messages of each class, and how the predictions came about."""
        first = self.runs[0]
        counts = ", ".join(f"{n:,} {name}" for name, n in first.summary.n_by_class.items())
        protocols = dict.fromkeys(judged.run.protocol for judged in self.runs)
        models = f"{len(self.runs)} models" if len(self.runs) > 1 else first.run.model
        return f"{models} · {len(first.run.predictions):,} messages: {counts} · {'; '.join(protocols)}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; what is not known, or has no end, is null."""
        found = {
            "title": self.title,
            "lines": list(self.lines),
            "classes": list(self.classes),
            "costs": self.costs,
            "runs": [judged.as_dict() for judged in self.runs],
            "comparisons": self.comparisons,
            "disagreements": self.disagreements,
            "learning_curves": [{"model": name, **curve.as_dict()} for name, curve in self.learning_curves],
        }
        return {name: plain(value) for name, value in found.items()}
