"""The result of judging one model: its predictions, how they were made, its worst mistakes and feature weights."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from priory.lab.predictions import Predictions

MOST_REASONS: Final = 12  #: stored for each mistake
MOST_MISTAKES: Final = 20  #: of a run, the worst, that are stored with reasons


N_WEIGHED: Final = 300  #: messages in the sample from which weights are estimated
LEAST_WEIGHED: Final = 5  #: messages of the sample that must have a feature


@dataclass(frozen=True, slots=True)
class Reason:
    """A feature of an example, and the term that it adds to the log-odds."""

    feature: str
    term: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """A misjudged example, with the prior and the largest terms of the log-odds of one class."""

    number: int  #: its index in the predictions
    prior: float
    reasons: tuple[Reason, ...]
    about: str = ""  #: the class whose log-odds they are; empty without reasons


@dataclass(frozen=True, slots=True)
class LogOddsTerms:
    """The log-odds of a class as a sum: the prior, and one term for each feature."""

    about: str
    prior: float
    reasons: tuple[Reason, ...]

    def mistake(self, number: int) -> Mistake:
        """Return the mistake with this number, with its largest terms."""
        return Mistake(number, self.prior, weightiest(self.reasons), self.about)


@dataclass(frozen=True, slots=True)
class Weight:
    """The mean term that a feature adds to the log-odds, and the number of examples that have it."""

    feature: str
    mean_term: float
    n_examples: int


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One model's predictions under a protocol.

    `protocol` describes how the predictions were made: "replay in order, feedback at once", "5-fold cross-validation,
    shuffled with seed 1". `train_error` is the share of the training examples that were misjudged after they had been
    learned; None if it was not measured.
    """

    model: str
    predictions: Predictions
    protocol: str
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    peak_bytes: int | None = None  #: peak memory of learning and predicting, without the examples
    train_error: float | None = None
    mistakes: tuple[Mistake, ...] = ()
    weights: tuple[Weight, ...] = ()
    in_order: bool = False  #: whether the examples are in the order of time, so that their sequence says something


def weightiest(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the reasons with the largest terms."""
    return tuple(sorted(reasons, key=lambda reason: -abs(reason.term))[:MOST_REASONS])


def worst(predictions: Predictions) -> list[int]:
    """Return the misjudged examples whose true class was least probable, as indices, the worst first."""
    wrong = np.flatnonzero(predictions.errors)
    held = predictions.log_probabilities[wrong, predictions.truth[wrong]]
    return [int(place) for place in wrong[held.argsort(kind="stable")][:MOST_MISTAKES]]


class Sample:
    """A uniform random sample of a stream of messages (Vitter 1985, algorithm R).

    >>> sample = Sample(seed=0, size=2)
    >>> for raw in (b"one", b"two", b"three"):
    ...     sample.offer(raw)
    >>> len(sample.raws)
    2
    """

    def __init__(self, seed: int, size: int = N_WEIGHED) -> None:
        self._random = np.random.default_rng(seed)
        self._size = size
        self._n_seen = 0
        self.raws: list[bytes] = []

    def offer(self, raw: bytes) -> None:
        """Take the next message of the stream into account."""
        self._n_seen += 1
        if len(self.raws) < self._size:
            self.raws.append(raw)
        elif (place := int(self._random.integers(self._n_seen))) < self._size:
            self.raws[place] = raw


def weights(
    terms_by_message: Iterable[LogOddsTerms | None], classes: Sequence[str], least: int = LEAST_WEIGHED
) -> tuple[Weight, ...]:
    """Return the mean term of every feature that is in enough messages, the largest total effect first.

    With more than two classes the result is empty, because the terms of different messages are about different classes.

    >>> terms = [LogOddsTerms("spam", 0.0, (Reason("word:offer", 1.0),)),
    ...         LogOddsTerms("spam", 0.0, (Reason("word:offer", 2.0), Reason("word:lunch", -1.0)))]
    >>> weights(terms, ("ham", "spam"), least=2)
    (Weight(feature='word:offer', mean_term=1.5, n_examples=2),)
    """
    if len(classes) > 2:
        return ()
    terms: defaultdict[str, list[float]] = defaultdict(list)
    for reason in (reason for message in terms_by_message if message for reason in message.reasons):
        terms[reason.feature].append(reason.term)
    known = [Weight(name, sum(of) / len(of), len(of)) for name, of in terms.items() if len(of) >= least]
    return tuple(sorted(known, key=lambda weight: -abs(weight.mean_term * weight.n_examples)))
