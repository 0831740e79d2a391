r"""Which share of the examples is misjudged in which way, each with its exact interval.

With the class in question as *positive*, TP, FP, FN count what was rightly said to be it, wrongly said to be it, and
wrongly said to be another class:

$$ \text{FPR} = \frac{FP}{\text{negatives}},\quad \text{FNR} = \frac{FN}{\text{positives}},\quad
   \text{precision} = \frac{TP}{TP + FP},\quad \text{recall} = \frac{TP}{\text{positives}},\quad
   \text{Jaccard} = \frac{TP}{TP + FP + FN} $$

What is *unsure* is neither found nor missed: it counts among the positives (so recall and Jaccard fall), but is no FN.
Each is a share of `k` in `n`, and so has the interval of Clopper and Pearson; in groups of near-copies both are divided
by the design effect.
"""

from dataclasses import dataclass

import numpy as np

from priory.lab.interval import Interval
from priory.lab.measures.decisions import Confusion
from priory.lab.measures.presence import require_both_counted


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the examples, about one class against the rest; NaN where there is nothing to take a share of.

    `accuracy` and `unsure` are about all classes.
    """

    false_positive_rate: Interval
    false_negative_rate: Interval
    precision: Interval
    recall: Interval
    jaccard: Interval
    accuracy: Interval
    unsure: Interval


def rates(confusion: Confusion, about: int = 1) -> Rates:
    """Return the shares of errors about one class.

    >>> table = Confusion(("ham", "spam"), ("ham", "spam"), np.array([[90, 10], [5, 95]]))
    >>> print(rates(table).false_positive_rate)
    0.1000 (0.0490 to 0.1762)
    >>> rates(table).jaccard.estimate == 95 / (95 + 10 + 5)
    True
    """
    require_both_counted(confusion.classes, confusion.n_by_class.tolist(), about)
    counts, n_classes = confusion.counts, len(confusion.classes)
    row, column = np.indices(counts.shape)
    positive, said_so, unsure = row == about, column == about, np.asarray(column >= n_classes)
    found, everything, share = positive & said_so, np.ones_like(positive), confusion.share
    return Rates(
        false_positive_rate=share(said_so & ~positive, ~positive),
        false_negative_rate=share(positive & ~said_so & ~unsure, positive),
        precision=share(found, said_so),
        recall=share(found, positive),
        jaccard=share(found, positive | said_so),
        accuracy=share(row == column, everything),
        unsure=share(unsure, everything),
    )
