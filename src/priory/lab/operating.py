"""What costs would have done: the operating point, on mail of which it is known what it is.

Probabilities stay what they are; costs only say from where on which label is worth saying. So all that is slow, the
curves and what is below each threshold, is computed once for the examples, and each other costs are a matter of
milliseconds.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from priory.decision import UNSURE, Costs, thresholds
from priory.lab.error import LabError
from priory.lab.interval import Interval
from priory.lab.measures import Confusion, Curve, Rates, precision_recall, rates, roc, said
from priory.lab.measures.costs import Below, CostCurve, cost_of, priced
from priory.lab.measures.decisions import counted
from priory.lab.measures.presence import require_both
from priory.lab.predictions import Predictions
from priory.lab.report.curves import thinned, thinned_curve

_PIXELS: Final = 200  # of the longer side of a small plot


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """Examples, and of two classes the curves that no cost changes."""

    predictions: Predictions
    roc: Curve | None
    precision_recall: Curve | None
    below: Below | None

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """Compute what does not depend on costs. Raises LabError where a class has no examples."""
        for about in range(predictions.n_classes):
            require_both(predictions, about)
        if predictions.n_classes != 2:
            return cls(predictions, None, None, None)
        shown = (
            thinned(roc(predictions), pixels=_PIXELS),
            thinned(precision_recall(predictions), n_decades=0, pixels=_PIXELS),
        )
        return cls(predictions, *shown, Below.of(predictions))

    def at(self, costs: Costs) -> "Operating":
        """Return what costs would have done."""
        chosen = said(self.predictions, costs)
        table = counted(self.predictions, chosen, costs)
        about = {name: rates(table, i) for i, name in enumerate(table.classes)}
        curve = None if self.below is None else thinned_curve(priced(self.below, costs), _PIXELS)
        return Operating(costs, chosen, table, about, cost_of(table, costs), curve)


@dataclass(frozen=True, slots=True, eq=False)
class Operating:
    """What is said of examples under some costs, and how often that is wrong."""

    costs: Costs
    said: NDArray[np.int64]  #: of each example, as an index into the labels, and *unsure* after them
    confusion: Confusion
    rates: dict[str, Rates]  #: about each label against the rest
    cost: Interval  #: of an average example
    curve: CostCurve | None  #: of all thresholds without *unsure*; None with more than two labels

    @property
    def places(self) -> dict[str, Rates]:
        """Where it stands on the curves of two labels: what the second is said of, and what the first is not said of.

        The one is beyond the threshold of the second, the other also beyond that of *unsure*.
        """
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
        """What this comes to in a sentence.

        >>> seen = Predictions.of(["ham", "spam"], ["ham"] * 8 + ["spam"] * 8, [[0.9, 0.1]] * 9 + [[0.01, 0.99]] * 7)
        >>> Ground.of(seen).at(Costs()).words
        'Says unsure from probability 0.4, spam from 0.96: of 1,000 ham, none are called spam; of 1,000 spam, \
125 are called ham; nothing is unsure.'
        """
        of_each = "; ".join(self._mistakes(i) for i in range(len(self.confusion.classes)))
        unsure = self.rates[self.confusion.classes[0]].unsure.estimate
        share = f"{_rounded(100 * unsure)} % are {UNSURE}" if unsure else f"nothing is {UNSURE}"
        sentence = f"{of_each}; {share}."
        begins = thresholds(self.costs)
        if not begins:
            return sentence[0].upper() + sentence[1:]
        at = ", ".join(f"{said} from{' probability' * (not i)} {p:.4g}" for i, (said, p) in enumerate(begins.items()))
        return f"Says {at}: {sentence}"

    def _mistakes(self, true: int) -> str:
        classes = self.confusion.classes
        shares = self.confusion.by_row[true]
        others = [j for j in range(len(classes)) if j != true]
        named = [j for j in others if shares[j] or len(others) == 1]
        wrong = [f"{_per_thousand(shares[j])} called {classes[j]}" for j in named] or ["none are called anything else"]
        return f"of 1,000 {classes[true]}, {', '.join(wrong)}"


def changed(before: Operating, after: Operating) -> NDArray[np.intp]:
    """Return the examples of which something else is said."""
    if len(before.said) != len(after.said):
        raise LabError("these are not the same examples: compare what different costs say of the same")
    return np.flatnonzero(before.said != after.said)


def _per_thousand(share: float) -> str:
    return f"{_rounded(1000 * share)} are" if share else "none are"


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
