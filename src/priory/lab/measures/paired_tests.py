r"""Paired comparisons of two models on the same examples, which are more precise than two separate figures.

McNemar's test is about errors: of the $b + c$ examples on which only one of the two is wrong, half should fall to
either if both are equally good, $b \sim \text{Bin}(b + c, \tfrac12)$. DeLong's test is about the area under the ROC
curve. The bootstrap compares any figure, on the same draws of examples.

With groups of near-copies, a campaign that only one model gets wrong is one coin toss, not ten. McNemar's test then is
the probability that the sum of differences $s_g$ within groups is as far from 0 if each group's sign is a coin toss
(Durkalski et al. 2003 give its normal approximation); without groups it is the same test.

A small p-value says that such a difference would be rare between equally good models, not that it is large: look at the
interval. It is valid for two models chosen beforehand, not for the best of many.

Q. McNemar: Note on the sampling error of the difference between correlated proportions or percentages. Psychometrika
12, 1947, 153-157. D. Bonett, R. Price: Adjusted Wald confidence interval for a difference of binomial proportions based
on paired data. Journal of Educational and Behavioral Statistics 37, 2012, 479-488. V. Durkalski et al.: Analysis of
clustered matched-pair data. Statistics in Medicine 22, 2003, 2417-2428.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from priory.decision import UNSURE, Costs
from priory.lab.error import LabError
from priory.lab.measures.confusion_matrix import said
from priory.lab.measures.costs import prices_of
from priory.lab.measures.design_effect import design_effect
from priory.lab.measures.interval import LEVEL, N_RESAMPLES, Interval, ResamplingUnits, interval_of_draws, resample
from priory.lab.measures.ranking import Floats, area_and_influences, variance
from priory.lab.predictions import Predictions, require_both, require_examples

_NO_SPREAD = 1e-9  # rounding errors of a spread of 0
_Z = float(-ndtri((1 - LEVEL) / 2))


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of two runs, the first minus the second, and the p-value of the difference."""

    test: str
    one: float
    two: float
    difference: Interval
    p_value: float  #: NaN if unknown

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON; unknown values are null."""
        known = None if np.isnan(self.p_value) else self.p_value
        return {**asdict(self), "difference": self.difference.as_dict(), "p_value": known}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An example about which two runs differ; `number` is its index in the predictions."""

    number: int
    name: str
    truth: str
    said_one: str
    said_two: str
    one: tuple[float, ...]  #: the first run's probability of each class
    two: tuple[float, ...]


def mcnemar(one: Predictions, two: Predictions, costs: Costs | None = None) -> Comparison:
    r"""Compare the shares of errors by McNemar's exact test; with costs, *unsure* is an error.

    The interval is Bonett and Price's, which adds one example to either side: with $\tilde b = (b + 1)/(n + 2)$ and
    $\tilde c$ alike, $\tilde b - \tilde c \pm z\sqrt{(\tilde b + \tilde c - (\tilde b - \tilde c)^2)/(n + 2)}$. In
    groups of near-copies, $b$, $c$ and $n$ are first divided by the design effect of the differences.

    >>> mail = ["ham"] * 4
    >>> one = Predictions.of(["ham", "spam"], mail, [[0.9, 0.1]] * 4)
    >>> two = Predictions.of(["ham", "spam"], mail, [[0.4, 0.6]] * 3 + [[0.9, 0.1]])
    >>> mcnemar(one, two).p_value                       # three of three in favour of one: 2 · (1/2)³
    0.25
    """
    require_same(one, two)
    errors = [said(predictions, costs) != predictions.truth for predictions in (one, two)]
    differences, groups = errors[0].astype(np.int64) - errors[1], _groups(one, two)
    difference, effect = float(differences.mean()), design_effect(differences, groups)
    n = len(one) / effect + 2
    b, c = (((differences == sign).sum() / effect + 1) / n for sign in (1, -1))
    margin = _Z * float(np.sqrt((b + c - (b - c) ** 2) / n))
    interval = Interval(
        difference, max(min(b - c - margin, difference), -1.0), min(max(b - c + margin, difference), 1.0)
    )
    p_value = _p_value_of_signs(ResamplingUnits.of(one.truth, groups).sums(differences[:, None]).toarray()[:, 0])
    return Comparison("McNemar", float(errors[0].mean()), float(errors[1].mean()), interval, p_value)


