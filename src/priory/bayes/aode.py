"""Averaged one-dependence estimators: an average of models, each with another column as parent of all others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import MISSING, Codes, Coding, draw_codes
from priory.bayes.dependence import PairsMixin
from priory.bayes.estimator import check_not_negative
from priory.bayes.input import Columns
from priory.bayes.pairs import average_parents
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, log_shares


class AveragedOneDependence(PairsMixin, ClassifierMixin, BaseEstimator):
    r"""Averaged one-dependence estimators (AODE) for categorical columns: all structures are averaged, none is chosen.

    $$ p(x, c) = p(c)\, \frac{1}{|P|} \sum_{i \in P} p(x_i \mid c) \prod_{j \neq i} p(x_j \mid x_i, c) $$

    where each share is smoothed as in naive Bayes, $(n + \alpha) / (N + m_j\alpha)$, and $P$ are the columns whose
    value was seen in at least `min_count` rows; if there are none, it is naive Bayes. No choice depends on a few rows,
    so it suits small tables too; time and memory grow with the square of the number of columns. With `min_count` up to
    1 the probabilities of all rows made of known values sum to 1.

    Columns hold strings, codes, or any numbers that repeat. Missing values (NaN, None) are left out: a pair is counted
    if both values are known; in prediction a missing column is summed out of the models of the others, and its own
    model is left out of the average. In `explain` a column's term is the mean of its terms in all models, each weighted
    by its share $r_i$ of the sum above; the difference to the exact sum, $-\sum_i r_i \log (r_i |P|)$, is the rest.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities; `min_count`, how often a value must have been seen for its column to be a parent.

    Attributes: `classes_`, `class_count_`, `categories_`.

    >>> mail = [["html", "offer", "night"], ["html", "offer", "noon"], ["text", "lunch", "noon"]]
    >>> mail += [["html", "lunch", "dawn"]]
    >>> model = AveragedOneDependence().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict([["html", "offer", None], ["text", "lunch", "night"]]).tolist()
    ['spam', 'ham']

    G. I. Webb, J. R. Boughton, Z. Wang: Not so naive Bayes: aggregating one-dependence estimators. Machine Learning 58
    (2005), 5-24.
    """

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted", min_count: float = 1) -> None:
        self.alpha = alpha
        self.prior = prior
        self.min_count = min_count

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_not_negative("min_count", self.min_count)
        return super()._rows(X, reset=reset)

    def _estimate(self) -> "_Average":
        coding, single = self.pairs_.coding, self.pairs_.single
        values, widths = np.maximum(coding.n_values, 1), coding.n_values + 1
        counts = self.pairs_.both_ways()
        totals = np.repeat(np.add.reduceat(counts, coding.offsets, axis=1), widths, axis=1)
        logs = log_shares(counts, totals, np.repeat(values, widths)[:, None], self.alpha)
        own = np.repeat(np.add.reduceat(single, coding.offsets, axis=0), widths, axis=0)
        diagonal = np.arange(coding.n_cells)
        logs[diagonal, diagonal] = log_shares(single, own, np.repeat(values, widths)[:, None], self.alpha)
        return _Average(coding, logs, (single.sum(axis=1) >= self.min_count).astype(np.uint8))

    def _log_likelihood(self, rows: Columns) -> Floats:
        average = self._parameters()
        return average_parents(average.logs, average.may_be_parent, average.coding.cells(rows))

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        average = self._parameters()
        for cells in average.coding.cells(rows):
            terms = np.zeros((len(cells), len(self.classes_)))
            known = np.flatnonzero(cells != MISSING)
            terms[known], rest = average.terms(cells[known])
            yield np.arange(len(cells)), terms, rest

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        average: _Average = self._parameters()
        return average.coding.decode(average.draw(labels, rng))


@dataclass(frozen=True, eq=False)
class _Average:
    """Log-shares [parent's cell, cell, class]; on the diagonal, a cell given the class alone."""

    coding: Coding
    logs: Floats
    may_be_parent: NDArray[np.uint8]

    def terms(self, cells: Codes) -> tuple[Floats, Floats]:
        """Return the terms [column, class] of a row without missing values, and the rest that the average adds."""
        parents = np.flatnonzero(self.may_be_parent[cells])
        if not len(parents):
            return self.logs[cells, cells], np.zeros(self.logs.shape[2])
        terms = self.logs[cells[parents, None], cells]  # [parent, column, class]
        shares = _normalise(terms.sum(axis=1))
        means = np.where(shares[:, None] > 0, terms, 0.0) * shares[:, None]
        rest = -xlogy(shares, shares * len(parents))
        return means.sum(axis=0), rest.sum(axis=0)

    def draw(self, labels: Labels, rng: np.random.Generator) -> Codes:
        """Draw for each label a parent among all columns, then its value, then the values of the others."""
        n_columns, rows = len(self.coding.categories), np.arange(len(labels))
        parents = rng.integers(n_columns, size=len(labels))
        codes = np.zeros((len(labels), n_columns), np.int32)
        for parent in range(n_columns):
            drawn = rows[parents == parent]
            cells = self._cells(parent)
            codes[drawn, parent] = draw_codes(self.logs[cells, cells][:, labels[drawn]].T, rng)
            given = self.coding.offsets[parent] + codes[drawn, parent]
            for column in (other for other in range(n_columns) if other != parent):
                logs = self.logs[given[:, None], self._cells(column), labels[drawn, None]]
                codes[drawn, column] = draw_codes(logs, rng)
        return codes

    def _cells(self, column: int) -> NDArray[np.int64]:
        """Return the cells of the known values of a column."""
        return np.asarray(self.coding.offsets[column] + np.arange(max(self.coding.n_values[column], 1)))


def _normalise(logs: Floats) -> Floats:
    """Return the shares of exponentiated logarithms by class; equal shares where all are impossible."""
    largest = logs.max(axis=0)
    relative = np.exp(logs - np.where(np.isneginf(largest), 0.0, largest))
    relative[:, np.isneginf(largest)] = 1.0
    return np.asarray(relative / relative.sum(axis=0))
