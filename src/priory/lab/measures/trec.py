r"""The three figures by which TREC's spam track compared filters, for comparison with the literature.

**1-ROCA%** is how often, in percent, a random spam ranks below a random ham. **h** is the share of spam that is missed
at the threshold that loses a given share of the ham: 0.1 %, or 0.5 %, which needs less mail. **lam%** averages both
errors at one threshold on the scale of log-odds, so that halving either has the same effect:

$$ \text{lam} = \operatorname{logit}^{-1}\left(\tfrac12 \operatorname{logit}(\text{ham lost})
   + \tfrac12 \operatorname{logit}(\text{spam missed})\right) $$

G. Cormack, T. Lynam: TREC 2005 spam track overview. Proceedings of the 14th Text REtrieval Conference, 2005.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betainc, expit, logit, ndtri
from scipy.stats import binom

from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import LEVEL, Interval
from priory.lab.measures.ranking import Floats, auc
from priory.lab.predictions import Predictions, require_both, require_two_classes

_OUTSIDE = (1 - LEVEL) / 2
_SOME = 1e-9  # avoids 0 in cases that `np.where` then ignores


def one_minus_roca(predictions: Predictions) -> Interval:
    """Return 100 · (1 - AUC), with DeLong's interval.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> print(one_minus_roca(seen))
    6.2500 (0.3454 to 56.1818)
    """
    require_two_classes(predictions, "1-ROCA%")
    area = auc(predictions)
    return Interval(100 * (1 - area.estimate), 100 * (1 - area.high), 100 * (1 - area.low))


def missed_at(predictions: Predictions, lost: float = 0.001) -> Interval:
    r"""Return the share of spam missed (class 1), where `lost` of the ham (class 0) would be lost.

    The threshold is that of the ham with rank $\lfloor \text{lost} \cdot n \rfloor$ from above; spam that is not beyond
    it is missed. The interval takes into account that the threshold is an estimate, too: the number $j$ of the $n$ ham
    beyond the true threshold is binomial, and for each $j$ the spam between the ham of ranks $j$ and $j+1$ is in doubt.
    The limits of Clopper and Pearson are averaged over $j$. With few ham the interval is wide: among 700 ham, a loss of
    one in a thousand is probably never seen. With groups of near-copies, the numbers of ham and spam are divided by
    their design effects at the threshold.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> print(missed_at(seen))
    0.2500 (0.0053 to 1.0000)
    """
    require_two_classes(predictions, "missed_at")
    require_both(predictions, 1)
    if not 0 <= lost < 1:
        raise LabError(f"the share of {predictions.classes[0]} that may be lost is from 0 to below 1, not {lost}")
    log_odds = predictions.log_odds()
    descending = np.sort(log_odds[predictions.truth == 0])[::-1]
    ascending = np.sort(log_odds[predictions.truth == 1])
    threshold = descending[int(lost * len(descending))]
    missed = float(_n_up_to(ascending, threshold) / len(ascending))
    low, high = _limits(descending, ascending, lost, _design_effects(predictions, log_odds > threshold))
    return Interval(missed, min(low, missed), max(high, missed))


def _design_effects(predictions: Predictions, beyond: NDArray[np.bool_]) -> list[float]:
    """Return the design effect of the share beyond a threshold, for ham and for spam."""
    of, groups = [predictions.truth == code for code in (0, 1)], predictions.groups
    return [design_effect(beyond[members], None if groups is None else groups[members]) for members in of]


def _n_up_to(ascending: Floats, thresholds: Any) -> Any:
    return np.searchsorted(ascending, thresholds, side="right")


def _limits(ham: Floats, spam: Floats, lost: float, design_effects: Sequence[float]) -> tuple[float, float]:
    """Average the limits of Clopper and Pearson over the number of ham beyond the true threshold."""
    n, n_ham = len(spam) / design_effects[1], len(ham)
    n_apart = max(round(n_ham / design_effects[0]), 1)
    fewest_beyond, most_beyond = binom.ppf([1e-12, 1 - 1e-12], n_apart, lost).astype(int)
    apart = np.arange(fewest_beyond, most_beyond + 1)
    weights = binom.pmf(apart, n_apart, lost)
    beyond = np.rint(apart * (n_ham / n_apart)).astype(int)
    fewest = _n_up_to(spam, np.append(ham, -np.inf)[beyond])
    fewest[beyond == n_ham] = 0
    most = _n_up_to(spam, np.append(np.inf, ham)[beyond])
    at_least, at_most = fewest / design_effects[1], most / design_effects[1]

    def too_low(share: float) -> float:
        below = np.where(fewest == 0, 1.0, betainc(np.maximum(at_least, _SOME), n - at_least + 1, share))
        return float(weights @ below) - _OUTSIDE

    def too_high(share: float) -> float:
        above = np.where(most == len(spam), 1.0, 1 - betainc(at_most + 1, np.maximum(n - at_most, _SOME), share))
        return float(weights @ above) - _OUTSIDE

    low = 0.0 if too_low(0.0) >= 0 else brentq(too_low, 0, 1)
    high = 1.0 if too_high(1.0) >= 0 else brentq(too_high, 0, 1)
    return float(low), float(high)


def lam(predictions: Predictions, threshold: float = 0.5) -> Interval:
    r"""Return the logistic average of both errors; messages above the threshold are called spam.

    An error rate of 0 would make it 0 whatever the other is, so half an example is added on both sides:
    $\operatorname{logit} = \log\frac{k + 1/2}{n - k + 1/2}$, whose variance is
    $\frac1{k + 1/2} + \frac1{n - k + 1/2}$. (The contest of CEAS 2007 took $(k + 1/2)/(n + 1/2)$: the same but for one
    part in $2n$.) The interval is normal on the scale of log-odds; with groups of near-copies $k$ and $n$ are first
    divided by their design effect.

    >>> mail = ["ham"] * 4 + ["spam"] * 4
    >>> seen = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0, 0.1, 0.3, 0.6, 0.4, 0.8, 0.97, 1)])
    >>> print(lam(seen))
    0.3000 (0.0998 to 0.6237)
    """
    require_two_classes(predictions, "lam%")
    require_both(predictions, 1)
    if not 0 <= threshold <= 1:
        raise LabError(f"a threshold is a probability from 0 to 1, not {threshold}")
    beyond = predictions.log_odds() > logit(threshold)
    wrong = [beyond[predictions.truth == 0], ~beyond[predictions.truth == 1]]
    counts = np.array([[errors.sum(), (~errors).sum()] for errors in wrong])
    estimate, _ = _logistic_average(counts)
    middle, margin = _logistic_average(counts / np.array(_design_effects(predictions, beyond))[:, None])
    low, high = min(middle - margin, estimate), max(middle + margin, estimate)
    return Interval(*(float(expit(log_odds)) for log_odds in (estimate, low, high)))


def _logistic_average(counts: NDArray[Any]) -> tuple[float, float]:
    """Return the mean log-odds of counts [class, wrong or right], and its margin."""
    smoothed = counts + 0.5
    margin = -ndtri(_OUTSIDE) * np.sqrt((1 / smoothed).sum()) / 2
    return float(np.log(smoothed[:, 0] / smoothed[:, 1]).mean()), float(margin)
