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

from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from priory.bayes.calibration import Calibration
from priory.bayes.correction import UNIT
from priory.bayes.counts import BIN_WIDTH, SCORE_LIMIT, Counts
from priory.table import Reading

if TYPE_CHECKING:
    from typing_extensions import Buffer


_reading = lru_cache(maxsize=8)(Reading)  # each has its logarithms, for all models and threads that read alike


class PresenceBayes:
    """The model's few numbers: a weight per group of features, the smoothing β, the damping d (of each), the rate η."""

    def __init__(
        self,
        weights: tuple[float, ...],
        smoothing: float = 0.03,
        damping: float | tuple[float, ...] = 60.0,
        rate: float = 0.3,
    ) -> None:
        if not smoothing > 0:
            raise ValueError(f"smoothing must be above 0, not {smoothing}: a feature never seen has no logarithm")
        self.weights = weights
        self.smoothing = smoothing
        self.damping = damping if isinstance(damping, tuple) else (damping,) * len(weights)
        self.rate = rate
        self.reading = _reading(weights, self.damping, smoothing, rate / UNIT)

    def terms(
        self, buckets: "Buffer", offsets: "Buffer", counts: Counts, label: int, slope: float = 1
    ) -> "array[float]":
        """Return one term per feature, times a slope; their sum is the score of the label against the rest.

        >>> counts = Counts.empty(bits=4, n_labels=2)
        >>> counts.add(array("I", [1, 2]), label=0)
        >>> counts.add(array("I", [2, 3]), label=1)
        >>> model = PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
        >>> terms = model.terms(array("I", [2, 3]), array("q", [0, 2]), counts, label=1)
        >>> [round(term, 3) for term in terms]  # log(1.5 / 0.5) / 2 for the second
        [0.0, 0.549]
        """
        return self.reading.terms(counts.rows, counts.totals, buckets, offsets, label, slope)

    def run(
        self, counts: Counts, messages: "list[tuple[Buffer, Buffer]]", labels: Sequence[int], in_turn: Sequence[bool]
    ) -> "Run":
        """Return messages, each its features and where each group of them starts, to be counted one after the other.

        Those that are in turn are scored before, if there are enough of each label to compare by then.
        """
        scores = array("d", [nan]) * (len(messages) * len(counts.held_out))
        return Run(self, counts, messages, array("q", labels), bytes(in_turn), scores)


class Run(NamedTuple):
    """Messages that are counted in their order, each scored just before, as far as a line is certain of their labels.

    >>> counts, model = Counts.empty(bits=4, n_labels=2), PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
    >>> one, other = ((array("I", [bucket]), array("q", [0, 1])) for bucket in (3, 4))
    >>> run = model.run(counts, [one, other, other, one], labels=[0, 1, 1, 1], in_turn=[True] * 4)
    >>> run.learn(0, 4, [Calibration(1.0, 0.0)], certain=1.0)
    3
    >>> [round(score, 3) for score in run.scores]
    [nan, nan, 1.099, -1.504]
    """

    model: PresenceBayes
    counts: Counts
    messages: "list[tuple[Buffer, Buffer]]"
    labels: "array[int]"
    in_turn: bytes
    scores: "array[float]"  #: of each message in each contrast: not a number for what was not scored, or not yet

    def learn(self, start: int, late: int, lines: Sequence[Calibration], certain: float) -> int:
        """Count messages from `start` on; return the first that was not.

        That is one to whose label the line of some contrast gives log-odds below `certain`, and then it has a score; or
        one to be scored, from `late` on, which has none yet; or as many as there are.
        """
        counts = self.counts
        of_lines = array("d", [number for line in lines for number in (line.slope, line.intercept)])
        return self.model.reading.learn(
            counts.rows, counts.totals, counts.held_out, self.messages, self.labels, self.in_turn,
            start, late, of_lines, certain, SCORE_LIMIT, BIN_WIDTH, self.scores,
        )  # fmt: skip

    def scores_of(self, message: int) -> list[float]:
        """Return the scores of one message, not numbers if it has none."""
        n = len(self.counts.held_out)
        return self.scores[message * n : (message + 1) * n].tolist()
