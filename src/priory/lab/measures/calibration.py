r"""Calibration: of the messages that get a probability of 80 % for spam, 80 % should be spam.

The reliability curve shows for each bin the mean probability $\bar p_b$ and the share $\bar y_b$ that belongs to the
class. Their mean distance is the expected calibration error, $\text{ECE} = \sum_b \frac{n_b}{n} |\bar p_b - \bar y_b|$.
Two proper scores measure ranking and calibration together: Brier's $\frac1n \sum (p - y)^2$ and the log loss
$-\frac1n \sum \log p_{\text{true}}$. On average, both are lowest for the true probabilities. Their intervals are
normal for the logarithm of the mean; with few mistakes they are too short.

G. Brier: Verification of forecasts expressed in terms of probability. Monthly Weather Review 78, 1950, 1-3. C. Guo et
al.: On calibration of modern neural networks. ICML 2017.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.special import ndtri

from priory.lab.error import LabError
from priory.lab.measures.design_effect import design_effect, n_groups
from priory.lab.measures.interval import LEVEL, N_RESAMPLES, Interval, resample_sums, share
from priory.lab.measures.ranking import Floats
from priory.lab.predictions import Predictions, require_examples, require_known

N_BINS: Final = 20
_Z = float(-ndtri((1 - LEVEL) / 2))
_LEAST = float(np.finfo(np.float64).eps)  # the smallest probability in scikit-learn's log loss


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """The bins with examples: mean probability, share of the class with exact limits, and number of examples."""

    mean_probability: Floats
    share: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def reliability(predictions: Predictions, about: int | None = 1, n_bins: int = N_BINS) -> Reliability:
    """Return the reliability curve of one class against the rest, in bins of equal width.

    With `about=None` it is about the most probable class: how often is it correct?

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    >>> curve = reliability(seen, n_bins=2)
    >>> curve.mean_probability.round(6).tolist(), curve.share.tolist(), curve.n.tolist()
    ([0.1, 0.75], [0.0, 1.0], [1, 2])
    """
    p, happened, bins = _by_bin(predictions, about, n_bins)
    n = np.bincount(bins, minlength=n_bins)
    used = n > 0
    of_class = np.bincount(bins, happened, n_bins)[used]
    shares = [_share(happened, predictions.groups, bins == b) for b in np.flatnonzero(used)]
    limits = np.array([[interval.low, interval.high] for interval in shares])
    mean = np.bincount(bins, p, n_bins)[used] / n[used]
    return Reliability(mean, of_class / n[used], limits[:, 0], limits[:, 1], n[used].astype(np.int64))


def _share(happened: NDArray[np.bool_], groups: NDArray[np.int64] | None, inside: NDArray[np.bool_]) -> Interval:
    effect = design_effect(happened[inside], None if groups is None else groups[inside])
    return share(int(happened[inside].sum()), int(inside.sum()), design_effect=effect)


def calibration_error(
    predictions: Predictions,
    about: int | None = 1,
    n_bins: int = N_BINS,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Interval:
    r"""Return the expected calibration error of one class, or (None) of the most probable one.

    On a sample it is too high, because chance makes gaps, too, and on resampled examples this bias is doubled. So the
    bootstrap measures how far the gaps $g_b$ of all bins move. The lower limit subtracts the 97.5 % quantile of
    $\sum_b |g_b^* - g_b|$; the upper limit adds 1.96 times the root of the sum of the variances of $g_b^*$. The
    interval reaches 0 if chance alone explains the gaps.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    >>> round(calibration_error(seen).estimate, 6)                              # (0.1 + 0.2 + 0.3) / 3
    0.2
    """
    p, happened, bins = _by_bin(predictions, about, n_bins)
    n = len(p)
    gaps = csr_array((p - happened, bins, np.arange(n + 1)), shape=(n, n_bins))
    mean_gaps = gaps.sum(axis=0) / n
    with_ones = hstack([gaps, np.ones((n, 1))], format="csr")
    error = float(np.abs(mean_gaps).sum())
    if not n_resamples:
        return Interval(error, np.nan, np.nan)
    drawn = resample_sums(with_ones, predictions.truth, groups=predictions.groups, n_resamples=n_resamples, seed=seed)
    moved = drawn[:, :-1] / drawn[:, -1:] - mean_gaps
    lower = float(np.quantile(np.abs(moved).sum(axis=1), (1 + LEVEL) / 2))
    higher = _Z * float(np.sqrt((moved**2).mean(axis=0).sum()))
    return Interval(error, max(error - lower, 0.0), min(error + higher, 1.0))


def brier(predictions: Predictions) -> Interval:
    """Return the mean squared distance of the probabilities from the outcomes.

    With two classes it is that of one class (0 to 1), with more it is summed over all (0 to 2).

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.9, 0.1], [0.5, 0.5]])
    >>> round(brier(seen).estimate, 6)                                          # (0.01 + 0.25) / 2
    0.13
    """
    require_examples(predictions)
    happened = np.eye(predictions.n_classes)[predictions.truth]
    squares = ((predictions.probabilities - happened) ** 2).sum(axis=1)
    losses, greatest = (squares / 2, 1.0) if predictions.n_classes == 2 else (squares, 2.0)
    return _mean(losses, greatest, predictions.groups)


def log_loss(predictions: Predictions) -> Interval:
    """Return the mean of -log p of the true class, in nats.

    One true class with probability 0 would make it infinite. As in scikit-learn, probabilities are at least 2.2e-16, so
    that such an example costs 36.

    >>> seen = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.5, 0.5], [0.5, 0.5]])
    >>> round(log_loss(seen).estimate, 6)                                       # log 2
    0.693147
    """
    require_examples(predictions)
    of_truth = predictions.log_probabilities[np.arange(len(predictions)), predictions.truth]
    return _mean(-np.maximum(of_truth, np.log(_LEAST)), -float(np.log(_LEAST)), predictions.groups)


def _mean(losses: Floats, greatest: float, groups: NDArray[np.int64] | None) -> Interval:
    """Return a mean of losses with a normal interval for its logarithm, because few large losses dominate it.

    If all losses are 0, the upper limit is that of the largest loss occurring unseen in n examples.
    """
    n, mean, effect = len(losses), float(losses.mean()), design_effect(losses, groups)
    if mean == 0:
        return Interval(0.0, 0.0, greatest * share(0, n, design_effect=effect).high)
    if n_groups(groups, n) == 1:
        return Interval(mean, np.nan, np.nan)
    factor = float(np.exp(_Z * losses.std(ddof=1) / np.sqrt(n / effect) / mean))
    return Interval(mean, mean / factor, min(mean * factor, greatest))


def _by_bin(
    predictions: Predictions, about: int | None, n_bins: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """Return the probability, the outcome and the bin of each example."""
    require_examples(predictions)
    if n_bins < 1:
        raise LabError(f"the number of bins must be 1 or more, not {n_bins}")
    if about is None:
        p, happened = predictions.probabilities.max(axis=1), ~predictions.errors
    else:
        require_known(predictions.classes, about)
        p, happened = predictions.probabilities[:, about], predictions.truth == about
    return p, happened, np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
