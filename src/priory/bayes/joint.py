"""The Bayes classifier without any independence: one cell for every combination of values."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.estimator import check_alpha
from priory.bayes.generative import GenerativeMixin
from priory.bayes.input import Columns, read_columns
from priory.bayes.prior import Prior
from priory.bayes.sparse_counts import DistinctRows
from priory.bayes.tables import Floats, Labels


class JointBayes(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""The Bayes classifier of a full joint table: a contingency table with one cell per combination of values.

    $$ p(x \mid c) = \frac{n_c(x) + \alpha}{n_c + M\alpha}, \qquad M = \prod_j m_j $$

    Of the $n_c$ rows of class $c$, $n_c(x)$ are equal to $x$; column $j$ has $m_j$ known values, so there are $M$
    cells. Nothing is assumed independent, and nothing is learned about a combination from similar ones: use it for a
    few columns with few values and many rows, and to see what naive Bayes loses. With $d$ yes-no columns there are
    $2^d$ cells; `n_never_seen_` tells how many of them are empty. Only cells that were seen are stored, however large
    $M$ is.

    A combination or a value never seen has the probability of an empty cell. A row with missing values (NaN, None)
    names no cell, so it cannot be learned; in a prediction they are summed out exactly. `explain` splits the logarithm
    by the chain rule in the order of the columns, $\log p(x_1 \mid c) + \log p(x_2 \mid x_1, c) + \dots$

    Parameters: `alpha`, the pseudo-count of each cell (0 is maximum likelihood); `prior`, "fitted", "smoothed",
    "uniform", or probabilities; `categories`, the values of each column, if there are some that the rows do not show.

    Attributes: `classes_`, `class_count_`, `categories_`; `n_cells_`, the number M; `cell_count_`, a dictionary from
    the combinations seen to their weights [class]; `n_seen_` and `n_never_seen_`, the number of cells seen and not seen
    under each class; `n_never_seen_by_any_`, the number seen under no class.

    Reference: T. Mitchell, Machine Learning (1997), section 6.2, on what such a table costs.

    >>> mail = [["stranger", "link"], ["stranger", "plain"], ["friend", "link"], ["friend", "plain"]] * 2
    >>> model = JointBayes().fit(mail, ["spam", "ham", "ham", "ham"] * 2)       # spam is what has both
    >>> model.predict([["stranger", "link"], ["friend", "link"], [None, "link"]]).tolist()
    ['spam', 'ham', 'ham']
    >>> model.n_cells_, dict(zip(model.classes_.tolist(), model.n_never_seen_))
    (4, {'ham': 1, 'spam': 3})
    """

    rows_: DistinctRows

    def __init__(
        self, *, alpha: float = 1.0, prior: Prior = "fitted", categories: Sequence[ArrayLike] | None = None
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.categories = categories

    @property
    def categories_(self) -> list[NDArray[Any]]:
        """The known values of each column."""
        return list(self.rows_.coding.categories)

    @property
    def cell_count_(self) -> dict[tuple[Any, ...], Floats]:
        """The weight of the rows with each combination of values that was seen, [class]."""
        codes, weights = self.rows_.codes_and_weights()
        return dict(zip(map(tuple, self.rows_.coding.decode(codes).tolist()), weights, strict=True))

    @property
    def n_cells_(self) -> int:
        """The number of combinations of the known values."""
        return prod(int(n) for n in self._widths())

    @property
    def n_seen_(self) -> NDArray[np.int64]:
        """The number of cells seen under each class."""
        return np.asarray((self.rows_.counts.table > 0).sum(axis=0))

    @property
    def n_never_seen_(self) -> list[int]:
        """The number of cells never seen under each class."""
        return [self.n_cells_ - n for n in self.n_seen_.tolist()]

    @property
    def n_never_seen_by_any_(self) -> int:
        """The number of cells never seen under any class."""
        return self.n_cells_ - len(self.rows_.counts.places)

    def _widths(self) -> NDArray[np.int64]:
        return np.maximum(self.rows_.coding.n_values, 1)

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        return read_columns(self, X, reset=reset)

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.rows_ = DistinctRows.empty(Coding.from_parameter(self.categories, len(rows)), n_classes)

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        _check_whole(rows.where(weights != 0))
        self.rows_ = self.rows_.update(rows, labels, weights)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.rows_ = self.rows_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.rows_ = self.rows_.plus(other.rows_)

    def _estimate(self) -> Floats:
        """Return log m of each column; their sum is log M, also where M is too large for a float."""
        return np.log(self._widths())

    def _log_likelihood(self, rows: Columns) -> Floats:
        codes, log_widths = self.rows_.coding.codes(rows), self._parameters()
        counts = self.rows_.weights_of(codes)
        for i in np.flatnonzero((codes == MISSING).any(axis=1)):
            *_, counts[i] = self._agreement_weights(codes[i])
        log_completions = (codes == MISSING) @ log_widths
        return log_cell_shares(counts, self.class_count_, log_completions[:, None], log_widths.sum(), self.alpha)

    def _agreement_weights(self, codes: Codes) -> Iterator[Floats]:
        """Yield the weights of all learned rows, of those agreeing in the first known column, in the first two, ..."""
        if "rows" not in self._cache:
            learned, weights = self.rows_.codes_and_weights()
            self._cache["rows"] = np.asfortranarray(learned), weights
        learned, weights = self._cache["rows"]
        left = np.arange(len(weights))
        yield self.class_count_
        for j in np.flatnonzero(codes != MISSING):
            left = left[learned[left, j] == codes[j]]
            yield weights[left].sum(axis=0)

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        log_widths, nothing = self._parameters(), np.zeros(len(self.classes_))
        for codes in self.rows_.coding.codes(rows):
            known = np.flatnonzero(codes != MISSING)
            counts = np.array(list(self._agreement_weights(codes)))
            log_cells = log_widths.sum() - np.concatenate([[0.0], log_widths[known].cumsum()])[:, None]
            terms = np.zeros((len(codes), len(self.classes_)))
            terms[known] = log_cell_shares(counts[1:], counts[:-1], log_cells[1:], log_cells[:-1], self.alpha)
            yield np.arange(len(codes)), terms, nothing

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a row that was seen or, with the share of the pseudo-counts, any combination."""
        log_seen = log_cell_shares(self.class_count_, self.class_count_, -np.inf, self._parameters().sum(), self.alpha)
        codes = rng.integers(self._widths(), size=(len(labels), len(self._widths()))).astype(np.int32)
        learned, weights = self.rows_.codes_and_weights()
        ends = weights.cumsum(axis=0)
        for i in np.flatnonzero(rng.random(len(labels)) < np.exp(log_seen)[labels]):
            upto = ends[:, labels[i]]
            codes[i] = learned[np.searchsorted(upto, rng.random() * upto[-1], "right")]
        return self.rows_.coding.decode(codes)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True
        return tags


def log_cell_shares(counts: Any, totals: Any, log_cells: Any, log_all_cells: Any, alpha: float) -> Floats:
    """Return log((n + e·α) / (N + E·α)) from log e and log E: numbers of cells that may be too large for a float.

    Where nothing was seen at all and α = 0, the share is e / E, as for every α > 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_alpha = np.log(alpha)
        below = np.logaddexp(np.log(totals), log_alpha + log_all_cells)
        shares = np.logaddexp(np.log(counts), log_alpha + log_cells) - below
    return np.asarray(np.where(np.isneginf(below), log_cells - log_all_cells, shares), np.float64)


def _check_whole(rows: Columns) -> None:
    """Raise ValueError if a value is missing."""
    for part in rows if rows.matrix is None else [rows.matrix]:
        if None in part.tolist() if part.dtype.kind == "O" else part.dtype.kind == "f" and np.isnan(part).any():
            raise ValueError(
                "X has missing values (NaN or None): a row with gaps names no cell of the joint table and cannot be "
                "learned. Leave it out, impute it, or use CategoricalNB, which learns from what is known"
            )
