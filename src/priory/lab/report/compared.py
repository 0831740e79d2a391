"""Whether the first model of a report is better than each other one, on the same examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from priory.decision import Costs
from priory.lab.measures import Comparison, Disagreement, cost_difference, delong, disagreements, mcnemar
from priory.lab.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two models, what was compared, and what came out; `difference` is the first less the second."""

    one: str
    two: str
    figure: str
    found: Comparison

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"models": [self.one, self.two], "figure": self.figure, **self.found.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two models and the messages about which they say different things, the greatest differences first."""

    one: str
    two: str
    found: Sequence[Disagreement]


def same_examples(one: Run, two: Run) -> bool:
    """Return whether two runs are about the same examples, in the same order."""
    return one.predictions.names == two.predictions.names and bool(
        (one.predictions.truth == two.predictions.truth).all()
    )


def paired_tests(runs: Sequence[Run], costs: Costs) -> list[Compared]:
    """Compare the first run with each other one: errors by McNemar's test, costs by bootstrap, areas by DeLong's."""
    first, *others = runs
    made = []
    for other in others:
        if same_examples(first, other):
            pair = first.predictions, other.predictions
            made.append(Compared(first.model, other.model, "errors", mcnemar(*pair)))
            made.append(Compared(first.model, other.model, "cost", cost_difference(*pair, costs)))
            if first.predictions.n_classes == 2:
                made.append(Compared(first.model, other.model, "AUC", delong(*pair)))
    return made


def pairs(runs: Sequence[Run], costs: Costs) -> list[Pair]:
    """Return what the first run and each other one disagree about, at these costs."""
    first, *others = runs
    return [
        Pair(first.model, other.model, disagreements(first.predictions, other.predictions, costs))
        for other in others
        if same_examples(first, other)
    ]
