r"""Dependence between columns within a class: counts of pairs of values, and conditional mutual information in nats.

Naive Bayes assumes the columns to be independent given the class $c$. The conditional mutual information of two columns
tells how far that is from the truth. Here it is computed from the $n$ rows in which both are known, without smoothing:

$$ I(x_i; x_j \mid c) = \sum_{a, b, c} \frac{n_{abc}}{n} \log \frac{n_{abc}\, n_c}{n_{ac}\, n_{bc}} $$

with $n_{abc}$ rows of class $c$ where $x_i = a$ and $x_j = b$, and the margins of that table. Results are rounded to
twelve decimals, so that equal values compare equal whatever the order of additions.

The counts of all pairs add up, so a model based on them can learn row by row, forget and be merged, and chooses its
structure again at the next prediction. They take $(\sum_j (m_j + 1))^2 K$ numbers for columns with $m_j$ values and $K$
classes: 6 MB for 100 columns of 5 values and two classes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from priory.bayes.coding import Codes, Coding
from priory.bayes.estimator import categorical_tags, check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import Columns, read_columns
from priory.bayes.pairs import add_pairs
from priory.bayes.tables import NEVER_LEARNED, SLACK, Floats, Labels, are_within, settle, spread

#: Limit of a table of pairs, 4 GB; columns with a different value in every row would need far more.
MOST_PAIRS: Final = 2**29


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The weight of the rows by two of their values: table[class, cell, cell], the earlier column first.

    The diagonal, each value with itself, has the weight of the rows by one value.
    """

    coding: Coding
    table: Floats

    @classmethod
    def empty(cls, coding: Coding, n_classes: int) -> Self:
        """Return the counts of no rows."""
        return cls(coding, _empty_table(coding, n_classes))

    @classmethod
    def of_cells(cls, coding: Coding, cells: Codes, labels: Labels, weights: Floats, n_classes: int) -> Self:
        """Return the counts of rows given by their cells."""
        counts = cls.empty(coding, n_classes)
        _add(counts.table, cells, labels, weights)
        return counts

    @property
    def single(self) -> Floats:
        """The weight of the rows by one value, [cell, class]."""
        return np.ascontiguousarray(np.diagonal(self.table, axis1=1, axis2=2).T)

    def learn(self, rows: Columns, labels: Labels, weights: Floats) -> Self:
        """Return the counts with these rows; the table changes in place unless there are new values."""
        wider = self.recode(self.coding.widen(rows.where(weights > 0)))
        _add(wider.table, wider.coding.cells(rows), labels, weights)
        return wider

    def forget(self, rows: Columns, labels: Labels, weights: Floats, n_rows: Floats, n_before: Floats) -> Self:
        """Return the counts without these rows and without the values that only they had; these counts do not change.

        `n_rows` is the number of rows of each class that are left, of `n_before`: no column may be known in more.
        """
        table = self.table.copy()
        _add(table, self.coding.cells(rows), labels, -weights)
        left = type(self)(self.coding, settle(self.table, table))
        known = np.add.reduceat(left.single, self.coding.offsets, axis=0)
        if not (left._is_possible(self.single) and are_within(known, n_rows, n_before)):
            raise ValueError(NEVER_LEARNED)
        return left.recode(self.coding.restrict(np.asarray((left.single > 0).any(axis=1))))

    def plus(self, other: Self) -> Self:
        """Return the counts of the rows of both."""
        coding = self.coding.union(other.coding)
        return type(self)(coding, self.recode(coding).table + other.recode(coding).table)

    def spread(self, where: NDArray[np.int64], n_classes: int) -> Self:
        """Return the counts with the classes moved to new places among more classes."""
        wider = spread(np.moveaxis(self.table, 0, -1), where, n_classes)
        return type(self)(self.coding, np.ascontiguousarray(np.moveaxis(wider, -1, 0)))

    def recode(self, coding: Coding) -> Self:
        """Return the counts in the cells of another coding, which has all values that were counted."""
        if coding.n_cells == self.coding.n_cells:
            return self
        table = _empty_table(coding, len(self.table))
        for mine, its in zip(self.table, table, strict=True):
            its[:] = self.coding.recode(np.ascontiguousarray(self.coding.recode(mine, coding).T), coding).T
        return type(self)(coding, table)

    def both_ways(self) -> Floats:
        """Return the counts with either column first, [cell, cell, class]."""
        diagonal = np.arange(self.coding.n_cells)
        both = np.ascontiguousarray(np.moveaxis(self.table + self.table.transpose(0, 2, 1), 0, -1))
        both[diagonal, diagonal] /= 2
        return both

    def between(self, parent: int, child: int) -> Floats:
        """Return the counts of two columns, [value of the parent, value of the child, class], unseen values last."""
        first, second = self._cells(min(parent, child)), self._cells(max(parent, child))
        block = np.moveaxis(self.table[:, first, second], 0, -1)
        return block if parent < child else block.transpose(1, 0, 2)

    def of(self, column: int) -> Floats:
        """Return the weight of the rows by the values of one column, [value, class], unseen values last."""
        return self.single[self._cells(column)]

    def information(self) -> Floats:
        """Return I(column; column | class) in nats, [column, column]; 0 on the diagonal."""
        counts, at = self.table, self.coding.offsets
        first, second = np.add.reduceat(counts, at, axis=2), np.add.reduceat(counts, at, axis=1)
        total = np.add.reduceat(first, at, axis=1)
        nats = np.add.reduceat(np.add.reduceat(xlogy(counts, counts), at, axis=1), at, axis=2) + xlogy(total, total)
        nats -= np.add.reduceat(xlogy(first, first), at, axis=1) + np.add.reduceat(xlogy(second, second), at, axis=2)
        upper = np.triu(_shares(nats.sum(axis=0), total.sum(axis=0)), 1)
        return np.asarray(upper + upper.T)

    def _cells(self, column: int) -> slice:
        at = int(self.coding.offsets[column])
        return slice(at, at + int(self.coding.n_values[column]) + 1)

    def _is_possible(self, before: Floats) -> bool:
        """Tell whether each value occurs with another column's values at most as often as in total, up to rounding."""
        single, at = np.diagonal(self.table, axis1=1, axis2=2), self.coding.offsets
        first, second = np.add.reduceat(self.table, at, axis=2), np.add.reduceat(self.table, at, axis=1)
        slack = single if (self.table == np.rint(self.table)).all() else single + SLACK * before.T
        return bool((first <= slack[:, :, None]).all() and (second <= slack[:, None, :]).all())


