r"""Naive Bayes on the presence of features, read as a sum with one term per feature.

For a label $k$ against the rest $\bar k$, a feature $f$ that is present gives the smoothed log ratio

$$ t_f = \log\frac{(c_{fk} + \beta) / (n_k + 2\beta)}{(c_{f\bar k} + \beta) / (n_{\bar k} + 2\beta)} $$

where $c_{fk}$ of the $n_k$ messages under $k$ had the feature: the ratio of `BernoulliNB`'s probabilities for what is
present. One that no message had says nothing, $t_f = 0$. To this come the corrections $r_i$ of the messages $i$ that
had the feature (see `correction`), which make up for what counting each label by itself cannot see:

$$ u_f = t_f + \eta \sum_{i \ni f} r_i $$

Naive Bayes adds the terms. Features of one message are far from independent, though: the six-byte pieces of one
sentence all say the same thing. So each group $g$ of features enters by its damped mean, which is a temperature that
grows with the number of its features $m_g$:

$$ s = \sum_g \frac{w_g}{m_g + d} \sum_{f \in g} u_f $$

How the few numbers were chosen, and what else was tried, is in docs/decisions/accuracy.md.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priory.bayes.correction import UNIT
from priory.bayes.counts import Counts, contrast_of
from priory.bayes.smoothing import log_pseudo
from priory.kernels import Buckets, log_counts, terms


@lru_cache(maxsize=8)
def _log_table(smoothing: float, bits: int) -> NDArray[np.float64]:
    """Logarithms of the counts below 2^bits: to look them up takes less time than to compute them."""
    small = log_pseudo(np.arange(4096), smoothing)
    table = np.concatenate([small, np.empty((1 << bits) - len(small))])
    log_counts(table, len(small), smoothing)
    return table


def _log_bits(n_messages: int) -> int:
    """How large the table should be: as large as any count, within limits, 2 MB and a millisecond to fill it.

    >>> _log_bits(100), _log_bits(50_000), _log_bits(5_000_000)
    (12, 16, 18)
    """
    return min(max(n_messages.bit_length(), 12), 18)


@lru_cache(maxsize=8)
def _per_group(
    weights: tuple[float, ...], damping: float | tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    of_each = np.asarray(weights, np.float64)
    return of_each, np.ascontiguousarray(np.broadcast_to(np.asarray(damping, np.float64), of_each.shape))


@lru_cache(maxsize=8)
def _shift(own: int, rest: int, smoothing: float) -> float:
    """What every term has in common: the logarithms of the two numbers of messages."""
    log_rest, log_own = log_pseudo((rest, own), 2 * smoothing).tolist()
    return float(log_rest - log_own)


@dataclass(frozen=True, slots=True)
class PresenceBayes:
    """The model's few numbers: a weight per group of features, the smoothing β, the damping d (of each), the rate η."""

    weights: tuple[float, ...]
    smoothing: float = 0.03
    damping: float | tuple[float, ...] = 60.0
    rate: float = 0.3

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
        totals: list[int] = counts.totals.tolist()
        n = sum(totals)
        logs, shift = _log_table(self.smoothing, _log_bits(n)), _shift(totals[label], n - totals[label], self.smoothing)
        contrast, sign = contrast_of(label, counts.n_labels)
        return terms(
            counts.rows, counts.n_labels, buckets, offsets, *_per_group(self.weights, self.damping),
            logs, self.smoothing, label, contrast, shift, sign * self.rate / UNIT,
        )  # fmt: skip
