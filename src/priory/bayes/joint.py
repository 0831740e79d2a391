r"""The Bayes classifier without any independence: one cell for every combination of values."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.coding import MISSING, Codes, Coding
from priory.bayes.columns import Columns, read_columns
from priory.bayes.generative import GenerativeMixin
from priory.bayes.prior import Prior
from priory.bayes.seen import Seen
from priory.bayes.tables import Floats, Labels, add_cells_to, check_alpha, spread


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
    def cell_count_(self) -> dict[tuple[Any, ...], Floats]:
        """Weight of the rows with each combination of values that was seen, [class]."""
        return {row: self._seen.counts[slot] for row, slot in self._seen.places.items()}

    @property
    def n_cells_(self) -> int:
        """How many combinations of the known values there are."""
        return prod(int(n) for n in self._widths())

    @property
    def n_seen_(self) -> NDArray[np.int64]:
        """How many of the cells were seen under each class."""
        return np.asarray((self._seen.counts > 0).sum(axis=0))

    @property
    def n_never_seen_(self) -> list[int]:
        """How many of the cells were never seen under each class."""
        return [self.n_cells_ - n for n in self.n_seen_.tolist()]

    @property
    def n_never_seen_by_any_(self) -> int:
        """How many of the cells were never seen at all."""
        return self.n_cells_ - len(self._seen.places)

    def _widths(self) -> NDArray[np.int64]:
        return np.maximum(self.coding_.n_values, 1)

    def _rows(self, X: Any, *, reset: bool) -> Columns:
        check_alpha(self.alpha)
        return read_columns(self, X, reset=reset)

    def _start(self, rows: Columns, n_classes: int) -> None:
        self.coding_ = self._given = Coding.named(self.categories, len(rows))
        self._value_counts = np.zeros((self.coding_.n_cells, n_classes))
        self._seen = Seen(n_classes)

    def _add(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        counted = weights != 0
        if not counted.any():
            return
        rows, labels, weights = rows.where(counted), labels[counted], weights[counted]
        coding = self.coding_.joined(Coding.of(rows))
        cells = coding.cells(rows)
        if (cells == MISSING).any():
            raise ValueError(
                "X has missing values (NaN or None): a row with gaps names no cell of the joint table and cannot be "
                "learned. Leave it out, impute it, or use CategoricalNB, which learns from what is known"
            )
        if (weights < 0).any():
            self._take_back(rows, labels, weights)
            return
        self._recode(coding)
        self._seen.add(_one_each(self._seen.placed(_combinations(rows))), labels, weights)
        add_cells_to(self._value_counts, cells, labels, weights)

    def _take_back(self, rows: Columns, labels: Labels, weights: Floats) -> None:
        """Forget rows, and the combinations and values that no other row had."""
        combinations = _combinations(rows)
        slots = self._seen.slots(combinations)
        self._seen.add(_one_each(slots), labels, weights)
        self._seen.drop_empty(combinations, slots)
        add_cells_to(self._value_counts, self.coding_.cells(rows), labels, weights)
        used = np.asarray((self._value_counts > 0).any(axis=1))
        self._recode(self.coding_.limited(used).joined(self._given))

    def _recode(self, coding: Coding) -> None:
        if coding.n_cells != self.coding_.n_cells:
            self._value_counts = self.coding_.recoded(self._value_counts, coding)
            self.coding_ = coding

    def _spread(self, where: NDArray[np.int64], n_classes: int) -> None:
        self._value_counts = spread(self._value_counts, where, n_classes)
        self._seen = self._seen.spread(where, n_classes)

    def _join(self, other: Self) -> None:
        wider = self.coding_.joined(other.coding_)
        self._recode(wider)
        other._recode(wider)
        self._value_counts = self._value_counts + other._value_counts
        self._seen.join(other._seen)

    def _estimate(self) -> Floats:
        """log m of each column: the sum of these is log M, also where M is too large for a float."""
        return np.log(self._widths())

    def _log_likelihood(self, rows: Columns) -> Floats:
        codes, log_widths = self.coding_.codes(rows), self._parameters()
        counts = self._seen.counts[self._seen.slots(_combinations(rows))]
        for i in np.flatnonzero((codes == MISSING).any(axis=1)):
            *_, counts[i] = self._agreeing(codes[i])
        log_completions = (codes == MISSING) @ log_widths
        return log_cell_shares(counts, self.class_count_, log_completions[:, None], log_widths.sum(), self.alpha)

    def _agreeing(self, codes: Codes) -> Iterator[Floats]:
        """Weights of all learned rows, then of those like this one in its first known column, in its first two, ..."""
        if "codes" not in self._cache:
            places = self._seen.places
            columns = _columns(list(places), len(codes))
            self._cache["codes"] = np.asfortranarray(self.coding_.codes(columns)), self._seen.slots(places)
        learned, slots = self._cache["codes"]
        left = np.arange(len(slots))
        yield self.class_count_
        for j in np.flatnonzero(codes != MISSING):
            left = left[learned[left, j] == codes[j]]
            yield self._seen.counts[slots[left]].sum(axis=0)

    def _terms(self, rows: Columns) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        log_widths, nothing = self._parameters(), np.zeros(len(self.classes_))
        for codes in self.coding_.codes(rows):
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
        drawn = self.coding_.decoded(codes)
        combinations = list(self._seen.places)
        ends = self._seen.counts[self._seen.slots(combinations)].cumsum(axis=0)
        for i in np.flatnonzero(rng.random(len(labels)) < np.exp(log_seen)[labels]):
            upto = ends[:, labels[i]]
            drawn[i] = combinations[np.searchsorted(upto, rng.random() * upto[-1], "right")]
        return drawn

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


def _combinations(rows: Columns) -> list[tuple[Any, ...]]:
    """Return each row as a tuple of its values."""
    return list(zip(*(column.tolist() for column in rows), strict=True))


def _columns(combinations: list[tuple[Any, ...]], n_columns: int) -> Columns:
    """Return the columns of rows that are tuples."""
    if not combinations:
        return Columns(np.empty(0) for _ in range(n_columns))
    columns = (list(values) for values in zip(*combinations, strict=True))
    return Columns(np.array(values, object if isinstance(values[0], str) else np.float64) for values in columns)


def _one_each(slots: NDArray[np.int64]) -> csr_matrix:
    """Return rows with a one at their slot."""
    return csr_matrix((np.ones(len(slots)), slots, np.arange(len(slots) + 1)), (len(slots), slots.max(initial=0) + 1))
