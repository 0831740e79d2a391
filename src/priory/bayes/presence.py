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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priory.bayes.calibration import Calibration
from priory.bayes.correction import UNIT
from priory.bayes.counts import BIN_WIDTH, SCORE_LIMIT, Counts, contrast_of, contrasts, totals_before
from priory.bayes.smoothing import log_pseudo
from priory.kernels import Buckets, learn_certain, log_counts, terms

Message: TypeAlias = tuple[Buckets, NDArray[np.int64]]  #: its features, and where each group of them starts


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
    return float(_shifts(own, rest, smoothing))


def _shifts(own: ArrayLike, rest: ArrayLike, smoothing: float) -> NDArray[np.float64]:
    """What every term has in common: the logarithms of the two numbers of messages."""
    return np.asarray(log_pseudo(rest, 2 * smoothing) - log_pseudo(own, 2 * smoothing))


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

    def run(
        self, counts: Counts, messages: list[Message], labels: NDArray[np.int64], is_scored: NDArray[np.bool_]
    ) -> "Run":
        """Return messages that are to be counted one after the other, and which of them are scored before."""
        totals = totals_before(counts.totals, labels)
        own = np.ascontiguousarray(totals[:, contrasts(counts.n_labels)])
        shifts = _shifts(own, totals.sum(axis=1, keepdims=True) - own, self.smoothing)
        return Run(self, counts, messages, labels, is_scored, shifts, np.full(shifts.shape, np.nan))


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that are counted in their order, each scored just before, as far as a line is certain of their labels.

    >>> counts, model = Counts.empty(bits=4, n_labels=2), PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
    >>> one, other = ((np.array([bucket], np.uint32), np.array([0, 1])) for bucket in (3, 4))
    >>> run = model.run(counts, [one, other, other, one], np.array([0, 1, 1, 1]), np.array([False, False, True, True]))
    >>> run.learn(0, 4, [Calibration(1.0, 0.0)], certain=1.0)
    3
    >>> run.scores.round(3).tolist()
    [[nan], [nan], [1.099], [-1.504]]
    """

    model: PresenceBayes
    counts: Counts
    messages: list[Message]
    labels: NDArray[np.int64]
    is_scored: NDArray[np.bool_]
    shifts: NDArray[np.float64]  #: [message, contrast]: what all terms of a message have in common when it is its turn
    scores: NDArray[np.float64]  #: [message, contrast]: not a number for what was not scored, or not yet

    def learn(self, start: int, end: int, lines: Sequence[Calibration], certain: float) -> int:
        """Count messages from `start` on; return the first that was not, which is `end` or has been scored.

        That is one to whose label the line of some contrast gives log-odds below `certain`.
        """
        model, counts = self.model, self.counts
        return learn_certain(
            counts.rows, counts.totals, counts.held_out, self.messages, self.labels, self.is_scored, self.shifts,
            start, end, np.array([(line.slope, line.intercept) for line in lines]), certain,
            *_per_group(model.weights, model.damping), _log_table(model.smoothing, _log_bits(int(counts.totals.sum()))),
            model.smoothing, model.rate / UNIT, SCORE_LIMIT, BIN_WIDTH, self.scores,
        )  # fmt: skip
