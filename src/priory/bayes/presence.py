r"""Naive Bayes on the presence of features, read as a sum with one term per feature.

For a label $k$ against the rest $\bar k$, a feature $f$ that is present gives the smoothed log ratio

$$ t_f = \log\frac{(c_{fk} + \beta) / (n_k + 2\beta)}{(c_{f\bar k} + \beta) / (n_{\bar k} + 2\beta)} $$

where $c_{fk}$ of the $n_k$ messages under $k$ had the feature: the ratio of `BernoulliNB`'s probabilities for what is
present. One that no message had says nothing, $t_f = 0$. Naive Bayes adds the $t_f$. Features of one message are far
from independent, though: the six-byte pieces of one sentence all say the same thing. So each group $g$ of features
enters by its damped mean, which is a temperature that grows with the number of its features $m_g$:

$$ s = \sum_g \frac{w_g}{m_g + d} \sum_{f \in g} t_f $$

Measured on real mail, the mean ranks better than the sum (1-ROCA 0.018 % against 0.024 %), and $\beta = 0.01$ better
than 1 (docs/decisions/model.md).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priory.bayes.counts import Counts
from priory.bayes.smoothing import log_pseudo
from priory.kernels import Buckets, terms


@lru_cache(maxsize=8)
def _log_table(smoothing: float) -> NDArray[np.float64]:
    """Logarithms of the small counts, which are nearly all there are."""
    return log_pseudo(np.arange(4096), smoothing)


@dataclass(frozen=True, slots=True)
class PresenceBayes:
    """The model's few numbers: a weight per group of features, the smoothing β and the damping d."""

    weights: tuple[float, ...]
    smoothing: float = 0.01
    damping: float = 3.0

    def __post_init__(self) -> None:
        if not self.smoothing > 0:
            raise ValueError(f"smoothing must be above 0, not {self.smoothing}: a feature never seen has no logarithm")

    def terms(self, buckets: Buckets, offsets: NDArray[np.int64], counts: Counts, label: int) -> NDArray[np.float64]:
        """Return one term per feature; their sum is the score of the label against the rest.

        >>> counts = Counts.empty(bits=4, n_labels=2)
        >>> counts.add(np.array([1, 2], np.uint32), label=0)
        >>> counts.add(np.array([2, 3], np.uint32), label=1)
        >>> model = PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
        >>> message = np.array([2, 3], np.uint32)
        >>> model.terms(message, np.array([0, 2]), counts, label=1)  # log(1.5 / 0.5) / 2 for the second
        array([0.        , 0.54930614])
        """
        own = counts.totals[label]
        rest = counts.totals.sum() - own
        shift = float(log_pseudo(rest, 2 * self.smoothing) - log_pseudo(own, 2 * self.smoothing))
        scales = np.asarray(self.weights) / np.maximum(offsets[1:] - offsets[:-1] + self.damping, 1e-9)
        table = _log_table(self.smoothing)
        return terms(counts.table, buckets, offsets, scales, table, self.smoothing, label, shift)
