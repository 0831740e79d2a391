r"""Cut numbers into bins where the labels change, and stop when a further cut would only describe noise.

A set $S$ of $N$ rows is cut between the two neighbouring values where the labels on both sides have the least entropy.
The cut stays if it saves more bits than it takes to describe it and the labels of its two sides:

$$ N\,H(S) - N_1 H(S_1) - N_2 H(S_2) > \log_2(N - 1) + \log_2(3^k - 2) - \bigl(k H(S) - k_1 H(S_1) - k_2 H(S_2)\bigr) $$

with $k$ the number of labels in the set and $H$ its entropy in bits. Then both sides are cut in the same way. The best
cut never separates two values that only have the same single label, so only the boundaries of such blocks are
considered.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from priory.bayes.estimator import unfitted_copy


class MDLDiscretiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn numbers into the codes of bins that separate the labels (minimum description length).

    Use it before a naive Bayes model of categories, where the numbers are not bell-shaped. The number of bins of a
    column is found from the data; a column that tells nothing about the label gets one. The first and the last bin are
    open to the outside, and missing values stay missing (NaN), so that a model can leave them out.

    Attributes: `cut_points_`, for each column its ascending cut points (a value equal to one belongs to the bin below);
    `n_bins_`, the number of bins of each column.

    >>> words = [[12], [15], [18], [21], [300], [350], [390], [420]]
    >>> labels = ["spam"] * 4 + ["ham"] * 4
    >>> bins = MDLDiscretiser().fit(words, labels)
    >>> bins.cut_points_
    [array([160.5])]
    >>> bins.transform([[3], [160.5], [161], [9000]]).T
    array([[0, 0, 1, 1]])

    U. M. Fayyad, K. B. Irani: Multi-interval discretization of continuous-valued attributes for classification
    learning. IJCAI 1993, 1022-1027.
    """

    cut_points_: list[NDArray[np.float64]]
    n_bins_: NDArray[np.int64]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the cut points of each column; rows where its value is missing are left out for that column."""
        fitted = unfitted_copy(self)
        numbers, y = validate_data(fitted, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        _, labels = np.unique(y, return_inverse=True)
        known = ~np.isnan(numbers)
        fitted.cut_points_ = [_cut_points(numbers[rows, j], labels[rows]) for j, rows in enumerate(known.T)]
        fitted.n_bins_ = np.array([len(cuts) + 1 for cuts in fitted.cut_points_])
        self.__dict__ = fitted.__dict__
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return the codes, from 0 for the lowest bin: integers, or floats with NaN for missing values."""
        check_is_fitted(self)
        numbers = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        codes = np.column_stack([np.searchsorted(cuts, numbers[:, j]) for j, cuts in enumerate(self.cut_points_)])
        missing = np.isnan(numbers)
        return np.where(missing, np.nan, codes) if missing.any() else codes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []  # codes are integers
        return tags


def _cut_points(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the ascending cut points of one column without missing values."""
    if not len(values):
        return np.empty(0)
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros((len(distinct), labels.max() + 1), np.int64)
    np.add.at(counts, (place, labels), 1)
    ends = np.flatnonzero(_is_boundary(counts)) + 1  # number of values below each boundary
    below = np.vstack([np.zeros_like(counts[0]), counts.cumsum(axis=0)[np.append(ends, len(distinct)) - 1]])
    chosen = ends[np.array(_choose_cuts(below), np.intp) - 1]
    return _between(distinct[chosen - 1], distinct[chosen])


def _is_boundary(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell where neighbouring values differ in label: everywhere except where both have the same single label."""
    pure = np.count_nonzero(counts, axis=1) == 1
    label = counts.argmax(axis=1)
    return np.asarray(~(pure[1:] & pure[:-1] & (label[1:] == label[:-1])))


def _choose_cuts(below: NDArray[np.int64]) -> list[int]:
    """Return the boundaries that are cut, ascending; row i of `below` counts the labels below boundary i."""
    sizes = np.arange(below[-1].sum() + 1)
    bits = sizes * np.log2(np.maximum(sizes, 1))
    cuts, pending = [], [(0, len(below) - 1)]
    while pending:
        start, end = pending.pop()
        whole, left = below[end] - below[start], below[start + 1 : end] - below[start]
        if not len(left):
            continue
        cost = _bits(left, bits) + _bits(whole - left, bits)
        best = int(np.flatnonzero(cost <= cost.min() + 1e-9)[0])  # the lowest of equally good cuts, up to rounding
        if _pays(whole, left[best], bits):
            cut = start + 1 + best
            cuts.append(cut)
            pending += [(start, cut), (cut, end)]
    return sorted(cuts)


def _bits(counts: NDArray[np.int64], bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bits that the labels take, N times H; `bits` is a table of n log2 n."""
    return np.asarray(bits[counts.sum(axis=-1)] - bits[counts].sum(axis=-1))


def _pays(whole: NDArray[np.int64], left: NDArray[np.int64], bits: NDArray[np.float64]) -> bool:
    """Tell whether a cut saves more bits than it costs, by the module's formula."""
    parts = np.stack([whole, left, whole - left])
    of_labels, k = _bits(parts, bits), np.count_nonzero(parts, axis=1)
    entropy_of_k = k * of_labels / parts.sum(axis=1)
    log_choices = k[0] * np.log2(3) + np.log1p(-2 * 3.0 ** -float(k[0])) / np.log(2)  # log2(3^k - 2), for any k
    price = np.log2(whole.sum() - 1) + log_choices - (entropy_of_k[0] - entropy_of_k[1:].sum())
    return bool(of_labels[0] - of_labels[1:].sum() > price)


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middle, at least low and less than high even if they are neighbouring floats."""
    return np.clip(low / 2 + high / 2, low, np.nextafter(high, -np.inf))