def class_information(counts: Floats, coding: Coding) -> Floats:
    """Return I(column; class) in nats for each column, from the weight of the rows by one value, [cell, class]."""
    by_class = np.add.reduceat(counts, coding.offsets, axis=0)
    by_value, total = counts.sum(axis=1), by_class.sum(axis=1)
    nats = np.add.reduceat(xlogy(counts, counts).sum(axis=1) - xlogy(by_value, by_value), coding.offsets)
    return _shares(nats - xlogy(by_class, by_class).sum(axis=1) + xlogy(total, total), total)


def spanning_tree(weights: Floats, root: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the maximum spanning tree over all columns: the columns in the order they join, and each one's parent.

    It grows from the root by Prim's algorithm. Of equally heavy edges, the edge whose new column has the lower
    number comes first; then the edge whose parent joined earlier. The parent of the root is -1. A column that no edge
    of positive weight reaches begins a tree of its own, so its parent is -1, too.

    >>> order, parents = spanning_tree(np.array([[0, 5, 0, 1], [5, 0, 0, 2], [0, 0, 0, 0], [1, 2, 0, 0.0]]), root=0)
    >>> order.tolist(), parents.tolist()
    ([0, 1, 3, 2], [-1, 0, -1, 1])
    """
    parents, heaviest = np.full(len(weights), -1), np.zeros(len(weights))
    outside, order, column = np.ones(len(weights), bool), [], root
    while outside.any():
        order.append(column)
        outside[column] = False
        better = outside & (weights[column] > heaviest)
        heaviest[better], parents[better] = weights[column, better], column
        column = int(np.where(outside, heaviest, -1.0).argmax())
    return np.array(order), parents


class PairsMixin(GenerativeMixin):
    """The shared part of models based on counts of pairs: reading columns, counting, forgetting and merging."""

    alpha: float
    pairs_: PairCounts
    _statistics: ClassVar = ()

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The known values of each column."""
        return list(self.pairs_.coding.categories)

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        return read_columns(self, X, reset=reset)

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.pairs_ = PairCounts.empty(Coding.from_values([[] for _ in rows]), n_classes)

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        if (weights < 0).any():
            self.pairs_ = self.pairs_.forget(rows, labels, -weights, self._n_rows(labels, weights), self.class_count_)
        else:
            self.pairs_ = self.pairs_.learn(rows, labels, weights)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.pairs_ = self.pairs_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.pairs_ = self.pairs_.plus(other.pairs_)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        return categorical_tags(super().__sklearn_tags__())  # type: ignore[misc]


def _empty_table(coding: Coding, n_classes: int) -> Floats:
    size = coding.n_cells**2 * n_classes
    if size > MOST_PAIRS:
        raise ValueError(
            f"X has {coding.n_values.sum()} values in all its columns: counting their pairs would take "
            f"{size / 2**27:.0f} GB. Leave out columns that name the row; pass numbers through MDLDiscretiser first"
        )
    return np.zeros((n_classes, coding.n_cells, coding.n_cells))


def _add(table: Floats, cells: Codes, labels: Labels, weights: Floats) -> None:
    # Class by class the counts stay in the cache: with ten classes and 100 columns 1.3 s instead of 3.0 s for 100,000
    # rows, with two classes the same.
    order = np.argsort(labels, kind="stable")
    add_pairs(table, cells[order], labels[order], weights[order])


def _shares(nats: Floats, totals: Floats) -> Floats:
    """Return sums divided by totals, at least zero; 0 where the total is 0."""
    means = np.divide(nats, totals, out=np.zeros_like(nats), where=totals > 0)
    return np.asarray(np.maximum(means.round(12), 0.0))
