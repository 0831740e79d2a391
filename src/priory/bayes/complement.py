"""Complement naive Bayes: steadier than `MultinomialNB` where classes differ much in size."""

from typing import Any

import numpy as np

from priory.bayes.multinomial import MultinomialNB
from priory.bayes.prior import Prior
from priory.bayes.tables import Floats, log_shares


class ComplementNB(MultinomialNB):
    r"""Complement naive Bayes (Rennie et al. 2003): the counts of `MultinomialNB`, of all other classes instead of one.

    $$ s_c = \log p(c) - \sum_j x_j \log \bar p_{cj}, \qquad
       \bar p_{cj} = \frac{n_{\bar c j} + \alpha}{n_{\bar c} + d\alpha} $$

    where $\bar c$ are all classes but $c$: a class is likely if the row does not look like the others. The others of a
    small class are large, so its estimate is steady. With `norm=True` the logarithms of each class are divided by their
    sum, so that no class dominates by the size of its weights.

    $s_c$ takes the place of $\log p(x, c)$ in other models, but it is not a probability of the row: `log_evidence` only
    compares rows of the same length. `sample` draws from the counts as `MultinomialNB` does. Missing counts are
    refused.

    Parameters: `alpha`, the pseudo-count; with 0, a word that no other class has makes its class certain. `prior`,
    "uniform" as in the paper, or as in the other models. `norm`, as above.

    >>> words = [[2, 0], [1, 0], [0, 3]]                            # how often "offer", "lunch"
    >>> model = ComplementNB().fit(words, ["spam", "spam", "ham"])
    >>> model.predict_proba([[1, 0]]).round(9).tolist()             # 1 / (1/5) against 1 / (4/5)
    [[0.2, 0.8]]
    """

    def __init__(self, *, alpha: float = 1.0, prior: Prior = "uniform", norm: bool = False) -> None:
        self.alpha = alpha
        self.prior = prior
        self.norm = norm

    def _rows(self, X: Any, *, reset: bool) -> Any:
        rows = super()._rows(X, reset=reset)
        if self.norm and self.alpha == 0:
            raise ValueError("alpha must be above 0 with norm=True: the logarithm of 0 cannot be divided by a sum")
        if rows[1] is not None:
            raise ValueError("X has NaN: ComplementNB cannot sum missing counts out; impute them, or use MultinomialNB")
        return rows

    def _logs(self, columns: Any) -> Floats:
        if self.norm:
            logs = self._complement_logs(slice(None))
            return np.asarray((logs / logs.sum(axis=0))[columns])
        logs = self._complement_logs(columns)
        return np.negative(logs, out=logs)

    def _complement_logs(self, columns: Any) -> Floats:
        counts = self.feature_count_[columns]
        others = (counts @ np.ones(len(self.classes_)))[:, None] - counts
        n_others = np.maximum(self.token_count_.sum() - self.token_count_, 0)
        np.maximum(others, 0, out=others)
        return log_shares(others, n_others, self.n_features_in_, self.alpha, out=others)
