"""Naive Bayes made less naive: each column depends on the class and on up to k columns before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priory.bayes.coding import MISSING, Codes, Coding, draw_codes
from priory.bayes.dependence import PairCounts, class_information
from priory.bayes.estimator import categorical_tags, check_alpha, check_not_negative
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import Columns, read_columns
from priory.bayes.prior import Prior
from priory.bayes.sparse_counts import Combinations, DistinctRows, WeightedLabels
from priory.bayes.tables import Floats, Labels, add_cells_to

MOST_PARENTS: Final = 60  # the known parents of a row are a bit mask in an int64


class KDependenceNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for categorical columns; each depends on the class and on up to k earlier columns.

    $$ \log p(x, c) = \log p(c) + \sum_j
       \log \frac{n_c(x_j, x_{\pi(j)}) + \alpha}{n_c(x_{\pi(j)}) + m_j\alpha} $$

    By default the columns are ordered by their information about the class, $I(x_j; c)$, and the parents $\pi(j)$ are
    those $k$ earlier columns that tell most about $x_j$ within the class, $I(x_j; x_i \mid c)$; of equals the column
    with the lower number comes first. If an order is given, the parents are the $k$ columns directly before: $p(c)\,
    p(x_1 \mid c)\, p(x_2 \mid x_1, c)\, p(x_3 \mid x_1, x_2, c)\, p(x_4 \mid x_2, x_3, c) \cdots$ for $k = 2$. With $k
    = 0$ it is naive Bayes. The more rows there are, the larger k may be: try 1, 2 and 3 by cross-validation.

    The structure depends on all rows, so all distinct rows are kept with their weights (200 bytes for 20 columns, and 8
    for each class). Learning costs the same however much was learned, and tables are counted when they are needed. Only
    combinations that occur take memory.

    Columns hold strings, codes, or any numbers that repeat. Values never seen are treated like known ones that were not
    seen here; under a combination of parents' values never seen, all values are equally probable. Missing values (NaN,
    None): if the column itself is missing, its term is 0, which is exact if no known column depends on it; if a parent
    is missing, the counts are summed over it, which is an approximation (`TreeAugmentedNB` is exact).

    Parameters: `k`; `order`, "mutual information", or the numbers of all columns; `min_information`, in nats: a column
    that tells no more than this does not become a parent; `alpha`, the pseudo-count (0 is maximum likelihood); `prior`,
    "fitted", "smoothed", "uniform", or probabilities.

    Attributes: `classes_`, `class_count_`, `categories_`; `order_`, the columns in order; `parents_`, for each column a
    tuple of its parents, the strongest (or nearest) first.

    >>> mail = [["html", "offer", "night"], ["html", "offer", "noon"], ["text", "lunch", "noon"]]
    >>> mail += [["html", "lunch", "dawn"]]
    >>> model = KDependenceNB(k=1).fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.order_.tolist(), model.parents_
    ([1, 2, 0], [(2,), (), ()])
    >>> model.predict([["html", "offer", None], ["text", "lunch", "night"]]).tolist()
    ['spam', 'ham']

    M. Sahami: Learning limited dependence Bayesian classifiers. KDD 1996, 335-338.
    """

    rows_: DistinctRows

    def __init__(
        self,
        *,
        k: int = 2,
        order: str | Sequence[int] = "mutual information",
        min_information: float = 0.0,
        alpha: float = 1.0,
        prior: Prior = "fitted",
    ) -> None:
        self.k = k
        self.order = order
        self.min_information = min_information
        self.alpha = alpha
        self.prior = prior

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The known values of each column."""
        return list(self.rows_.coding.categories)

    @property
    def order_(self) -> NDArray[np.int64]:
        """The columns, parents before children."""
        return self._network().order.copy()

    @property
    def parents_(self) -> list[tuple[int, ...]]:
        """The parents of each column."""
        return list(self._network().parents)

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        _check_k(self.k)
        check_not_negative("min_information", self.min_information)
        columns = read_columns(self, X, reset=reset)
        _check_order(self.order, len(columns))
        return columns

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.rows_ = DistinctRows.empty(Coding.from_parameter(None, len(rows)), n_classes)

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        self.rows_ = self.rows_.update(rows, labels, weights)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.rows_ = self.rows_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.rows_ = self.rows_.plus(other.rows_)

    def _network(self) -> "_Network":
        check_is_fitted(self, "classes_")
        network: _Network = self._parameters()
        return network

    def _estimate(self) -> "_Network":
        coding, (codes, weights) = self.rows_.coding, self.rows_.codes_and_weights()
        labels, places = map(np.ascontiguousarray, np.nonzero(weights.T))  # a row that has two classes appears twice
        codes, lessons = codes[places], WeightedLabels(labels, weights[places, labels], len(self.classes_))
        if isinstance(self.order, str):
            order, parents = self._by_information(coding.cells_of(codes), lessons)
        else:
            order = np.array([int(column) for column in self.order])
            parents = _nearest_before(order, self.k)
        return _Network(coding, codes, lessons, self.alpha, order, parents)

    def _by_information(self, cells: Codes, lessons: WeightedLabels) -> tuple[NDArray[np.int64], list[tuple[int, ...]]]:
        """Return the columns ordered by their information about the class, and the parents of each."""
        coding, counts = self.rows_.coding, np.zeros((self.rows_.coding.n_cells, lessons.n_classes))
        add_cells_to(counts, cells, lessons.labels, lessons.weights)
        order = np.argsort(-class_information(counts, coding), kind="stable")
        if not self.k:
            return order, [()] * len(order)
        pairs = PairCounts.of_cells(coding, cells, lessons.labels, lessons.weights, lessons.n_classes)
        return order, self._strongest_before(order, pairs)

    def _strongest_before(self, order: NDArray[np.int64], pairs: PairCounts) -> list[tuple[int, ...]]:
        """Return for each column those k earlier columns that tell most about it, and more than the minimum."""
        parents = []
        for column, information in enumerate(pairs.information()):
            earlier = np.sort(order[: np.flatnonzero(order == column)[0]])
            enough = earlier[information[earlier] > self.min_information]
            parents.append(tuple(enough[np.argsort(-information[enough], kind="stable")][: self.k].tolist()))
        return parents

    def _log_likelihood(self, rows: Columns) -> Floats:
        network = self._network()
        total = np.zeros((len(rows[0]), len(self.classes_)))
        for terms in network.terms(network.coding.codes(rows)):
            total += terms
        return total

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        network, nothing = self._network(), np.zeros(len(self.classes_))
        for terms in np.stack(list(network.terms(network.coding.codes(rows))), axis=1):
            yield np.arange(len(rows)), terms, nothing

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        network = self._network()
        return network.coding.decode(network.draw(labels, rng))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        return categorical_tags(super().__sklearn_tags__())


def _nearest_before(order: NDArray[np.int64], k: int) -> list[tuple[int, ...]]:
    """Return for each column the k columns before it, the nearest first."""
    parents: list[tuple[int, ...]] = [() for _ in order]
    for at, column in enumerate(order.tolist()):
        parents[column] = tuple(order[max(at - k, 0) : at][::-1].tolist())
    return parents


def _check_k(k: Any) -> None:
    if not isinstance(k, Integral) or int(k) not in range(MOST_PARENTS + 1):
        raise ValueError(f"k must be a whole number from 0 to {MOST_PARENTS}, not {k!r}")


def _check_order(order: Any, n_columns: int) -> None:
    named = isinstance(order, str)
    if order != "mutual information" if named else not np.array_equal(np.sort(np.ravel(order)), np.arange(n_columns)):
        raise ValueError(
            f'order must be "mutual information" or have the numbers of all {n_columns} columns once each, '
            f"not {order!r}"
        )


@dataclass(frozen=True, eq=False)
class _Network:
    """The structure, and the rows from which each table is counted on first use."""

    coding: Coding
    codes: Codes
    lessons: WeightedLabels
    alpha: float
    order: NDArray[np.int64]
    parents: list[tuple[int, ...]]
    tables: dict[tuple[int, ...], Combinations] = field(default_factory=dict)

    def terms(self, codes: Codes) -> Iterator[Floats]:
        """Yield the terms of one column after the other, [row, class]."""
        known = codes != MISSING
        for column, parents in enumerate(self.parents):
            terms = np.zeros((len(codes), self.lessons.n_classes))
            pattern = known[:, parents] @ (1 << np.arange(len(parents)))
            for bits in np.unique(pattern):
                rows = np.flatnonzero((pattern == bits) & known[:, column])
                columns = (*(parent for i, parent in enumerate(parents) if bits >> i & 1), column)
                terms[rows] = self.table(columns).logs_of(codes[rows[:, None], columns])
            yield terms

    def draw(self, labels: Labels, rng: np.random.Generator) -> Codes:
        """Draw one row of codes for each label, parents before children."""
        codes, rows = np.zeros((len(labels), len(self.order)), np.int32), np.arange(len(labels))
        for column in self.order:
            columns = (*self.parents[column], int(column))
            logs = np.empty((len(labels), max(int(self.coding.n_values[column]), 1)))
            for value in range(logs.shape[1]):
                codes[:, column] = value
                logs[:, value] = self.table(columns).logs_of(codes[:, columns])[rows, labels]
            codes[:, column] = draw_codes(logs, rng)
        return codes

    def table(self, columns: tuple[int, ...]) -> Combinations:
        """Return the table of the last of these columns given the others."""
        if columns not in self.tables:
            codes = self.codes[:, columns]
            known = (codes != MISSING).all(axis=1)
            widths = (self.coding.n_values[list(columns)] + 1).tolist()
            self.tables[columns] = Combinations.of(codes[known], widths, self.lessons.of(known), self.alpha)
        return self.tables[columns]
