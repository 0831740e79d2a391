r"""What a classifier said, counted beside what is true: the confusion matrix, from which every share of errors comes.

A probability is knowledge, what is said needs costs besides (`priory.decision`): the label with the least expected cost
$\sum_i p_i c_{ji}$, or *unsure* where every label costs more. Without costs the most probable class is said.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priory.decision import UNSURE, Costs, decide
from priory.lab.design_effect import design_effect
from priory.lab.error import LabError
from priory.lab.interval import Interval, share
from priory.lab.measures.presence import require_examples
from priory.lab.predictions import Predictions

_NEARLY_EQUAL = 1e-12  # of the greatest cost: expected costs as close as this are settled one by one


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """How many examples of each class were said to be what.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "ham", "spam"], [[0.9, 0.1], [0.5, 0.5], [0.01, 0.99]])
    >>> found = confusion(seen, Costs())
    >>> found.said, found.counts.tolist()
    (('ham', 'spam', 'unsure'), [[1, 0, 1], [0, 1, 0]])
    >>> found.by_row.tolist()
    [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    """

    classes: tuple[str, ...]
    said: tuple[str, ...]  #: what the columns are about: the classes, and "unsure" where there were costs
    counts: NDArray[np.int64]  #: [true, said]
    cells: NDArray[np.int64] | None = None  #: of each example, where it is in the counts; None without groups
    groups: NDArray[np.int64] | None = None  #: examples that are alike have the same number

    @property
    def n_by_class(self) -> NDArray[np.int64]:
        """How many examples each class has."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def by_row(self) -> NDArray[np.float64]:
        """Shares of each class, [true, said]; NaN for a class without examples."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.counts / self.n_by_class[:, None])

    def share(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Interval:
        """Return the share that some cells [true, said] have in others, with its exact interval."""
        k, n, effect = int(self.counts[part].sum()), int(self.counts[whole].sum()), 1.0
        if self.cells is not None and self.groups is not None:
            among = whole.ravel()[self.cells]
            effect = design_effect(part.ravel()[self.cells[among]], self.groups[among])
        return share(k, n, design_effect=effect)

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {"classes": list(self.classes), "said": list(self.said), "counts": self.counts.tolist()}


def said(predictions: Predictions, costs: Costs | None) -> NDArray[np.int64]:
    """Return what `decide` says about each example, as an index into `(*classes, "unsure")`.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.1, 0.9], [0.1, 0.9]])
    >>> said(seen, None).tolist(), said(seen, Costs(unsure=1000)).tolist()    # most likely spam; ham is the cheapest
    ([1, 1], [0, 0])
    """
    if costs is None:
        return predictions.likeliest
    require_costs(predictions, costs)
    probabilities = predictions.probabilities
    expected = np.column_stack(np.broadcast_arrays(*costs.expected(list(probabilities.T)).values()))
    chosen = np.asarray(np.roll(expected, 1, axis=1).argmin(axis=1) - 1, np.int64) % expected.shape[1]
    cheapest, next_cheapest = np.partition(expected, 1, axis=1)[:, :2].T
    answers = (*costs.labels, UNSURE)
    for i in np.flatnonzero(next_cheapest - cheapest <= _NEARLY_EQUAL * np.abs(costs.matrix).max()):
        chosen[i] = answers.index(decide(probabilities[i].tolist(), costs))
    return np.asarray(chosen)


def require_costs(predictions: Predictions, costs: Costs) -> None:
    """Refuse costs that are about other labels."""
    if costs.labels != predictions.classes:
        raise LabError(
            f"the costs are about {', '.join(costs.labels)}, the predictions about {', '.join(predictions.classes)}: "
            "give costs for these classes, in this order"
        )


def confusion(predictions: Predictions, costs: Costs | None = None) -> Confusion:
    """Count what was said about the examples of each class; a column for *unsure* comes with the costs.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.9, 0.1], [0.6, 0.4]])
    >>> confusion(seen).counts.tolist()
    [[1, 0], [1, 0]]
    """
    return counted(predictions, said(predictions, costs), costs)


def counted(predictions: Predictions, chosen: NDArray[np.int64], costs: Costs | None = None) -> Confusion:
    """Count what was said where it is known, as indices into the classes and, where there were costs, *unsure*."""
    require_examples(predictions)
    answers = predictions.classes if costs is None else (*predictions.classes, UNSURE)
    cells = predictions.truth * len(answers) + chosen
    counts = np.bincount(cells, minlength=predictions.n_classes * len(answers)).reshape(-1, len(answers))
    kept = None if predictions.groups is None else cells
    return Confusion(predictions.classes, answers, counts.astype(np.int64), kept, predictions.groups)
