r"""Naive Bayes on the presence of features, read as a sum with one term per feature.

For a label $k$ against the rest $\bar k$, a feature $f$ that is present contributes the smoothed log ratio

$$ t_f = \log\frac{(c_{fk} + \beta) / (n_k + 2\beta)}{(c_{f\bar k} + \beta) / (n_{\bar k} + 2\beta)} $$

where $c_{fk}$ of the $n_k$ messages under $k$ had the feature. This is the ratio of `BernoulliNB`'s probabilities of
presence. A feature without any occurrence has $t_f = 0$.

Counts describe each label separately. Where two labels share most of their features (wanted and unwanted newsletters),
the few features that tell them apart drown. So each message that is learned leaves a correction $r$ with its features.
If $p$ was the probability of its label just before it was learned,

$$ r = (1 - p) \cdot \frac{p}{p + \epsilon} $$

towards that label. The first factor is the step of logistic regression: small for a message that was predicted well,
large for a surprise. The second factor is the probability that the label is right: people mislabel, and a message that
is clearly of another label is more probably mislabelled than instructive. Without it, wrong labels on a tenth of the
mail make the sum worse than the counts alone; with it, the sum is better (docs/decisions/accuracy.md). Corrections are
small whole numbers stored with the message, so they add up in any order and forgetting removes exactly what was added:

$$ u_f = t_f + \eta \sum_{i \ni f} r_i $$

Naive Bayes adds the terms. The features of one message are far from independent, though: the six-byte substrings of one
sentence all repeat the same evidence. So each group $g$ of features enters by its damped mean, which acts as a
temperature that grows with the number $m_g$ of its features:

$$ s = \sum_g \frac{w_g}{m_g + d} \sum_{f \in g} u_f $$

docs/decisions/accuracy.md tells how the parameters were chosen and which alternatives were tried.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Final, NamedTuple

from priory.bayes.calibration import Calibration
from priory.bayes.counts import BIN_WIDTH, SCORE_LIMIT, Counts, FeatureNumbers
from priory.native.table import Scorer

if TYPE_CHECKING:
    from typing_extensions import Buffer


#: Corrections are stored in multiples of 1 / UNIT; the largest, at a probability of 0.2, is 10.
UNIT: Final = 16
DOUBT: Final = 0.05  #: ε
_scorer = lru_cache(maxsize=8)(Scorer)  # equal models in all threads share one table of logarithms


class PresenceBayes:
    """The parameters of the model: a weight and a damping d per group of features, the smoothing β and the rate η."""

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
        self.scorer = _scorer(weights, self.damping, smoothing, rate / UNIT)

    def terms(self, features: FeatureNumbers, counts: Counts, label: int, slope: float = 1) -> "array[float]":
        """Return one term per feature, times a slope; their sum is the score of the label against the rest.

        >>> from types import SimpleNamespace
        >>> def message(*buckets):
        ...     return SimpleNamespace(buckets=array("I", buckets), offsets=array("q", [0, len(buckets)]), named=1)
        >>> counts = Counts.empty(bits=4, n_labels=2)
        >>> counts.add(message(1, 2), label=0)
        >>> counts.add(message(2, 3), label=1)
        >>> model = PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
        >>> [round(term, 3) for term in model.terms(message(2, 3), counts, label=1)]  # the second: log(1.5 / 0.5) / 2
        [0.0, 0.549]
        """
        return self.scorer.terms(
            counts.rows, counts.names, counts.totals,
            features.buckets, features.offsets, features.named, label, slope,
        )  # fmt: skip

    def learning_run(
        self,
        counts: Counts,
        messages: "list[tuple[Buffer, Buffer, int]]",
        labels: Sequence[int],
        in_turn: Sequence[bool],
    ) -> "LearningRun":
        """Return messages prepared for learning in order, each given by `buckets`, `offsets` and `named`.

        Messages marked in `in_turn` are scored before they are counted, once there is enough mail of each label to
        compare.
        """
        scores = array("d", [nan]) * (len(messages) * len(counts.held_out))
        return LearningRun(self, counts, messages, array("q", labels), bytes(in_turn), scores)


class LearningRun(NamedTuple):
    """Messages that are scored and counted in order, for as long as the calibration is certain of their labels.

    >>> counts, model = Counts.empty(bits=4, n_labels=2), PresenceBayes(weights=(1.0,), smoothing=0.5, damping=0.0)
    >>> one, other = ((array("I", [bucket]), array("q", [0, 1]), 1) for bucket in (3, 4))
    >>> run = model.learning_run(counts, [one, other, other, one], labels=[0, 1, 1, 1], in_turn=[True] * 4)
    >>> run.learn(0, 4, [Calibration(1.0, 0.0)], certain=1.0)
    3
    >>> [round(score, 3) for score in run.scores]
    [nan, nan, 1.099, -1.504]
    """

    model: PresenceBayes
    counts: Counts
    messages: "list[tuple[Buffer, Buffer, int]]"
    labels: "array[int]"
    in_turn: bytes
    scores: "array[float]"  #: [message · contrast]: NaN where not scored (yet)

    def learn(self, start: int, late: int, lines: Sequence[Calibration], certain: float) -> int:
        """Count messages from `start` on; return the index of the first that was not counted.

        Learning stops at a message whose label gets log-odds below `certain` from the calibration of some contrast; it
        has been scored by then. It also stops at a message from `late` on that is to be scored, before scoring it.
        """
        counts = self.counts
        numbers = array("d", [number for line in lines for number in (line.slope, line.intercept)])
        return self.model.scorer.learn(
            counts.rows, counts.names, counts.totals, counts.held_out, self.messages, self.labels, self.in_turn,
            start, late, numbers, certain, SCORE_LIMIT, BIN_WIDTH, self.scores,
        )  # fmt: skip

    def scores_of(self, message: int) -> list[float]:
        """Return the scores of one message in each contrast; NaN if it was not scored."""
        n = len(self.counts.held_out)
        return self.scores[message * n : (message + 1) * n].tolist()


def correction(probability: float) -> int:
    """Return the correction for a message whose label had this probability, as a multiple of 1 / UNIT.

    >>> [correction(p) for p in (1.0, 0.9, 0.5, 0.2, 0.01, 0.0)]
    [0, 2, 7, 10, 3, 0]
    """
    return round(UNIT * (1 - probability) * probability / (probability + DOUBT))
