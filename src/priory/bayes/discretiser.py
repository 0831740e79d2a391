r"""Cut numbers into bins where the labels change, and stop when a further cut would only describe noise.

Of all places between two neighbouring values, the cut of a set $S$ of $N$ rows goes where the labels on both sides have
the least entropy. It stays if it saves more bits than it takes to name it and the labels of its two sides:

$$ N\,H(S) - N_1 H(S_1) - N_2 H(S_2) > \log_2(N - 1) + \log_2(3^k - 2) - \bigl(k H(S) - k_1 H(S_1) - k_2 H(S_2)\bigr) $$

with $k$ the number of labels in the set and $H$ its entropy in bits. Then both sides are cut in the same way. The best
cut never parts two values that have one and the same label only, so just the boundaries of such blocks are looked at.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from priory.bayes.unfitted import unfitted


class MDLDiscretiser(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn numbers into the codes of bins that tell the labels apart (minimum description length).

    Before a naive Bayes model for named values, where the numbers are not bell-shaped. How many bins a column gets is
    found from the data; a column that says nothing about the label gets one. The first and the last bin are open to
    the outside, and what is missing stays missing (NaN), so that a model can leave it out.

    Attributes: `cut_points_`, for each column its ascending cut points (a value equal to one belongs to the bin below);
    `n_bins_`, for each column the number of its bins.

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
        fitted = unfitted(self)
        numbers, y = validate_data(fitted, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        _, labels = np.unique(y, return_inverse=True)
        known = ~np.isnan(numbers)
        fitted.cut_points_ = [_cut_points(numbers[rows, j], labels[rows]) for j, rows in enumerate(known.T)]
        fitted.n_bins_ = np.array([len(cuts) + 1 for cuts in fitted.cut_points_])
        self.__dict__ = fitted.__dict__
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return the codes, from 0 for the lowest bin: integers, or floats with NaN where a value is missing."""
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
    """The ascending cut points of one column without missing values."""
    if not len(values):
        return np.empty(0)
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros((len(distinct), labels.max() + 1), np.int64)
    np.add.at(counts, (place, labels), 1)
    ends = np.flatnonzero(_is_boundary(counts)) + 1  # how many values are below each boundary
    below = np.vstack([np.zeros_like(counts[0]), counts.cumsum(axis=0)[np.append(ends, len(distinct)) - 1]])
    chosen = ends[np.array(_chosen(below), np.intp) - 1]
    return _between(distinct[chosen - 1], distinct[chosen])


def _is_boundary(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether neighbouring values differ in label: all of them, but where both have one and the same label only."""
    pure = np.count_nonzero(counts, axis=1) == 1
    label = counts.argmax(axis=1)
    return np.asarray(~(pure[1:] & pure[:-1] & (label[1:] == label[:-1])))


def _chosen(below: NDArray[np.int64]) -> list[int]:
    """Which boundaries are cut, ascending; row i of `below` counts the labels below boundary i, row 0 has none."""
    sizes = np.arange(below[-1].sum() + 1)
    bits = sizes * np.log2(np.maximum(sizes, 1))
    found, pending = [], [(0, len(below) - 1)]
    while pending:
        start, end = pending.pop()
        whole, left = below[end] - below[start], below[start + 1 : end] - below[start]
        if not len(left):
            continue
        cost = _bits(left, bits) + _bits(whole - left, bits)
        best = int(np.flatnonzero(cost <= cost.min() + 1e-9)[0])  # of equally good cuts the lowest, however rounded
        if _pays(whole, left[best], bits):
            cut = start + 1 + best
            found.append(cut)
            pending += [(start, cut), (cut, end)]
    return sorted(found)


def _bits(counts: NDArray[np.int64], bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many bits the labels of so many rows take, N times H; `bits` has n log2 n for each n, for speed."""
    return np.asarray(bits[counts.sum(axis=-1)] - bits[counts].sum(axis=-1))


def _pays(whole: NDArray[np.int64], left: NDArray[np.int64], bits: NDArray[np.float64]) -> bool:
    """Whether a cut saves more bits than it takes: the formula at the head of this file."""
    parts = np.stack([whole, left, whole - left])
    of_labels, k = _bits(parts, bits), np.count_nonzero(parts, axis=1)
    entropy_of_k = k * of_labels / parts.sum(axis=1)
    log_choices = k[0] * np.log2(3) + np.log1p(-2 * 3.0 ** -float(k[0])) / np.log(2)  # log2(3^k - 2), for any k
    price = np.log2(whole.sum() - 1) + log_choices - (entropy_of_k[0] - entropy_of_k[1:].sum())
    return bool(of_labels[0] - of_labels[1:].sum() > price)


def _between(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle, not below low and less than high even where they are neighbouring floats."""
    return np.clip(low / 2 + high / 2, low, np.nextafter(high, -np.inf))
