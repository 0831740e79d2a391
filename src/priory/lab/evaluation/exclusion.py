r"""Exclusion of features: what it costs to do without some.

Not everything that predicts may be used: should a loan be denied because of the applicant's religion, or because a
relative is in hospital? People decide which features to exclude; the cost can be measured. The same model learns the
same folds with and without the features, and the two runs are compared in pairs: the share of errors by McNemar's test,
the cost per example by the bootstrap.

Excluding a column does not remove what other columns say about it. A *proxy* measures how well it can still be
predicted from them: a model that "does not know" the sex of a person may know it nearly as well from occupation and
hours. For each excluded column there is a yes-no question: does it have its most frequent value? For numbers with many
values: is it above the median? The same kind of classifier answers from the remaining columns, by cross-validation. An
area under the ROC curve of 1/2 says that nothing of the column is left; near 1, that its exclusion changed little but
its name. Another classifier may find more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from priory.bayes.input import is_missing
from priory.decision import Costs
from priory.features import KINDS
from priory.html.numbers import percent
from priory.lab.error import LabError
from priory.lab.evaluation.cross_validation import Part, out_of_fold, splits
from priory.lab.measures import auc, confusion, cost_difference, mcnemar, rates
from priory.lab.measures.interval import Interval
from priory.lab.measures.paired_tests import Comparison
from priory.lab.predictions import Predictions
from priory.native.table import bits_of_names

Group = Iterable[Any] | str | int
MOST_PROXIES: Final = 16  #: proxies are not measured for more columns than these


N_FOLDS: Final = 5


FEW_VALUES: Final = 10  #: numbers with more distinct values are split at their median


@dataclass(frozen=True, slots=True)
class Proxy:
    """How well an excluded column can be predicted from the others."""

    column: str
    question: str
    n_examples: int  #: examples in which the column is not missing
    most_frequent: float  #: the accuracy of always giving the most frequent answer
    accuracy: Interval
    auc: Interval

    def __str__(self) -> str:
        return (
            f"the rest tells whether {self.column} {self.question}: AUC {self.auc.estimate:.3f} "
            f"({self.auc.low:.3f} to {self.auc.high:.3f}), {percent(self.accuracy.estimate, 2)} right "
            f"(one answer for all: {percent(self.most_frequent, 2)})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Exclusion:
    """The loss without some features: errors and costs with and without them, and proxies for them.

    In `errors` and `cost_lost` a positive difference is a loss by the exclusion, a negative one is a gain.
    """

    name: str
    errors: Comparison  #: share of errors: `one` without the features, `two` with them
    cost_lost: Interval | None  #: per example; None if no costs were given
    without: Predictions
    with_features: Predictions
    proxies: tuple[Proxy, ...] = ()  #: empty if not measured

    @classmethod
    def between(cls, name: str, without: Predictions, with_features: Predictions, costs: Costs | None) -> Self:
        """Compare two runs on the same examples, without and with the named features."""
        lost = None if costs is None else cost_difference(without, with_features, costs).difference
        return cls(name, mcnemar(without, with_features), lost, without, with_features)

    def __str__(self) -> str:
        errors, more, cost = self.errors, self.errors.difference.times(100), self.cost_lost
        first = f"without {self.name}: {percent(errors.one, 2)} errors instead of {percent(errors.two, 2)}"
        lost = f"{_signed_text(more, 2)} in 100, p = {errors.p_value:.2g}"
        lines = [f"{first}, {lost}", *(f"  {proxy}" for proxy in self.proxies)]
        if cost is not None:
            lines.insert(1, f"  cost per example {_signed_text(cost, 4)}")
        return "\n".join(lines)


def exclusion(  # noqa: PLR0913 - all but the first three have names
    model: Any, X: Any, y: ArrayLike, *, excluded: Group, costs: Costs | None = None, folds: Any = 5
) -> Exclusion:
    """Cross-validate a classifier with and without some columns, on the same folds.

    `excluded` are columns by name or number; `kind_columns` returns the columns of a kind of mail features. The labels
    of `costs` give the order of the classes. For `folds` see `out_of_fold`.

    >>> import pandas as pd
    >>> from priory.bayes import MixedNB
    >>> loans = pd.DataFrame({"debt_free": [1, 1, 1, 0, 0, 0] * 5, "hospital": [0, 0, 1, 1, 1, 0] * 5}).astype(bool)
    >>> paid = ["yes", "yes", "yes", "no", "no", "yes"] * 5
    >>> result = exclusion(MixedNB(), loans, paid, excluded=["hospital"])
    >>> result.errors.two, round(result.errors.one, 3)
    (0.0, 0.167)
    """
    return _Question.of(model, X, y, costs, folds).without(excluded)


def one_at_a_time(  # noqa: PLR0913 - as `exclusion`
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: Mapping[str, Group] | Iterable[Any],
    costs: Costs | None = None,
    folds: Any = 5,
) -> list[Exclusion]:
    """Exclude each group of columns by itself; return the results by their loss, the largest first.

    `groups` is a mapping from names to columns, or a list of columns. The loss is in cost if costs are given, and in
    errors otherwise. Columns with the same information lose nothing one by one: exclude both. Proxies are not measured.
    """
    question = _Question.of(model, X, y, costs, folds)
    named = groups.items() if isinstance(groups, Mapping) else ((str(column), [column]) for column in groups)
    results = [replace(question.without(columns, look=False), name=name) for name, columns in named]
    return sorted(results, key=_loss, reverse=True)


def kind_columns(kind: str, bits: int = 22) -> range:
    """Return the columns of a kind of mail features in the rows of `MailVectorizer(bits=bits)`.

    >>> kind_columns("pair", bits=10)
    range(32768, 65536)
    """
    if kind not in KINDS:
        raise LabError(f"there is no kind of features {kind!r}; there are {', '.join(KINDS)}")
    place, width = KINDS.index(kind), bits_of_names(bits)
    return range(place << width, (place + 1) << width)


def _signed_text(interval: Interval, digits: int) -> str:
    return f"{interval.estimate:+.{digits}f} ({interval.low:+.{digits}f} to {interval.high:+.{digits}f})"


def _loss(exclusion: Exclusion) -> float:
    return exclusion.errors.difference.estimate if exclusion.cost_lost is None else exclusion.cost_lost.estimate


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """The model, the examples and the folds, which stay the same for every exclusion."""

    model: Any
    X: Any
    y: NDArray[Any]
    costs: Costs | None
    order: tuple[Any, ...] | None  #: of the classes, where the costs name them
    folds: list[Part]
    complete: Predictions

    @classmethod
    def of(cls, model: Any, X: Any, y: ArrayLike, costs: Costs | None, folds: Any) -> Self:
        labels = np.asarray(y)
        if np.shape(X)[0] != len(labels):
            raise LabError(f"{np.shape(X)[0]} rows and {len(labels)} labels do not belong together")
        fixed = splits(X, labels, folds)
        order = None if costs is None else _order(labels, costs)
        complete = out_of_fold(model, X, labels, folds=fixed, classes=order)
        return cls(model, X, labels, costs, order, fixed, complete)

    def without(self, excluded: Group, *, look: bool = True) -> Exclusion:
        columns, names = _columns(self.X, excluded)
        remaining = _safe_indexing(self.X, np.setdiff1d(np.arange(np.shape(self.X)[1]), columns), axis=1)
        partly = out_of_fold(self.model, remaining, self.y, folds=self.folds, classes=self.order)
        name = ", ".join(names) if len(names) <= MOST_PROXIES else f"{len(names)} columns"
        result = Exclusion.between(name, partly, self.complete, self.costs)
        if not look or len(names) > MOST_PROXIES:
            return result
        column_proxies = proxies(self.model, self.X, remaining, dict(zip(columns.tolist(), names, strict=True)))
        return replace(result, proxies=column_proxies)


def _order(labels: NDArray[Any], costs: Costs) -> tuple[Any, ...]:
    """Return the labels in the order of the costs, which name them as text."""
    named = {str(label): label for label in np.unique(labels).tolist()}
    if set(named) != set(costs.labels):
        raise LabError(
            f"the labels are {', '.join(named)}, but the costs are about {', '.join(costs.labels)}: give costs for all "
            "labels and no others"
        )
    return tuple(named[label] for label in costs.labels)


def _columns(X: Any, group: Group) -> tuple[NDArray[np.int64], list[str]]:
    """Return the numbers and names of columns given by either."""
    n_columns, names = np.shape(X)[1], [str(name) for name in getattr(X, "columns", ())]
    if isinstance(group, range):
        numbers = np.arange(group.start, group.stop, group.step, dtype=np.int64)
    else:
        items = [group] if isinstance(group, str | int) else list(group)
        numbers = np.array([names.index(str(i)) if str(i) in names else _number(i, names) for i in items], np.int64)
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= n_columns or len(np.unique(numbers)) == n_columns:
        raise LabError(f"exclude at least one column of the {n_columns}, numbered from 0, but not all of them")
    numbers = np.unique(numbers)
    return numbers, [names[i] if names else f"x{i}" for i in numbers]


def _number(column: Any, names: list[str]) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        return int(column)
    raise LabError(f"there is no column {column!r}; there are {', '.join(names) or 'numbers only'}")


def proxies(model: Any, X: Any, remaining: Any, columns: Mapping[int, str]) -> tuple[Proxy, ...]:
    """Return how well each of these columns of X, by number, can be predicted from the columns `remaining`.

    A column whose rarer answer occurs less than five times is skipped.

    >>> import numpy as np
    >>> from priory.bayes import BernoulliNB
    >>> words = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1]] * 5)       # "God", "bless", "loan"
    >>> print(*proxies(BernoulliNB(), words, words[:, 1:], {0: "God"}))
    the rest tells whether God is 0: AUC 1.000 (0.692 to 1.000), 100.00 % right (one answer for all: 50.00 %)
    """
    candidates = (_proxy(model, _safe_indexing(X, number, axis=1), remaining, name) for number, name in columns.items())
    return tuple(proxy for proxy in candidates if proxy is not None)


def _proxy(model: Any, column: Any, remaining: Any, name: str) -> Proxy | None:
    values = _dense(column)
    known = np.flatnonzero([not is_missing(value) for value in values.tolist()])
    answers, question = _answers(values[known])
    if min(answers.sum(), (~answers).sum()) < N_FOLDS:
        return None
    predictions = out_of_fold(
        clone(model), _safe_indexing(remaining, known), np.where(answers, "yes", "no"), folds=N_FOLDS
    )
    share = float(answers.mean())
    right = rates(confusion(predictions)).accuracy
    return Proxy(name, question, len(known), max(share, 1 - share), right, auc(predictions))


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
