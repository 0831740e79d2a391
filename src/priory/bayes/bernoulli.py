"""Naive Bayes on presence and absence: under each class, each feature is a coin with its own bias."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin

from priory.bayes.estimator import check_alpha
from priory.bayes.input import read_matrix
from priory.bayes.kernels import weigh_coins
from priory.bayes.missing_values import MaskedRows, MissingValuesMixin
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, Labels, log_shares, used_columns, weighted_logs


@dataclass(frozen=True, slots=True)
class _Coins:
    """The log-odds of presence, [feature, class], and the log-probability of the absence of all features, [class]."""

    gains: Floats
    baseline: Floats

    def total(self, ones: Any) -> Floats:
        """Return the log-likelihood of each row, [row, class]."""
        return np.asarray(ones @ self.gains, np.float64) + self.baseline


class BernoulliNB(MissingValuesMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes for features that are present or absent.

    $$ \log p(x, c) = \log p(c) + \sum_j x_j \log p_{cj} + (1 - x_j) \log (1 - p_{cj}),
       \qquad p_{cj} = \frac{n_{cj} + \alpha}{n_c + 2\alpha} $$

    Of $n_c$ rows of class $c$ in which feature $j$ is known, $n_{cj}$ have it. A missing value (NaN) is summed out: it
    adds nothing and is counted nowhere. Rows may be dense or sparse (CSR). Learning costs one addition per non-zero;
    forgetting also checks each feature of the affected classes once (a millisecond for a million). Use it for short
    texts, and where absence is evidence too; for word counts see `MultinomialNB`.

    Parameters: `alpha`, the pseudo-count (0 is maximum likelihood); `prior`, "fitted", "smoothed", "uniform", or
    probabilities; `binarize`, the value above which a feature is present.

    Attributes: `classes_`, `class_count_` [class], `feature_count_` and `missing_count_` [feature, class],
    `feature_log_prob_` [class, feature].

    >>> mail = [[1, 1], [1, 0], [0, 1], [0, 0]]                     # has "offer", has "lunch"
    >>> model = BernoulliNB().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict_proba([[1, 0]]).round(9).tolist()             # 3/4 · 1/2 against 1/4 · 1/2
    [[0.25, 0.75]]
    >>> print(model.explain([[1, 0]])[0])
    spam against ham: +1.099
      prior  +0.000
      x0     +1.099
      x1     +0.000
    """

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "fitted", binarize: float = 0.0) -> None:
        self.alpha = alpha
        self.prior = prior
        self.binarize = binarize

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(feature present, given class), [class, feature]."""
        return self._log_sides()[1].T

    def _rows(self, X: Any, *, reset: bool) -> MaskedRows:
        check_alpha(self.alpha)
        X = read_matrix(self, X, reset=reset, sparse=True, missing=True)
        if not isinstance(self.binarize, (int, float, Real)) or np.isnan(self.binarize):
            raise ValueError(f"binarize must be a number, above which a feature is present, not {self.binarize!r}")
        if issparse(X) and self.binarize < 0:
            raise ValueError(f"binarize must be 0 or more for sparse X, not {self.binarize}: zeros are absent there")
        return MaskedRows.of(X, self._presence)

    def _presence(self, numbers: Floats) -> Floats:
        """Return 1 for a feature that is present, else 0; numbers that are already all 1 are not copied."""
        if self.binarize < 1 and (numbers == 1).all():
            return numbers
        return np.greater(numbers, self.binarize).astype(np.float64)

    def _bounded(self, label: int) -> Floats:
        """Return presences plus gaps: if they exceeded the rows, an absence was forgotten that was never learned."""
        counts = self.feature_count_[:, label]
        return counts + self.missing_count_[:, label] if len(self.missing_count_) else counts

    def _log_sides(self, columns: Any = slice(None)) -> tuple[Floats, Floats]:
        """Return log p(absent) and log p(present), [feature, class]."""
        counts, known = self.feature_count_[columns], self._n_known(columns)
        absences = np.maximum(known - counts, 0)
        return log_shares(absences, known, 2, self.alpha), log_shares(counts, known, 2, self.alpha)

    def _estimate(self) -> _Coins | None:
        if self.alpha == 0:
            return None
        gains = np.empty_like(self.feature_count_)
        return _Coins(gains, self._weigh(gains))

    def _weigh(self, gains: Floats) -> Floats:
        """Return the log-probability of the absence of all features, and fill `gains` with the log-odds of presence."""
        return weigh_coins(self.feature_count_, self._n_known(), self.alpha, gains)

    def _coins_of(self, columns: Any) -> _Coins:
        absent, present = self._log_sides(columns)
        return _Coins(present - absent, self._weigh(np.empty((0, len(self.classes_)))))

    def _log_likelihood(self, rows: MaskedRows) -> Floats:
        if self.alpha == 0:
            return self._exact_log_likelihood(rows)
        columns, ones = used_columns(rows.values)
        if self._is_estimated() or ones is rows.values:
            log_likelihood = self._parameters().total(rows.values)
        else:
            log_likelihood = self._coins_of(columns).total(ones)
        return np.asarray(log_likelihood if rows.gaps is None else log_likelihood - rows.gaps @ self._log_sides()[0])

    def _exact_log_likelihood(self, rows: MaskedRows) -> Floats:
        """Return the log-likelihood without smoothing, where a side may be impossible, row by row."""
        absent, present = self._log_sides()
        sums = [
            weighted_logs(ones, present) + weighted_logs(1 - ones - missing, absent) for ones, missing in rows.dense()
        ]
        return np.vstack(sums)

    def _terms(self, rows: MaskedRows) -> Iterator[tuple[NDArray[np.int64], Floats, Floats]]:
        absent, present = self._log_sides()
        return self._row_terms(rows, lambda ones: np.where(ones[:, None] > 0, present, absent))

    def _draw(self, labels: Labels, rng: np.random.Generator) -> Any:
        probabilities = np.exp(self._log_sides()[1])
        one, zero = max(self.binarize + 1.0, 1.0), min(self.binarize, 0.0)
        return self._stack(
            np.where(rng.random(len(probabilities)) < probabilities[:, label], one, zero) for label in labels
        )
