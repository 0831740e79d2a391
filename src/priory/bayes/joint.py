r"""The Bayes classifier without any independence: one cell for every combination of values."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.columns import Columns, read_columns
from priory.bayes.distinct_rows import DistinctRows
from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, check_alpha


class JointBayes(GenerativeMixin, ClassifierMixin, BaseEstimator):
    r"""The Bayes classifier of a full joint table: a contingency table with one cell per combination of values.

    $$ p(x \mid c) = \frac{n_c(x) + \alpha}{n_c + M\alpha}, \qquad M = \prod_j m_j $$

    Of the $n_c$ rows of class $c$, $n_c(x)$ are equal to $x$; column $j$ has $m_j$ known values, so that there are $M$
    cells. Nothing is assumed independent, and nothing is learned of a combination from others like it: use it for a few
    columns with few values and many rows, and to see what naive Bayes loses. With $d$ yes-no columns there are $2^d$
    cells; `n_never_seen_` tells how many of them are empty. Only cells that were seen are stored, however large $M$ is.

    A combination or a value never seen has the mass of an empty cell. A row with missing values (NaN, None) names no
    cell: it cannot be learned; in a prediction they are summed out, exactly. `explain` splits the logarithm by the
    chain rule in the order of the columns, $\log p(x_1 \mid c) + \log p(x_2 \mid x_1, c) + \dots$

    Parameters: `alpha`, the pseudo-count of each cell (0 is maximum likelihood); `prior`, "fitted", "smoothed",
    "uniform", or probabilities; `categories`, the values of each column, if some may exist that the rows do not show.

    Attributes: `classes_`, `class_count_`, `categories_`; `n_cells_`, the number M; `cell_count_`, a dictionary from
    the combinations seen to their weights [class]; `n_seen_` and `n_never_seen_`, the number of cells seen and not seen
    under each class; `n_never_seen_by_any_`, under no class at all.

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
        """Weight of the rows with each combination of values that was seen, [class]."""
        codes, weights = self.rows_.counted()
        return dict(zip(map(tuple, self.rows_.coding.decoded(codes).tolist()), weights, strict=True))

    @property
    def n_cells_(self) -> int:
        """How many combinations of the known values there are."""
        return prod(int(n) for n in self._widths())

    @property
    def n_seen_(self) -> NDArray[np.int64]:
        """How many of the cells were seen under each class."""
        return np.asarray((self.rows_.seen.counts > 0).sum(axis=0))

    @property
    def n_never_seen_(self) -> list[int]:
        """How many of the cells were never seen under each class."""
        return [self.n_cells_ - n for n in self.n_seen_.tolist()]

    @property
    def n_never_seen_by_any_(self) -> int:
        """How many of the cells were never seen at all."""
        return self.n_cells_ - len(self.rows_.seen.places)

    def _widths(self) -> NDArray[np.int64]:
        return np.maximum(self.rows_.coding.n_values, 1)

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        return read_columns(self, X, reset=reset)

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.rows_ = DistinctRows.empty(Coding.named(self.categories, len(rows)), n_classes)

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        _check_whole(rows.where(weights != 0))
        self.rows_ = self.rows_.changed(rows, labels, weights)

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self.rows_ = self.rows_.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        self.rows_ = self.rows_.joined(other.rows_)

    def _estimate(self) -> Floats:
        """log m of each column: the sum of these is log M, also where M is too large for a float."""
        return np.log(self._widths())

    def _log_likelihood(self, rows: Columns) -> Floats:
        codes, log_widths = self.rows_.coding.codes(rows), self._parameters()
        counts = self.rows_.weights_of(codes)
        for i in np.flatnonzero((codes == MISSING).any(axis=1)):
            *_, counts[i] = self._agreeing(codes[i])
        log_completions = (codes == MISSING) @ log_widths
        return log_cell_shares(counts, self.class_count_, log_completions[:, None], log_widths.sum(), self.alpha)

    def _agreeing(self, codes: Codes) -> Iterator[Floats]:
        """Weights of all learned rows, then of those like this one in its first known column, in its first two, ..."""
        if "rows" not in self._cache:
            learned, weights = self.rows_.counted()
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
            counts = np.array(list(self._agreeing(codes)))
            log_cells = log_widths.sum() - np.concatenate([[0.0], log_widths[known].cumsum()])[:, None]
            terms = np.zeros((len(codes), len(self.classes_)))
            terms[known] = log_cell_shares(counts[1:], counts[:-1], log_cells[1:], log_cells[:-1], self.alpha)
            yield np.arange(len(codes)), terms, nothing

    def _draw(self, labels: Labels, rng: np.random.Generator) -> NDArray[Any]:
        """Draw a row that was seen, or, with the share of the pseudo-counts, any combination."""
        log_seen = log_cell_shares(self.class_count_, self.class_count_, -np.inf, self._parameters().sum(), self.alpha)
        codes = rng.integers(self._widths(), size=(len(labels), len(self._widths()))).astype(np.int32)
        learned, weights = self.rows_.counted()
        ends = weights.cumsum(axis=0)
        for i in np.flatnonzero(rng.random(len(labels)) < np.exp(log_seen)[labels]):
            upto = ends[:, labels[i]]
            codes[i] = learned[np.searchsorted(upto, rng.random() * upto[-1], "right")]
        return self.rows_.coding.decoded(codes)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what rows are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True
        return tags


def log_cell_shares(counts: Any, totals: Any, log_cells: Any, log_all_cells: Any, alpha: float) -> Floats:
    """Return log((n + e·α) / (N + E·α)) from log e and log E: numbers of cells, which may be too large for a float.

    Where nothing was seen at all and α = 0, the share is e / E, as for every α > 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_alpha = np.log(alpha)
        below = np.logaddexp(np.log(totals), log_alpha + log_all_cells)
        shares = np.logaddexp(np.log(counts), log_alpha + log_cells) - below
    return np.asarray(np.where(np.isneginf(below), log_cells - log_all_cells, shares), np.float64)


def _check_whole(rows: Columns) -> None:
    """Raise if a value is missing."""
    for part in rows if rows.matrix is None else [rows.matrix]:
        if None in part.tolist() if part.dtype.kind == "O" else part.dtype.kind == "f" and np.isnan(part).any():
            raise ValueError(
                "X has missing values (NaN or None): a row with gaps names no cell of the joint table and cannot be "
                "learned. Leave it out, impute it, or use CategoricalNB, which learns from what is known"
            )
