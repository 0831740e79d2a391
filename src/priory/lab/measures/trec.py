r"""The three figures by which TREC's spam track compared filters, so that a result can be set beside the literature.

**1-ROCA%** is how often, in percent, a random spam ranks below a random ham. **h** is the share of spam that is missed
where the threshold loses a given share of the ham: a tenth of a percent, or half, for which less mail will do.
**lam%** averages both errors at one threshold on the scale of their log-odds, so that halving either improves it
equally:

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

from priory.lab.design_effect import design_effect
from priory.lab.error import LabError
from priory.lab.interval import LEVEL, Interval
from priory.lab.measures.placements import Floats
from priory.lab.measures.presence import require_both, require_two_classes
from priory.lab.measures.ranking import auc
from priory.lab.predictions import Predictions

_OUTSIDE = (1 - LEVEL) / 2
_SOME = 1e-9  # for what is not looked at, because there is none


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

    The threshold is that of the ham with rank $\lfloor \text{lost} \cdot n \rfloor$ from above; what is not beyond it
    is missed. The interval knows that the threshold is an estimate, too: of $n$ ham, binomially many lie beyond the
    threshold that loses just this share of all ham, and for each possible number $j$ the spam between the ham of ranks
    $j$ and $j+1$ is in doubt. The limits of Clopper and Pearson are averaged over $j$. With few ham it is wide: among
    700 ham, a loss of one in a thousand is more likely than not to be never seen. In groups of near-copies, the
    ham and the spam count for as many as their design effects at the threshold leave of them.

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
    """Return, for ham and for spam, the design effect of the share that lies beyond a threshold."""
    of, groups = [predictions.truth == code for code in (0, 1)], predictions.groups
    return [design_effect(beyond[each], None if groups is None else groups[each]) for each in of]


def _n_up_to(ascending: Floats, thresholds: Any) -> Any:
    return np.searchsorted(ascending, thresholds, side="right")


def _limits(ham: Floats, spam: Floats, lost: float, design_effects: Sequence[float]) -> tuple[float, float]:
    """Average the limits of Clopper and Pearson over how many of the ham lie beyond the true threshold."""
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
    r"""Return the logistic average of both errors, where spam is what is more probable than the threshold.

    An error that never happened would make it 0 whatever the other is, so half an example is added on both sides:
    $\operatorname{logit} = \log\frac{k + 1/2}{n - k + 1/2}$, whose variance is
    $\frac1{k + 1/2} + \frac1{n - k + 1/2}$. (The contest of CEAS 2007 took $(k + 1/2)/(n + 1/2)$: the same but for one
    part in $2n$.) The interval is that of the normal distribution on the scale of log-odds; in groups of near-copies
    $k$ and $n$ are first divided by their design effect.

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
    counts = np.array([[each.sum(), (~each).sum()] for each in wrong])
    found, _ = _logistic_average(counts)
    middle, margin = _logistic_average(counts / np.array(_design_effects(predictions, beyond))[:, None])
    low, high = min(middle - margin, found), max(middle + margin, found)
    return Interval(*(float(expit(each)) for each in (found, low, high)))


def _logistic_average(counts: NDArray[Any]) -> tuple[float, float]:
    """Return the mean log-odds of wrong and right [class, wrong or right], and how far it may be off."""
    smoothed = counts + 0.5
    margin = -ndtri(_OUTSIDE) * np.sqrt((1 / smoothed).sum()) / 2
    return float(np.log(smoothed[:, 0] / smoothed[:, 1]).mean()), float(margin)
