r"""The confusion matrix, and the rates of errors that follow from it, each with its exact interval.

A decision needs costs (`priory.decision`): it is the label with the least expected cost $\sum_i p_i c_{ji}$, or
*unsure* if every label costs more. Without costs it is the most probable class.

With the class in question as *positive*, TP, FP and FN count the examples that are rightly decided to be it, wrongly
decided to be it, and wrongly decided to be another class:

$$ \text{FPR} = \frac{FP}{\text{negatives}},\quad \text{FNR} = \frac{FN}{\text{positives}},\quad
   \text{precision} = \frac{TP}{TP + FP},\quad \text{recall} = \frac{TP}{\text{positives}},\quad
   \text{Jaccard} = \frac{TP}{TP + FP + FN} $$

*Unsure* is neither found nor missed: it counts among the positives (so recall and Jaccard fall), but not as FN. Each
rate is a share of `k` in `n` with the interval of Clopper and Pearson; with groups of near-copies both are divided by
the design effect.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priory.decision import UNSURE, Costs, decide
from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import Interval, share
from priory.lab.predictions import Predictions, require_both_counted, require_examples

_NEARLY_EQUAL = 1e-12  # times the largest cost: if expected costs are this close, `decide` breaks the tie


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """The number of examples by true class and decision.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "ham", "spam"], [[0.9, 0.1], [0.5, 0.5], [0.01, 0.99]])
    >>> matrix = confusion(seen, Costs())
    >>> matrix.said, matrix.counts.tolist()
    (('ham', 'spam', 'unsure'), [[1, 0, 1], [0, 1, 0]])
    >>> matrix.by_row.tolist()
    [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    """

    classes: tuple[str, ...]
    said: tuple[str, ...]  #: the columns: the classes, and "unsure" if there were costs
    counts: NDArray[np.int64]  #: [true, said]
    cells: NDArray[np.int64] | None = None  #: the cell of each example in the counts; None without groups
    groups: NDArray[np.int64] | None = None  #: near-copies have the same number

    @property
    def n_by_class(self) -> NDArray[np.int64]:
        """The number of examples of each class."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def by_row(self) -> NDArray[np.float64]:
        """Shares within each true class, [true, said]; NaN for a class without examples."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.n_by_class[:, None])

    def share(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Interval:
        """Return the share of some cells [true, said] in others, with its exact interval."""
        k, n, effect = int(self.counts[part].sum()), int(self.counts[whole].sum()), 1.0
        if self.cells is not None and self.groups is not None:
            among = whole.ravel()[self.cells]
            effect = design_effect(part.ravel()[self.cells[among]], self.groups[among])
        return share(k, n, design_effect=effect)

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"classes": list(self.classes), "said": list(self.said), "counts": self.counts.tolist()}


def said(predictions: Predictions, costs: Costs | None) -> NDArray[np.int64]:
    """Return the decision about each example as an index into `(*classes, "unsure")`.

    With costs it is the model's own decision if that is known, otherwise the cheapest, as `decide` makes it.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.1, 0.9], [0.1, 0.9]])
    >>> said(seen, None).tolist(), said(seen, Costs(unsure=1000)).tolist()    # most likely spam; ham is the cheapest
    ([1, 1], [0, 0])
    """
    if costs is None:
        return predictions.likeliest
    require_costs(predictions, costs)
    if predictions.decisions is not None:
        return predictions.decisions
    probabilities = predictions.probabilities
    expected = np.column_stack(np.broadcast_arrays(*costs.expected(list(probabilities.T)).values()))
    chosen = np.asarray(np.roll(expected, 1, axis=1).argmin(axis=1) - 1, np.int64) % expected.shape[1]
    cheapest, next_cheapest = np.partition(expected, 1, axis=1)[:, :2].T
    answers = (*costs.labels, UNSURE)
    for i in np.flatnonzero(next_cheapest - cheapest <= _NEARLY_EQUAL * np.abs(costs.matrix).max()):
        chosen[i] = answers.index(decide(probabilities[i].tolist(), costs))
    return np.asarray(chosen)


def require_costs(predictions: Predictions, costs: Costs) -> None:
    """Raise `LabError` if the costs are about other labels."""
    if costs.labels != predictions.classes:
        raise LabError(
            f"the costs are about {', '.join(costs.labels)}, the predictions about {', '.join(predictions.classes)}: "
            "give costs for these classes, in this order"
        )


def confusion(predictions: Predictions, costs: Costs | None = None) -> Confusion:
    """Return the confusion matrix; with costs it has a column for *unsure*.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.9, 0.1], [0.6, 0.4]])
    >>> confusion(seen).counts.tolist()
    [[1, 0], [1, 0]]
    """
    return count_decisions(predictions, said(predictions, costs), costs)


def count_decisions(predictions: Predictions, chosen: NDArray[np.int64], costs: Costs | None = None) -> Confusion:
    """Return the confusion matrix of decisions, given as indices into the classes, followed by *unsure* with costs."""
    require_examples(predictions)
    answers = predictions.classes if costs is None else (*predictions.classes, UNSURE)
    cells = predictions.truth * len(answers) + chosen
    counts = np.bincount(cells, minlength=predictions.n_classes * len(answers)).reshape(-1, len(answers))
    cells_if_grouped = None if predictions.groups is None else cells
    return Confusion(predictions.classes, answers, counts.astype(np.int64), cells_if_grouped, predictions.groups)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of one class against the rest; NaN if there are no examples to take a share of.

    `accuracy` and `unsure` are about all classes.
    """

    false_positive_rate: Interval
    false_negative_rate: Interval
    precision: Interval
    recall: Interval
    jaccard: Interval
    accuracy: Interval
    unsure: Interval


def rates(confusion: Confusion, about: int = 1) -> Rates:
    """Return the rates of errors about one class.

    >>> table = Confusion(("ham", "spam"), ("ham", "spam"), np.array([[90, 10], [5, 95]]))
    >>> print(rates(table).false_positive_rate)
    0.1000 (0.0490 to 0.1762)
    >>> rates(table).jaccard.estimate == 95 / (95 + 10 + 5)
    True
    """
    require_both_counted(confusion.classes, confusion.n_by_class.tolist(), about)
    counts, n_classes = confusion.counts, len(confusion.classes)
    row, column = np.indices(counts.shape)
    positive, predicted, unsure = row == about, column == about, np.asarray(column >= n_classes)
    true_positive, everything, share = positive & predicted, np.ones_like(positive), confusion.share
    return Rates(
        false_positive_rate=share(predicted & ~positive, ~positive),
        false_negative_rate=share(positive & ~predicted & ~unsure, positive),
        precision=share(true_positive, predicted),
        recall=share(true_positive, positive),
        jaccard=share(true_positive, positive | predicted),
        accuracy=share(row == column, everything),
        unsure=share(unsure, everything),
    )
