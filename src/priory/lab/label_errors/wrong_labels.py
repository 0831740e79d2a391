r"""Labels that look wrong, for a person to confirm, and how many are worth a look.

People slip: a label $y$ is not always the true class $z$ of the message. Suppose that a share $\epsilon$ of the labels
are slips, each to any of the $K - 1$ other classes. Then, given the probabilities of a classifier that has not learned
the message, the label is wrong with probability

$$ p(z \ne y \mid x, y) = \frac{\frac{\epsilon}{K-1}\,(1 - p(y \mid x))}
                             {\frac{\epsilon}{K-1}\,(1 - p(y \mid x)) + (1 - \epsilon)\,p(y \mid x)} . $$

This is only as good as $p(z \mid x)$. Classifiers are overconfident or underconfident, and their mistakes must not be
taken for slips. So the confidence in the classifier is fitted to the labels together with $\epsilon$ (maximum
posterior): $p(z \mid x) \propto p_\text{said}(z \mid x)^{1/T} e^{b_z}$. Mistakes that become rare as the classifier
becomes sure are its own; those that remain where it is surest are slips (Copas 1988). The prior of $\epsilon$ is worth
100 labels with one slip.

Near-copies of a message have one class. With `groups` they are judged together: their evidence counts once, their
labels count each, so that a single ham among five copies labelled spam is suspicious whatever the classifier says.

J. Copas: Binary regression models for contaminated data. Journal of the Royal Statistical Society B 50, 1988, 225-265.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, logsumexp, softmax

from priory.lab.error import LabError
from priory.lab.predictions import Predictions

Floats = NDArray[np.float64]
_PRIOR_SLIPS: Final = 1.0
_PRIOR_LABELS: Final = 100.0
_MOST_SLIPS: Final = 0.4
_FEW_LEVELS: Final = 10
_N_STARTS: Final = 2  #: the function has several minima: one trusts the classifier and takes its mistakes for slips


@dataclass(frozen=True, slots=True)
class Suspect:
    """A label that may be wrong: the example, its label, the more probable one, and the probability of a slip."""

    number: int  #: its index in the predictions
    name: str
    label: str
    rather: str
    probability: float


@dataclass(frozen=True, slots=True, eq=False)
class Suspects:
    """All examples, the most suspicious labels first."""

    slip_rate: float  #: the share of labels that are slips, given or estimated
    temperature: float  #: divisor of the classifier's log-odds; above 1 if it is overconfident
    order: NDArray[np.int64]  #: numbers of the examples
    probabilities: Floats  #: that their labels are wrong, in decreasing order
    rather: NDArray[np.int64]  #: the most probable other class of each, in the same order
    predictions: Predictions

    def first(self, n: int) -> list[Suspect]:
        """Return the n most suspicious labels."""
        predictions, classes = self.predictions, self.predictions.classes
        ranked = zip(self.order[:n].tolist(), self.rather[:n].tolist(), self.probabilities[:n].tolist(), strict=True)
        return [
            Suspect(i, predictions.names[i], classes[predictions.truth[i]], classes[other], p) for i, other, p in ranked
        ]

    def expected_wrong(self, n: int | None = None) -> float:
        """Return the expected number of wrong labels among the n most suspicious; without n, among all."""
        return float(self.probabilities[:n].sum())

    def n_above(self, probability: float) -> int:
        """Return the number of labels that are wrong with more than this probability.

        A look is worth it if the probability exceeds the cost of a look divided by the cost of a wrong label.
        """
        return int((self.probabilities > probability).sum())

    def n_to_find(self, share: float) -> int:
        """Return the number of looks after which this share of the wrong labels is expected to be found."""
        n_found = np.cumsum(self.probabilities)
        return int(np.searchsorted(n_found, share * n_found[-1] * (1 - 1e-12))) + 1


def suspects(predictions: Predictions, *, slip_rate: float | None = None, groups: ArrayLike | None = None) -> Suspects:
    """Rank labels by the probability that they are wrong.

    `predictions` must be about examples that the classifier had not learned, as from cross-validation or replay: it has
    learned its training labels with their slips. `slip_rate` is estimated if not given; that needs graded
    probabilities, not only 0 and 1. `groups` gives near-copies the same number
    (`priory.lab.splits.near_duplicates`).

    >>> log_odds = np.linspace(-9, 9, 300)                       # of spam
    >>> truth = log_odds + 2 * np.sin(np.arange(300)) > 0        # the classifier errs where it is in doubt
    >>> truth[20] = True                                         # a person slipped where it is not
    >>> p = np.column_stack([expit(-log_odds), expit(log_odds)])
    >>> ranked = suspects(Predictions.of(["ham", "spam"], np.where(truth, "spam", "ham"), p))
    >>> [(suspect.name, suspect.label, suspect.rather, round(suspect.probability, 2)) for suspect in ranked.first(2)]
    [('row 20', 'spam', 'ham', 0.99), ('row 175', 'ham', 'spam', 0.05)]
    """
    if slip_rate is not None and not 0 < slip_rate < 0.5:
        raise LabError(f"the share of slips lies between 0 and 0.5, not at {slip_rate}")
    if len(np.unique(predictions.truth)) < 2:
        raise LabError(f"all {len(predictions)} labels are the same: add examples with another label")
    n_levels = len(np.unique(predictions.log_probabilities, axis=0))
    if slip_rate is None and n_levels < _FEW_LEVELS:
        raise LabError(
            f"the classifier gives only {n_levels} different probabilities: its mistakes cannot be distinguished from "
            "slips; use one with graded probabilities, or give the share of slips"
        )
    question = _Question.of(predictions, groups)
    fitted = question.fit(slip_rate)
    log_odds, rather = question.slips(fitted)
    order = np.argsort(-log_odds, kind="stable")
    return Suspects(
        slip_rate=fitted.slip_rate,
        temperature=fitted.temperature,
        order=order,
        probabilities=expit(log_odds[order]),
        rather=rather[order],
        predictions=predictions,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The confidence in the classifier, and the rate of slips."""

    temperature: float
    biases: Floats
    slip_rate: float

    @classmethod
    def of(cls, free: Floats, slip_rate: float | None) -> "_Fit":
        rate = float(expit(free[-1])) if slip_rate is None else slip_rate
        return cls(float(np.exp(free[0])), np.concatenate([[0.0], free[1:-1]]), rate)


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """Probabilities and labels by groups of copies: their evidence counts once, their labels count each."""

    logs: Floats  #: [group, class], the mean over its members
    n_labelled: Floats  #: [group, class]
    truth: NDArray[np.int64]
    group: NDArray[np.intp]  #: of each example

    @classmethod
    def of(cls, predictions: Predictions, groups: ArrayLike | None) -> "_Question":
        numbers = np.arange(len(predictions)) if groups is None else np.asarray(groups)
        if numbers.shape != (len(predictions),):
            raise LabError(
                f"{len(predictions)} examples need a group number each; groups have the shape {numbers.shape}"
            )
        group = np.unique(numbers, return_inverse=True)[1]
        logs = predictions.log_probabilities
        least = float(logs[np.isfinite(logs)].min(initial=0))
        finite = np.maximum(
            logs, least - 1
        )  # log 0 becomes less than any other value, but finite: a forest's zero is no proof
        n_labelled = np.array([np.bincount(group, predictions.truth == k) for k in range(predictions.n_classes)]).T
        sums = np.array([np.bincount(group, column) for column in finite.T]).T
        return cls(sums / n_labelled.sum(axis=1, keepdims=True), n_labelled, predictions.truth, group)

    def fit(self, slip_rate: float | None) -> _Fit:
        """Return the most probable temperature, biases and, if not given, share of slips."""
        n_biases = self.logs.shape[1] - 1
        bounds = [(-3.0, 12.0), *[(-20.0, 20.0)] * n_biases, (logit(1e-6), logit(_MOST_SLIPS))]
        starts = [np.array([t, *[0.0] * n_biases, logit(0.01)]) for t in np.arange(-2.0, 11.0)]
        likeliest = sorted(starts, key=lambda start: self.surprise(start, slip_rate)[0])[:_N_STARTS]
        minima = [minimize(self.surprise, start, (slip_rate,), jac=True, bounds=bounds) for start in likeliest]
        return _Fit.of(min(minima, key=lambda minimum: float(minimum.fun)).x, slip_rate)

    def surprise(self, free: Floats, slip_rate: float | None) -> tuple[float, Floats]:
        """Return -log of the posterior of the parameters, divided by the number of groups, and its gradient."""
        fit = _Fit.of(free, slip_rate)
        rate, n_wrong = fit.slip_rate, self._n_wrong()
        joint = self._joint(fit)
        prior = _PRIOR_SLIPS * np.log(rate) + (_PRIOR_LABELS - _PRIOR_SLIPS) * np.log1p(-rate)
        after, before = softmax(joint, axis=1), softmax(self._log_beliefs(fit), axis=1)
        moved = after - before
        slips = float((after * n_wrong).sum()) + _PRIOR_SLIPS  # expected, of all labels
        n_labels = float(self.n_labelled.sum()) + _PRIOR_LABELS
        by_rate = slips - rate * n_labels if slip_rate is None else 0.0
        gradient = np.concatenate([[-(moved * self.logs).sum() / fit.temperature], moved.sum(axis=0)[1:], [by_rate]])
        n = len(self.logs)
        return -float(logsumexp(joint, axis=1).sum() + prior) / n, -gradient / n

    def _log_beliefs(self, fit: _Fit) -> Floats:
        return self.logs / fit.temperature + fit.biases

    def _n_wrong(self) -> Floats:
        """Return the number of slips in each group if it is of each class."""
        return np.asarray(self.n_labelled.sum(axis=1, keepdims=True) - self.n_labelled)

    def _joint(self, fit: _Fit) -> Floats:
        """Return log p(z, labels | x) of each group."""
        right, wrong = np.log1p(-fit.slip_rate), np.log(fit.slip_rate / (self.logs.shape[1] - 1))
        return np.asarray(
            log_softmax(self._log_beliefs(fit), axis=1) + self.n_labelled * right + self._n_wrong() * wrong
        )

    def slips(self, fit: _Fit) -> tuple[Floats, NDArray[np.int64]]:
        """Return the log-odds of each label to be wrong, and the most probable other class."""
        joint = self._joint(fit)[self.group]
        rows = np.arange(len(self.truth))
        own = joint[rows, self.truth].copy()
        joint[rows, self.truth] = -np.inf
        return np.asarray(logsumexp(joint, axis=1) - own), np.asarray(joint.argmax(axis=1), np.int64)


def conflicts(predictions: Predictions, groups: ArrayLike) -> dict[Any, NDArray[np.int64]]:
    """Return the groups of near-copies that have different labels, with the numbers of their examples.

    >>> mail = Predictions.of(["ham", "spam"], ["ham", "spam", "spam"], [[0.5, 0.5]] * 3)
    >>> {group: numbers.tolist() for group, numbers in conflicts(mail, [7, 7, 8]).items()}
    {7: [0, 1]}
    """
    numbers = np.asarray(groups)
    order = np.argsort(numbers, kind="stable")
    values, begins = np.unique(numbers[order], return_index=True)
    members = zip(values.tolist(), np.split(order, begins[1:]), strict=True)
    return {group: at for group, at in members if len(np.unique(predictions.truth[at])) > 1}