def _groups(one: Predictions, two: Predictions) -> NDArray[np.int64] | None:
    return two.groups if one.groups is None else one.groups


def _p_value_of_signs(sums: Floats) -> float:
    r"""Return the probability of a sum as far from 0, if the sign of each summand is a coin toss.

    Its characteristic function is $\prod_g \cos(s_g t)$, and its distribution the Fourier transform of that.
    """
    sizes, n_of = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    if len(sizes) == 1:
        return float(binomtest(int((sums > 0).sum()), int(n_of[0])).pvalue)
    most = int(sizes @ n_of)
    places = np.arange(-most, most + 1)
    angles = 2 * np.pi * np.arange(len(places)) / len(places)
    density = np.fft.fftshift(np.fft.ifft(np.prod(np.cos(np.outer(sizes, angles)) ** n_of[:, None], axis=0)).real)
    return float(np.clip(density[np.abs(places) >= abs(sums.sum())].sum(), 2.0 ** (1 - n_of.sum()), 1))


def delong(one: Predictions, two: Predictions, about: int = 1) -> Comparison:
    """Compare the areas under the ROC curves of one class against the rest by DeLong's paired test.

    If the areas differ but neither varies, as between a perfect and a constant model, the result is NaN.

    >>> mail = ["ham"] * 3 + ["spam"] * 3
    >>> one = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0.1, 0.2, 0.6, 0.5, 0.8, 0.9)])
    >>> two = Predictions.of(["ham", "spam"], mail, [[1 - p, p] for p in (0.1, 0.6, 0.5, 0.3, 0.4, 0.9)])
    >>> comparison = delong(one, two)
    >>> print(comparison.difference, round(comparison.p_value, 3))
    0.3333 (-0.2001 to 0.8668) 0.221
    """
    require_same(one, two)
    require_both(one, about)
    positive = one.truth == about
    (area, moves), (other, others) = (
        area_and_influences(predictions.log_odds(about), positive) for predictions in (one, two)
    )
    difference, spread = area - other, float(np.sqrt(variance(moves - others, positive, _groups(one, two))))
    if spread < _NO_SPREAD:
        nan_unless_equal = 0.0 if difference == 0 else np.nan
        return Comparison(
            "DeLong",
            area,
            other,
            Interval(difference, difference + nan_unless_equal, difference + nan_unless_equal),
            1 + nan_unless_equal,
        )
    interval = Interval(difference, difference - _Z * spread, difference + _Z * spread)
    return Comparison("DeLong", area, other, interval, float(2 * ndtr(-abs(difference) / spread)))


