"""Operating points: the decisions that costs lead to, on mail with known labels.

Costs do not change probabilities, only the thresholds of decisions. So the slow part, the curves and the counts below
each threshold, is computed once, and each set of costs takes milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import UNSURE, Costs, thresholds
from priory.lab.error import LabError
from priory.lab.measures import Confusion, Curve, Rates, precision_recall, rates, roc, said
from priory.lab.measures.confusion_matrix import count_decisions
from priory.lab.measures.costs import CostCurve, CountsBelow, cost_of, price_thresholds, thin_cost_curve
from priory.lab.measures.interval import Interval
from priory.lab.measures.ranking import thin_curve
from priory.lab.predictions import Predictions, require_both

_PIXELS: Final = 200  # of the longer side of a small plot


@dataclass(frozen=True, slots=True, eq=False)
class OperatingCurves:
    """Predictions, and for two classes the curves that do not depend on costs."""

    predictions: Predictions
    roc: Curve | None
    precision_recall: Curve | None
    below: CountsBelow | None

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """Compute what does not depend on costs. Raises `LabError` if a class has no examples."""
        for about in range(predictions.n_classes):
            require_both(predictions, about)
        if predictions.n_classes != 2:
            return cls(predictions, None, None, None)
        curves = (
            thin_curve(roc(predictions), pixels=_PIXELS),
            thin_curve(precision_recall(predictions), n_decades=0, pixels=_PIXELS),
        )
        return cls(predictions, *curves, CountsBelow.of(predictions))

    def at(self, costs: Costs) -> "OperatingPoint":
        """Return the operating point for these costs."""
        chosen = said(self.predictions, costs)
        table = count_decisions(self.predictions, chosen, costs)
        about = {name: rates(table, i) for i, name in enumerate(table.classes)}
        curve = None if self.below is None else thin_cost_curve(price_thresholds(self.below, costs), _PIXELS)
        return OperatingPoint(costs, chosen, table, about, cost_of(table, costs), curve)


@dataclass(frozen=True, slots=True, eq=False)
class OperatingPoint:
    """The decisions about examples under some costs, and how often they are wrong."""

    costs: Costs
    said: NDArray[np.int64]  #: the decision about each example, as an index into the labels followed by *unsure*
    confusion: Confusion
    rates: dict[str, Rates]  #: of each label against the rest
    cost: Interval  #: per example
    curve: CostCurve | None  #: for all thresholds, without *unsure*; None with more than two labels

    @property
    def places(self) -> dict[str, Rates]:
        """Its points on the curves of two labels: beyond the threshold of the second, and beyond that of *unsure*."""
        classes = self.confusion.classes
        if len(classes) != 2:
            return {}
        counts = self.confusion.counts
        not_first = np.column_stack([counts[:, 0], counts[:, 1:].sum(axis=1)])
        return {
            classes[1]: rates(self.confusion),
            UNSURE: rates(Confusion(classes, classes, not_first)),
        }

    @property
    def words(self) -> str:
        """The thresholds and the mistakes in one sentence.

        >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 8 + ["spam"] * 8, [[0.9, 0.1]] * 9 + [[0.01, 0.99]] * 7)
        >>> OperatingCurves.of(seen).at(Costs()).words
        'The filter says unsure from a probability of 0.4, spam from 0.96: of 1,000 ham, none are called spam; \
of 1,000 spam, 125 are called ham; nothing is unsure.'
        """
        of_each = "; ".join(self._mistakes(i) for i in range(len(self.confusion.classes)))
        unsure = self.rates[self.confusion.classes[0]].unsure.estimate
        share = f"{_round(100 * unsure)} % are {UNSURE}" if unsure else f"nothing is {UNSURE}"
        sentence = f"{of_each}; {share}."
        at = thresholds_in_words(thresholds(self.costs))
        return f"The filter says {at}: {sentence}" if at else sentence[0].upper() + sentence[1:]

    def _mistakes(self, true: int) -> str:
        classes = self.confusion.classes
        shares = self.confusion.by_row[true]
        others = [j for j in range(len(classes)) if j != true]
        named = [j for j in others if shares[j] or len(others) == 1]
        wrong = [f"{_per_thousand(shares[j])} called {classes[j]}" for j in named] or ["none are called anything else"]
        return f"of 1,000 {classes[true]}, {', '.join(wrong)}"


def thresholds_in_words(begins: Mapping[str, float]) -> str:
    """Return from which probability on each verdict is given, in words; empty if there are no thresholds.

    >>> thresholds_in_words({"unsure": 0.4, "spam": 0.96})
    'unsure from a probability of 0.4, spam from 0.96'
    """
    return ", ".join(
        f"{verdict} from {'' if i else 'a probability of '}{p:.4g}" for i, (verdict, p) in enumerate(begins.items())
    )


def changed_examples(before: OperatingPoint, after: OperatingPoint) -> NDArray[np.intp]:
    """Return the examples about which the decision differs."""
    if len(before.said) != len(after.said):
        raise LabError("the two operating points have different examples: compare different costs on the same examples")
    return np.flatnonzero(before.said != after.said)


def _per_thousand(share: float) -> str:
    return f"{_round(1000 * share)} are" if share else "none are"


def _round(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
