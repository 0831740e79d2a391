r"""How much a lesson corrects what the counts say: by how wrong they were, unless the label looks wrong.

Counts describe each label by itself. Where two labels share most of their features (a newsletter that is wanted and
one that is not) the few that tell them apart drown. So a lesson leaves a correction with each of its features: with the
probability $p$ that the message was given just before it was learned, of the label it turned out to have,

$$ r = (1 - p) \cdot \frac{p}{p + \epsilon} $$

towards that label. The first factor is the step of logistic regression: nothing for what was known, much for what came
as a surprise. The second is the probability that the label is no slip: people mislabel, and a message that is surely
something else is more probably a wrong label than a lesson. Without it a tenth of wrong labels ruins the sum, with it
the sum is better than the counts alone (docs/decisions/accuracy.md).

A correction is a small whole number, written down with its lesson. So corrections are counts, too: they add up in any
order, and forgetting a lesson takes back exactly what it has added.
"""

from typing import Final

#: A correction of 1 in whole numbers; the largest there is, at a probability of 0.2, is 10.
UNIT: Final = 16
DOUBT: Final = 0.05  #: ε


def correction(probability: float) -> int:
    """Return the correction for a message whose label had this probability, as a multiple of 1 / UNIT.

    >>> [correction(p) for p in (1.0, 0.9, 0.5, 0.2, 0.01, 0.0)]
    [0, 2, 7, 10, 3, 0]
    """
    return round(UNIT * (1 - probability) * probability / (probability + DOUBT))
