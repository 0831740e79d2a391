r"""Which features may be used, and what it costs to do without the others.

Not everything that predicts may be used: should a loan be denied because of the applicant's religion, or because a
relative is in hospital? To leave features out is a decision of people; what it costs can be measured. The same model
learns the same folds with the features and without, so that the two runs can be compared pair by pair: the share of
errors by McNemar's test, the cost per example by the bootstrap.

Leaving a column out does not remove what other columns say about it. How well it can still be told from them is
measured, too (`priory.lab.proxies`): a model that "does not know" the sex of a person may know it nearly as well from
occupation and hours.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from priory.decision import Costs
from priory.features import KINDS
from priory.lab.error import LabError
from priory.lab.interval import Interval, percent
from priory.lab.judging import Part
from priory.lab.measures import cost_difference, mcnemar
from priory.lab.measures.paired import Comparison
from priory.lab.out_of_fold import out_of_fold, splits
from priory.lab.predictions import Predictions
from priory.lab.proxies import Proxy, proxies

Group = Iterable[Any] | str | int
MOST_PROXIES: Final = 16  #: for more columns than these it is not measured how well each can be told from the rest


@dataclass(frozen=True, slots=True, eq=False)
class Exclusion:
    """What is lost without some features: errors and costs with and without them, and what gives them away.

    In `errors` and `cost_lost` a positive difference is what leaving out costs; a negative one is a gain.
    """

    name: str
    errors: Comparison  #: share of errors: `one` without the features, `two` with them
    cost_lost: Interval | None  #: per example; None if no costs were given
    without: Predictions
    with_features: Predictions
    proxies: tuple[Proxy, ...] = ()  #: empty where not looked at

    @classmethod
    def between(cls, name: str, without: Predictions, with_features: Predictions, costs: Costs | None) -> Self:
        """Compare two runs over the same examples: without what is named, and with it."""
        lost = None if costs is None else cost_difference(without, with_features, costs).difference
        return cls(name, mcnemar(without, with_features), lost, without, with_features)

    def __str__(self) -> str:
        found, more, cost = self.errors, self.errors.difference.times(100), self.cost_lost
        first = f"without {self.name}: {percent(found.one)} errors instead of {percent(found.two)}"
        lost = f"{_signed(more, 2)} in 100, p = {found.p_value:.2g}"
        lines = [f"{first}, {lost}", *(f"  {proxy}" for proxy in self.proxies)]
        if cost is not None:
            lines.insert(1, f"  cost per example {_signed(cost, 4)}")
        return "\n".join(lines)


def exclusion(  # noqa: PLR0913 - what is left out, and of what
    model: Any, X: Any, y: ArrayLike, *, excluded: Group, costs: Costs | None = None, folds: Any = 5
) -> Exclusion:
    """Cross-validate a classifier with and without some columns, on the same folds.

    `excluded`: columns by name or number; `kind_columns` has those of a kind of mail features. `costs`: of decisions;
    their labels give the order of the classes. `folds`: see `out_of_fold`.

    >>> import pandas as pd
    >>> from priory.bayes import MixedNB
    >>> loans = pd.DataFrame({"debt_free": [1, 1, 1, 0, 0, 0] * 5, "hospital": [0, 0, 1, 1, 1, 0] * 5}).astype(bool)
    >>> paid = ["yes", "yes", "yes", "no", "no", "yes"] * 5
    >>> found = exclusion(MixedNB(), loans, paid, excluded=["hospital"])
    >>> found.errors.two, round(found.errors.one, 3)
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
    """Leave out each group of columns by itself; return what each is worth, the dearest first.

    `groups` is a mapping from names to columns, or a list of columns. Worth is cost where costs are given, and errors
    otherwise. Of columns that say the same, each by itself is worth nothing: leave out both. Proxies are not looked at.
    """
    question = _Question.of(model, X, y, costs, folds)
    named = groups.items() if isinstance(groups, Mapping) else ((str(column), [column]) for column in groups)
    found = [replace(question.without(columns, look=False), name=name) for name, columns in named]
    return sorted(found, key=_worth, reverse=True)


def kind_columns(kind: str, bits: int = 22) -> range:
    """Return the columns of a kind of mail features in the rows of `MailVectorizer(bits=bits)`.

    >>> kind_columns("pair", bits=10)
    range(1024, 2048)
    """
    if kind not in KINDS:
        raise LabError(f"there is no kind of features {kind!r}; there are {', '.join(KINDS)}")
    place = KINDS.index(kind)
    return range(place << bits, (place + 1) << bits)


def _signed(found: Interval, digits: int) -> str:
    return f"{found.estimate:+.{digits}f} ({found.low:+.{digits}f} to {found.high:+.{digits}f})"


def _worth(found: Exclusion) -> float:
    return found.errors.difference.estimate if found.cost_lost is None else found.cost_lost.estimate


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """Everything that stays the same, whatever is left out."""

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
        kept = _safe_indexing(self.X, np.setdiff1d(np.arange(np.shape(self.X)[1]), columns), axis=1)
        partly = out_of_fold(self.model, kept, self.y, folds=self.folds, classes=self.order)
        name = ", ".join(names) if len(names) <= MOST_PROXIES else f"{len(names)} columns"
        found = Exclusion.between(name, partly, self.complete, self.costs)
        if not look or len(names) > MOST_PROXIES:
            return found
        given_away = proxies(self.model, self.X, kept, dict(zip(columns.tolist(), names, strict=True)))
        return replace(found, proxies=given_away)


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
    """Return the numbers and names of columns that are given by either."""
    n_columns, names = np.shape(X)[1], [str(name) for name in getattr(X, "columns", ())]
    if isinstance(group, range):
        numbers = np.arange(group.start, group.stop, group.step, dtype=np.int64)
    else:
        items = [group] if isinstance(group, str | int) else list(group)
        numbers = np.array([names.index(str(i)) if str(i) in names else _number(i, names) for i in items], np.int64)
    if not len(numbers) or numbers.min() < 0 or numbers.max() >= n_columns or len(np.unique(numbers)) == n_columns:
        raise LabError(f"leave out one column or more of the {n_columns}, numbered from 0, but not all of them")
    numbers = np.unique(numbers)
    return numbers, [names[i] if names else f"x{i}" for i in numbers]


def _number(column: Any, names: list[str]) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        return int(column)
    raise LabError(f"there is no column {column!r}; there are {', '.join(names) or 'numbers only'}")
