r"""What gives a column away that was left out: how well it can be told from the columns that stay.

For each column a yes-no question is asked: is it the most frequent value? For numbers of many values: is it above the
median? The same kind of classifier answers from the columns that stay, by cross-validation. An area under the ROC curve
of 1/2 says that nothing of the column is left; near 1, that leaving it out changed little but its name. It is what
*this* classifier finds: another may find more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.bayes.frames import is_missing
from priory.lab.interval import Interval, percent
from priory.lab.measures import auc, confusion, rates
from priory.lab.out_of_fold import out_of_fold

N_FOLDS: Final = 5
FEW_VALUES: Final = 10  #: numbers with more values than these are asked about their median


@dataclass(frozen=True, slots=True)
class Proxy:
    """How well one column that was left out can be told from the others."""

    column: str
    question: str
    n_examples: int  #: those in which the column is not missing
    most_frequent: float  #: the share of right answers without looking at anything
    accuracy: Interval
    auc: Interval

    def __str__(self) -> str:
        return (
            f"the rest tells whether {self.column} {self.question}: AUC {self.auc.estimate:.3f} "
            f"({self.auc.low:.3f} to {self.auc.high:.3f}), {percent(self.accuracy.estimate)} right "
            f"(one answer for all: {percent(self.most_frequent)})"
        )


def proxies(model: Any, X: Any, kept: Any, columns: Mapping[int, str]) -> tuple[Proxy, ...]:
    """Return how well each of these columns of X, by number, can be told from the columns that are kept.

    A column whose rarer answer occurs less than five times is left out: there is nothing to tell.

    >>> import numpy as np
    >>> from priory.bayes import BernoulliNB
    >>> words = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]] * 5)       # "God", "bless", "loan"
    >>> print(*proxies(BernoulliNB(), words, words[:, 1:], {0: "God"}))
    the rest tells whether God is 0: AUC 1.000 (0.692 to 1.000), 100.00 % right (one answer for all: 50.00 %)
    """
    found = (_proxy(model, _safe_indexing(X, number, axis=1), kept, name) for number, name in columns.items())
    return tuple(proxy for proxy in found if proxy is not None)


def _proxy(model: Any, column: Any, kept: Any, name: str) -> Proxy | None:
    values = _dense(column)
    known = np.flatnonzero([not is_missing(value) for value in values.tolist()])
    answers, question = _answers(values[known])
    if min(answers.sum(), (~answers).sum()) < N_FOLDS:
        return None
    said = out_of_fold(clone(model), _safe_indexing(kept, known), np.where(answers, "yes", "no"), folds=N_FOLDS)
    share = float(answers.mean())
    right = rates(confusion(said)).accuracy
    return Proxy(name, question, len(known), max(share, 1 - share), right, auc(said))


def _dense(column: Any) -> NDArray[Any]:
    return np.asarray(column.toarray() if issparse(column) else column).ravel()


def _answers(values: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    different, times = np.unique(values.astype(str), return_counts=True)
    numeric = all(isinstance(value, int | float) for value in values.tolist())
    if numeric and len(different) > FEW_VALUES:
        middle = float(np.median(values.astype(np.float64)))
        return np.asarray(values.astype(np.float64) > middle), f"is above {middle:g}"
    if not len(different):
        return np.zeros(0, bool), ""
    first = str(different[times.argmax()])
    return np.asarray(values.astype(str) == first), f"is {first}"