def bootstrap_difference(
    figure: Callable[[Predictions], Interval | float],
    one: Predictions,
    two: Predictions,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare any figure on the same draws of examples, or of groups of near-copies, drawn within each class.

    The p-value is twice the share of draws on the other side of 0. A figure with a bootstrap of its own should omit it:
    `partial(calibration_error, n_resamples=0)`. Draws on which the figure is undefined do not count.

    >>> from priory.lab.measures import brier
    >>> mail = ["ham"] * 20 + ["spam"] * 20
    >>> sure = Predictions.of(["ham", "spam"], mail, [[0.9, 0.1]] * 20 + [[0.1, 0.9]] * 20)
    >>> unsure = Predictions.of(["ham", "spam"], mail, [[0.6, 0.4]] * 20 + [[0.4, 0.6]] * 20)
    >>> print(bootstrap_difference(brier, sure, unsure).difference)
    -0.1500 (-0.1500 to -0.1500)
    """
    require_same(one, two)
    alone = [replace(predictions, groups=None) for predictions in (one, two)]  # the figures' own intervals are not used

    def difference(numbers: NDArray[np.intp]) -> float:
        try:
            first, second = (_value(figure(predictions.take(numbers))) for predictions in alone)
        except LabError:  # all examples of a class are in groups with both classes, and none of these was drawn
            return np.nan
        return first - second

    first, second = (_value(figure(predictions)) for predictions in alone)
    drawn = resample(difference, one.truth, n_resamples, seed, groups=_groups(one, two))
    return _by_draws(first, second, drawn)


def cost_difference(one: Predictions, two: Predictions, costs: Costs, *, seed: int = 0) -> Comparison:
    """Compare the costs per example of the cheapest decisions by the bootstrap.

    >>> mail = ["ham"] * 20 + ["spam"] * 20
    >>> sure = Predictions.of(["ham", "spam"], mail, [[0.99, 0.01]] * 20 + [[0.01, 0.99]] * 20)
    >>> unsure = Predictions.of(["ham", "spam"], mail, [[0.5, 0.5]] * 40)
    >>> print(cost_difference(sure, unsure, Costs()).difference)
    -4.0000 (-4.0000 to -4.0000)
    """
    require_same(one, two)
    prices = prices_of(costs)
    first, second = (prices[said(predictions, costs), predictions.truth] for predictions in (one, two))
    more = first - second
    drawn = resample(
        lambda numbers: float(more[numbers].mean()), one.truth, N_RESAMPLES, seed, groups=_groups(one, two)
    )
    return _by_draws(float(first.mean()), float(second.mean()), drawn)


def _by_draws(first: float, second: float, drawn: NDArray[np.float64]) -> Comparison:
    """Return a comparison whose p-value is twice the share of draws on the other side of 0."""
    known = drawn[np.isfinite(drawn)]
    n_beyond = int(min((known <= 0).sum(), (known >= 0).sum()))
    p_value = min(1.0, 2 * (1 + n_beyond) / (1 + len(known)))
    return Comparison("bootstrap", first, second, interval_of_draws(first - second, drawn), p_value)


def _value(figure: Interval | float) -> float:
    return figure.estimate if isinstance(figure, Interval) else float(figure)


def disagreements(one: Predictions, two: Predictions, costs: Costs | None = None) -> list[Disagreement]:
    r"""Return the examples with different decisions, those whose probabilities differ most first.

    The difference is $\frac12\sum_k |p_k - q_k|$, the largest for any set of classes.

    >>> one = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.9, 0.1], [0.2, 0.8]], ["inbox:1", "inbox:2"])
    >>> two = Predictions.of(["ham", "spam"], ["ham", "spam"], [[0.7, 0.3], [0.6, 0.4]], ["inbox:1", "inbox:2"])
    >>> [(pair.name, pair.truth, pair.said_one, pair.said_two) for pair in disagreements(one, two)]
    [('inbox:2', 'spam', 'spam', 'ham')]
    """
    require_same(one, two)
    answers = (*one.classes, UNSURE)
    first, second, p, q = said(one, costs), said(two, costs), one.probabilities, two.probabilities
    distances = np.abs(p - q).sum(axis=1) / 2
    differing = np.flatnonzero(first != second)
    return [
        Disagreement(
            number=int(i),
            name=one.names[i],
            truth=one.classes[one.truth[i]],
            said_one=answers[first[i]],
            said_two=answers[second[i]],
            one=tuple(p[i].tolist()),
            two=tuple(q[i].tolist()),
        )
        for i in differing[np.argsort(-distances[differing], kind="stable")]
    ]


def require_same(one: Predictions, two: Predictions) -> None:
    """Raise `LabError` unless two runs are about the same examples in the same order."""
    if one.classes != two.classes:
        raise LabError(
            f"one run is about {', '.join(one.classes)}, the other about {', '.join(two.classes)}: only runs about the "
            "same classes can be compared pair by pair"
        )
    if len(one) != len(two):
        raise LabError(
            f"one run has {len(one)} examples, the other {len(two)}: only runs over the same examples, in the same "
            "order, can be compared pair by pair"
        )
    for a, b, label, other in zip(one.names, two.names, one.truth, two.truth, strict=True):
        if a != b:
            raise LabError(
                f"the runs are over different examples: where one has {a}, the other has {b}; only runs over the same "
                "examples, in the same order, can be compared pair by pair"
            )
        if label != other:
            raise LabError(
                f"the runs have different labels: {a} is {one.classes[label]} in one and {one.classes[other]} in "
                "the other; correct the labels and repeat the runs"
            )
    require_examples(one)
