"""Naive Bayes on columns with a few values each: names, codes, answers to questions."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import Codes, Coding, draw_codes
from priory.bayes.estimator import check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import Columns, read_columns
from priory.bayes.kernels import sum_cells
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, add_cells_to, are_within, log_shares, spread


class CategoricalNB(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for columns of categories: strings, codes, or any numbers that repeat.

    $$ \log p(x, c) = \log p(c) + \sum_j \log \frac{n_{cj}(x_j) + \alpha}{n_{cj} + m_j\alpha} $$

    In the $n_{cj}$ rows of class $c$ whose column $j$ is known, the value $x_j$ was seen $n_{cj}(x_j)$ times; the
    column has $m_j$ known values. A value never seen has the probability of a known one that was not seen under the
    class, $\alpha / (n_{cj} + m_j\alpha)$. Missing values (NaN, None) are summed out: they add nothing and are counted
    nowhere. New values may come at any time.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities; `categories`, the values of each column, if there are some that the rows do not show.

    Attributes: `classes_`, `class_count_`; for each column `categories_`, its values, and `category_count_` and
    `feature_log_prob_`, arrays [class, value].

    >>> mail = [["evening", "html"], ["night", "html"], ["noon", "text"], ["evening", "text"]]
    >>> model = CategoricalNB().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict([["night", "text"], ["dawn", "html"], [None, "text"]]).tolist()
    ['ham', 'spam', 'ham']
    """

    counts_: Floats
    coding_: Coding

    def __init__(
        self, *, alpha: float = 1.0, prior: Prior = "fitted", categories: Sequence[ArrayLike] | None = None
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.categories = categories

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The known values of each column."""
        return list(self.coding_.categories)

    @property
    def category_count_(self) -> list[Floats]:
        """The weight of the rows with each value of each column, [class, value]."""
        return [part.T for part in self._by_column(self.counts_)]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log p(value given class) of each column, [class, value]."""
        return [part.T for part in self._by_column(self._parameters())]

    def _by_column(self, table: Floats) -> list[Floats]:
        coding = self.coding_
        return [table[at : at + n] for at, n in zip(coding.offsets, coding.n_values, strict=True)]

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        return read_columns(self, X, reset=reset)

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.coding_ = self._given = Coding.from_parameter(self.categories, len(rows))
        self.counts_ = np.zeros((self.coding_.n_cells, n_classes))

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        if not (weights < 0).any():
            self._recode(self.coding_.widen(rows.where(weights > 0)))
        n_rows = self._n_rows(labels, weights)
        fits = lambda: are_within(self._n_known(), n_rows, self.class_count_)  # noqa: E731
        add_cells_to(self.counts_, self.coding_.cells(rows), labels, weights, fits)
        if (weights < 0).any():
            self._recode(self.coding_.restrict(np.asarray((self.counts_ > 0).any(axis=1))).union(self._given))

    def _n_known(self) -> Floats:
        """Return the weight of the rows in which each column is known, [column, class]."""
        return np.add.reduceat(self.counts_, self.coding_.offsets, axis=0)

    def _recode(self, coding: Coding) -> None:
        """Add cells for new values, or remove the cells of values that were all forgotten."""
        if coding.n_cells != self.coding_.n_cells:
            self.counts_ = self.coding_.recode(self.counts_, coding)
            self.coding_ = coding

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.counts_ = spread(self.counts_, where, n_classes)

    def _join(self, other: Self) -> None:
        wider = self.coding_.union(other.coding_)
        self._recode(wider)
        other._recode(wider)
        self.counts_ = self.counts_ + other.counts_

    def _estimate(self) -> Floats:
        """Return log p(value given class) of every cell."""
        widths = self.coding_.n_values + 1
        totals = self._n_known()
        values = np.maximum(self.coding_.n_values, 1)
        return log_shares(
            self.counts_, np.repeat(totals, widths, axis=0), np.repeat(values, widths)[:, None], self.alpha
        )

    def _log_likelihood(self, rows: Columns) -> Floats:
        return sum_cells(self._parameters(), self.coding_.cells(rows))

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        logs = np.vstack([self._parameters(), np.zeros(len(self.classes_))])  # the last row is for MISSING, -1
        nothing = np.zeros(len(self.classes_))
        for cells in self.coding_.cells(rows):
            yield np.arange(len(cells)), logs[cells], nothing

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        codes: Codes = np.zeros((len(labels), len(self.categories_)), np.int32)
        for j, part in enumerate(self._by_column(self._parameters())):
            if len(part):  # otherwise all values of the column were missing
                codes[:, j] = draw_codes(part.T[labels], rng)
        return self.coding_.decode(codes)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True
        return tags
